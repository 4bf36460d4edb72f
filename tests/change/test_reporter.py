"""The table of before and after, as people, a pull request and programs get it."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt
from runs import AT, run, streamed

from probes.canary import Mark
from probes.change.compare import compare
from probes.comparison import Side
from probes.model import Finding, Verdict
from probes.reporters import comparison as reporter

SAMPLES = Path(__file__).parents[2] / "reports" / "samples"
LATER = AT + timedelta(hours=1)
HARMS = {
    "markup": "<script>alert(1)</script> | x | y | [a](https://evil.example) @octocat #12 `e` *b*",
    "lines": "a\n\n# forged\n| a | b |\n---\n::error::x",
    "controls": "\x1b[2J\x07\x9b31m\u202egnp.exe \ud800",
    "long": "x" * 5000,
}


def answers(seed: int, n: int, scatter: float, times: float = 1.0, **more):
    values = np.random.default_rng(seed).lognormal(-1, scatter, n)
    return [streamed(times * float(one), 0.02 * times, **more) for one in values]


def composed():
    """A rule against one client, another that became slower, one of which too little is known."""
    before = run([
        *(("openai-py", "good stream") for _ in range(3)),
        *(("httpx", one) for one in answers(1, 40, 0.1)),
        *(("curl", one) for one in answers(3, 8, 0.4)),
    ])  # fmt: skip
    after = run([
        *(("openai-py", "refused") for _ in range(3)),
        *(("httpx", one) for one in answers(2, 40, 0.1, 1.5)),
        *(("curl", one) for one in answers(4, 8, 0.4)),
    ], at=LATER)  # fmt: skip
    sides = [
        (Side(f"{word} 2026-11-29 14:05 UTC", (each.id,), each.started, each.finished, "prod", "fra"), [each])
        for word, each in (("before", before), ("after", after))
    ]
    mark = Mark(AT + timedelta(minutes=5), "bot rule on", author="ops")
    return compare(*sides, marks=[mark])


def told(comparison, form=reporter.report) -> str:
    out = io.StringIO()
    form(comparison, out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "form"), [("compare.txt", reporter.report), ("compare.md", reporter.markdown)]
)
def test_the_table_is_the_sample(name, form):
    """What is kept of it, word by word; EDGEPROBE_UPDATE_SAMPLES=1 writes it anew."""
    text, path = told(composed(), form), SAMPLES / name
    if os.environ.get("EDGEPROBE_UPDATE_SAMPLES") == "1":
        path.write_text(text)
    assert text == path.read_text()


def held(before, after):
    """Two runs beside each other."""
    sides = [(Side(one.id, (one.id,), one.started, one.finished, "prod"), [one]) for one in (before, after)]
    return compare(*sides)


def test_the_later_one_first_is_noted():
    """On top for people, and for programs; in the order of time there is nothing to say."""
    old, new = run([("httpx", "good stream")]), run([("httpx", "good stream")], at=LATER)
    for form in (reporter.report, reporter.markdown):
        assert told(held(new, old), form).index("the later one") < told(held(new, old), form).index("target")
        assert "the later one" not in told(held(old, new), form)
    notes = [json.loads(reporter.json_text(held(*pair)))["note"] for pair in ((new, old), (old, new))]
    assert ("the later one" in notes[0], notes[1]) == (True, None)


CLIENTS = ("openai-py", "httpx", "curl")


@pytest.mark.parametrize("form", [reporter.report, reporter.markdown])
def test_clients_that_meet_the_same_are_one_row(form):
    """With all their names; the words of a row are whole."""
    before = run([(name, "good stream") for name in CLIENTS for _ in range(3)])
    after = run([(name, "refused") for name in CLIENTS for _ in range(3)], at=LATER)
    text = told(held(before, after), form)
    assert text.count("outcome") == 1
    assert "s/streaming | openai-py, httpx, curl" in text or "s/streaming · openai-py, httpx, curl" in text
    assert "blocked.client" in text
    assert max(map(len, text.splitlines())) <= 80 or form is reporter.markdown


def test_better_is_counted_as_that():
    """What failed before and is good now; not among what is as before."""
    before, after = run([("httpx", "cut stream")]), run([("httpx", "good stream")] * 3, at=LATER)
    compared = held(before, after)
    assert "pass: 1 better" in reporter.headline(compared)
    for form in (reporter.report, reporter.markdown):
        assert "better: failed" in " ".join(told(compared, form).split())


def test_the_worst_stands_first_and_fits():
    """In plain ASCII of 80 columns where there is no terminal."""
    text = told(composed())
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 80
    order = [text.index(word) for word in ("FAIL", "UNKNOWN", "fail: ")]
    assert order == sorted(order)


def test_programs_get_the_same():
    """Verdict, sides, rows with their figures, findings and what was left out."""
    document = json.loads(reporter.json_text(composed()))
    assert (document["schema"], document["verdict"]) == ("edgeprobe.compare/1", "fail")
    assert document["before"]["since"] == "2026-11-29T14:00:00Z"
    [slower] = [row for row in document["rows"] if row["what"] == "TTFT" and row["verdict"] == "fail"]
    assert slower["effect"]["low"] > 1
    assert slower["effect"]["low"] < slower["effect"]["value"] < slower["effect"]["high"]
    assert {one["code"] for one in document["findings"]} >= {
        "regression.outcome",
        "regression.latency",
        "not_measured",
    }
    assert [mark["text"] for mark in document["marks"]] == ["bot rule on"]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_what_a_stranger_wrote_does_nothing(harm):
    """Neither to a terminal nor to a page, wherever it stands; nor does it break JSON."""
    made = composed()
    rows = tuple(replace(row, where=harm, before=harm, after=harm, why=harm) for row in made.rows)
    told_of = Finding("regression.outcome", Verdict.FAIL, harm, "baseline", title=harm, advice=harm)
    hostile = replace(
        made,
        rows=rows,
        findings=(told_of,),
        left_out=(harm,),
        marks=(Mark(AT, harm, author=harm),),
        after=replace(made.after, label=harm, target=harm, vantage=harm),
    )
    text = told(hostile)
    assert not [character for character in text if not (character == "\n" or " " <= character <= "~")]
    assert not [line for line in text.splitlines() if line.startswith(("::", "#"))]
    page = told(hostile, reporter.markdown)
    assert len(page) <= 65_536
    tags = MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
    assert not [tag for tag in ("<script", "<a ", "<code", "<em>", "<h1") if tag in tags]
    assert tags.count("<table>") == 1
    assert json.loads(reporter.json_text(hostile))["verdict"] == "fail"


def test_a_table_too_long_for_a_comment_says_so():
    """The rows that do not fit are counted."""
    made = composed()
    many = tuple(
        replace(made.rows[-1], where=f"{n} {'x' * 300}", why=str(n), verdict=Verdict.WARN) for n in range(400)
    )
    page = told(replace(made, rows=many), reporter.markdown)
    assert len(page) <= 65_536
    assert "more |" in page
