"""What a comparison says of the edge's look."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from runs import AT, run, streamed

from probes.canary import Mark
from probes.change.compare import compare
from probes.comparison import Side
from probes.model import Verdict

LATER = timedelta(hours=1)


def looking(via: str, at=AT):
    """A run whose streams came with this `via`."""
    answer = replace(streamed(), headers={"content-type": ["text/event-stream"], "via": [via]})
    made = run([("curl", answer)] * 4, at=at)
    return Side(made.id, (made.id,), made.started, made.finished, made.target.name, None), [made]


MARKS = {
    "without a mark": ([], "regression.fingerprint", Verdict.WARN),
    "as marked": ([Mark(AT + LATER / 2, "a proxy more")], "ok", Verdict.PASS),
    "a mark of another target": ([Mark(AT + LATER / 2, "elsewhere", target="other")], "regression.fingerprint", Verdict.WARN),
    "a mark long before": ([Mark(AT - 5 * LATER, "old")], "regression.fingerprint", Verdict.WARN),
}  # fmt: skip


@pytest.mark.parametrize(("marks", "code", "verdict"), MARKS.values(), ids=MARKS)
def test_a_changed_look_warns_unless_it_was_marked(marks, code, verdict):
    """In a finding and in a row, with before and after side by side."""
    told = compare(
        looking("1.1 one"), looking("1.1 one, 1.1 two", AT + LATER), case="s/baseline", marks=marks
    )
    [look] = [one for one in told.findings if one.kind == "fingerprint"]
    assert (look.code, look.verdict) == (code, verdict)
    assert look.case.startswith("s/baseline/fingerprint")
    [row] = [row for row in told.rows if "via" in row.what]
    assert (row.verdict, "two" in row.after, "two" in row.before) == (verdict, True, False)


def test_a_look_that_stayed_is_one_line():
    """And nothing of which no answer tells enough is a line at all."""
    told = compare(looking("1.1 one"), looking("1.1 one", AT + LATER))
    assert [row.verdict for row in told.rows if row.what == "look of the edge"] == [Verdict.PASS]
    once = run([("curl", streamed())])
    side = Side(once.id, (once.id,), once.started, once.finished, once.target.name, None)
    told = compare((side, [once]), (side, [once]))
    assert not [row for row in told.rows if row.what == "look of the edge"]
    assert any(said.startswith("look of the edge: ") for said in told.left_out)
