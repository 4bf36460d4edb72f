"""What did a marked change do to customers, in words?

Worst first; what these few samples could not have shown is said as plainly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.alerts.text import Words
from probes.change import told
from probes.change.compare import compare
from probes.change.confirmed import HURTS, sure
from probes.change.differences import Outcome
from probes.change.differences import compared as looked_at
from probes.change.fingerprint import fingerprint
from probes.change.part import times
from probes.change.shifts import percent
from probes.comparison import Side
from probes.errors import UsageError
from probes.kinds.words import listed
from probes.model import Verdict
from probes.watch.sides import news_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from probes.alerts.news import News
    from probes.canary import Turn
    from probes.comparison import Comparison
    from probes.model import Finding, Run
    from probes.watch.sides import Sides

_SHOWN = 6
_MENDED, _LOST = "mended", "regression.outcome"


def compared(
    sides: Sides,
    before: Sequence[tuple[Turn, Run]],
    after: Sequence[tuple[Turn, Run]],
    said: Callable[[datetime], str],
) -> tuple[News, Verdict]:
    """`said`: a moment as people read it. Raises UsageError where they cannot be compared."""
    if not before or not after:
        raise UsageError(f"no run {'after it' if before else 'of before'} is kept")
    marks = sides.marks
    old, new = ([_timed(turn, run) for turn, run in side] for side in (before, after))
    found = compare((_side("before", old), old), (_side("after", new), new), marks=marks.told)
    look = [
        change
        for change in looked_at(fingerprint(old), fingerprint(new))
        if change.of not in HURTS and (change.outcome is not Outcome.CHANGED or sure(change))
    ]
    looks = told.findings(look, found.after.label, marks.told)
    changed = looks if any(change.outcome is Outcome.CHANGED for change in look) else ()
    words = _words(sides, found, changed, (old, new), said)
    return news_of(sides, words, _lead(found)), found.verdict


def _timed(turn: Turn, run: Run) -> Run:
    """By the canary's clock, as the marks are."""
    assert turn.began is not None
    return replace(run, started=turn.began, finished=turn.ended or turn.began)


def _side(label: str, runs: Sequence[Run]) -> Side:
    last = runs[-1]
    return Side(
        label, tuple(run.id for run in runs), runs[0].started, max(run.finished for run in runs), last.target.name,
        last.vantage, last.time_scale,
    )  # fmt: skip


def _of(found: Comparison, verdict: Verdict) -> list[Finding]:
    return [one for one in found.findings if one.verdict is verdict]


def _lead(found: Comparison) -> Finding | None:
    return next((one for verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS) for one in _of(found, verdict)), None)  # fmt: skip


def _words(
    sides: Sides,
    found: Comparison,
    looks: Sequence[Finding],
    runs: tuple[Sequence[Run], Sequence[Run]],
    said: Callable[[datetime], str],
) -> Words:
    mark = sides.marks.told[0]
    others = len(sides.marks.told) - 1
    more = f" and {times(others, 'mark')} more" if others else ""
    after = f'after "{mark.text[:80]}"{more}, marked at {said(mark.at)}'
    rows = [*_changed(found, looks), *_limits(found)]
    for label, side in zip(("before", "after"), runs, strict=True):
        span = f"{said(side[0].started)} to {said(side[-1].finished)}"
        rows.append((label, f"{times(len(side), 'run')} with {times(_requests(side), 'request')}, {span}"))
    rows += [
        ("change", f'marked at {said(each.at)}: "{each.text}" ({each.author or each.source})')
        for each in sides.marks.told[:_SHOWN]
    ]
    rows += [("left out", said) for said in sides.left]
    advice = next((f"{one.who_acts}: {one.advice}" for one in _of(found, Verdict.FAIL) if one.advice), "")
    return Words(f"{_headline(found, _requests(runs[1]))}, {after}", tuple(rows), advice)


def _headline(found: Comparison, requests: int) -> str:
    worse, good = _of(found, Verdict.FAIL), _of(found, Verdict.PASS)
    lost = _clients(one for one in worse if one.code == _LOST)
    mended = _clients(one for one in good if one.title.startswith(_MENDED))
    if lost:
        others = sum(one.code != _LOST for one in worse)
        more = f", and {times(others, 'figure')} got worse" if others else ""
        return f"{listed(lost)} worked before and fail{'s' if len(lost) == 1 else ''} now{more}"
    if worse:
        return f"{worse[0].title}{f', and {len(worse) - 1} more' if len(worse) > 1 else ''}"
    if mended:
        return f"mended: {listed(mended)}"
    outcomes = [row.verdict for row in found.rows if row.what == "outcome"]
    if not outcomes:
        return "nothing could be compared"
    if Verdict.INCONCLUSIVE in outcomes:
        return "whether more fails than before is not proven"
    return f"nothing changed for customers that {times(requests, 'request')} could show"


def _clients(findings: Iterable[Finding]) -> list[str]:
    return sorted({one.client for one in findings if one.client is not None})


def _changed(found: Comparison, looks: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    worse = _of(found, Verdict.FAIL)
    told = []
    for one in worse:
        detail = dict(one.detail)
        sides = (
            f": before {detail['before']}; after {detail['after']}"
            if {"before", "after"} <= {*detail}
            else ""
        )
        met = f", now {detail['now']}" if "now" in detail else ""
        told.append(f"{one.title}{sides}{met}")
    told = list(dict.fromkeys(told))
    yield from (("worse", said) for said in told[:_SHOWN])
    if len(told) > _SHOWN:
        yield "worse", f"{len(told) - _SHOWN} more"
    for one in looks[:_SHOWN]:
        yield "look", one.title
    for one in _of(found, Verdict.PASS)[:_SHOWN]:
        yield ("better" if one.title.startswith(_MENDED) else "same"), one.title
    for one in _of(found, Verdict.INCONCLUSIVE)[:_SHOWN]:
        because = dict(one.detail).get("because")
        yield "not told", f"{one.title}{f': {because}' if because else ''}"


def _limits(found: Comparison) -> Iterator[tuple[str, str]]:
    """The smallest shifts that these samples would have shown."""
    able = [f"{row.what} of {row.where} {percent(row.smallest)}" for row in found.rows if row.smallest]
    if able:
        yield "smallest", f"a shift that would have shown: {'; '.join(able[:3])}"


def _requests(runs: Sequence[Run]) -> int:
    return sum(bool(call.exchanges) for run in runs for call in run.calls)
