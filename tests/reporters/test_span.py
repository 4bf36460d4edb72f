"""A stretch of time as page, text and Markdown: nothing measured is never green, and what a stranger wrote stays text."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hostile import HARMS, Page
from markdown_it import MarkdownIt
from spans import (
    ALERT,
    BAD,
    BLIND,
    BLOCKED,
    FIGURES,
    GOOD,
    HOURS,
    MARKS,
    NOTHING,
    ORIGIN,
    SINCE,
    STEP,
    TWO,
    UNSURE,
    UNTIL,
    WEEK,
    cells,
    hostile,
    span,
)

from probes.canary import Mark
from probes.model import Spend, Verdict
from probes.reporters.span import page, text, words
from probes.span import Cell, Cutoff, Figures, Point, Span, State, Strip

SAMPLES = Path(__file__).parents[2] / "reports" / "samples"


def written(report, shown) -> str:
    out = io.StringIO()
    report(shown, out)
    return out.getvalue()


def one_line(report, shown) -> str:
    return " ".join(written(report, shown).split())


OLD = replace(GOOD, asked=UNTIL - timedelta(hours=4))
VERDICTS = {
    "good": (span(GOOD), Verdict.PASS),
    "a case that fails": (span(BAD), Verdict.FAIL),
    "an alert of a case that passes": (span(GOOD, alerts=(ALERT,)), Verdict.FAIL),
    "an alert that is planned": (span(GOOD, alerts=(replace(ALERT, window="upgrade"),)), Verdict.WARN),
    "blind": (span(GOOD, alerts=(BLIND,)), Verdict.INCONCLUSIVE),
    "not sure": (span(replace(GOOD, troubles=(UNSURE,))), Verdict.INCONCLUSIVE),
    "asked no more": (span(OLD), Verdict.INCONCLUSIVE),
    "one of two asked no more": (span(GOOD, OLD), Verdict.INCONCLUSIVE),
    "a nightly suite, by day": (span(replace(GOOD, asked=UNTIL - timedelta(hours=20), usually=timedelta(days=1))), Verdict.PASS),
    "asked, and nothing came of it": (span(replace(GOOD, cases=0)), Verdict.INCONCLUSIVE),
    "nothing measured": (span(NOTHING), Verdict.INCONCLUSIVE),
    "no target": (span(), Verdict.INCONCLUSIVE),
    "failing and unknown": (span(OLD, BAD), Verdict.FAIL),
    "a warning": (span(replace(GOOD, troubles=(replace(UNSURE, verdict=Verdict.WARN),))), Verdict.WARN),
}  # fmt: skip


@pytest.mark.parametrize(("shown", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_is_no_better_than_what_is_known(shown, verdict):
    """And each format leads with it."""
    assert shown.verdict is verdict
    assert words.headline(shown).startswith(f"{verdict}: ")
    assert not words.headline(shown).endswith(": ")
    heading = next(data for tag, data in Page(written(page.report, shown)).texts if tag == "title")
    assert heading == f"edgeprobe {words.headline(shown)}"
    assert written(text.report, shown).splitlines()[-1].startswith(f"{verdict}: ")
    assert written(text.markdown, shown).splitlines()[0].split("edgeprobe ")[1].startswith(f"{verdict}: ")


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (WEEK, "fail: openai-py is refused at the edge"),
        (span(replace(BAD, troubles=(BLOCKED, replace(BLOCKED, code="timeout.idle", title="Cut")))), "fail: openai-py is refused at the edge, and 1 more"),
        (span(), "inconclusive: nothing was measured"),
        (span(NOTHING), "inconclusive: prod is not asked any more"),
        (span(GOOD), "pass: 2 cases, nothing wrong, last asked 2026-11-30 11:50"),
    ],
    ids=["told once", "two", "no target", "silent", "good"],
)  # fmt: skip
def test_the_headline(shown, said):
    """What an alert is open for is not told a second time as a case."""
    assert words.headline(shown) == said


@pytest.mark.parametrize(
    ("cell", "state"),
    [
        (Cell(), State.NOTHING),
        (Cell(3, 3), State.GOOD),
        (Cell(3, 2), State.FAILED),
        (Cell(3, 0, 3), State.LIMITED),
        (Cell(3, 2, 1), State.GOOD),
        (Cell(3, 0, 2), State.FAILED),
    ],
)
def test_what_came_of_an_interval(cell, state):
    """The worst counts; what was held back is neither good nor bad."""
    assert cell.state is state


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (Cell(1000, 999), "99.9 % good"),
        (Cell(100_000, 99_999), "99.9 % good"),
        (Cell(10, 10), "100 % good"),
        (Cell(10, 0), "0 % good"),
        (Cell(10, 0, 10), "not known"),
        (Cell(), "not known"),
    ],
)
def test_a_share_is_not_rounded_up(cell, said):
    """To all of them, or where there is none."""
    assert words.good_share(cell) == said


def shapes(cell: Cell) -> list[tuple[str, str, str]]:
    """Of the bars of one interval: class, top and height."""
    strip = Strip("curl", "edge", (cell,) + (Cell(),) * 83)
    found = Page(written(page.report, span(replace(GOOD, strips=(strip,)))))
    drawn = [
        attrs
        for tag, attrs in found.tags
        if tag == "rect" and attrs["class"] != "spent" and attrs["x"].startswith("0.")
    ]
    return [(attrs["class"], attrs["y"], attrs["height"]) for attrs in drawn]


def test_outcomes_are_told_by_shape():
    """And not by colour alone: each state, and a part of failures, looks different in grey."""
    each = [shapes(cell) for cell in (Cell(4, 4), Cell(4), Cell(4, 2), Cell(4, 0, 4), Cell())]
    bare = [[(top, tall) for _, top, tall in bars] for bars in each]
    assert len({str(bars) for bars in bare}) == len(each)
    assert [[kind for kind, _, _ in bars] for bars in each] == [
        ["good"],
        ["failed"],
        ["good", "failed"],
        ["limited"],
        ["nothing"],
    ]


def test_the_numbers_of_the_plots():
    """Gaps where nothing was measured, on one axis of time, with the marks."""
    found = Page(written(page.report, WEEK))
    numbers = json.loads(next(data for tag, data in found.texts if tag == "script" and data.startswith("{")))
    ttft, tpot, cutoff, cache = numbers["charts"]
    begin, end = numbers["span"]
    assert (begin, end) == (SINCE.timestamp(), UNTIL.timestamp())
    assert [name for name, _ in ttft["lines"]] == [name for name, _ in tpot["lines"]] == ["p50", "p90", "p99"]
    for chart in numbers["charts"]:
        assert all(len(values) == len(chart["at"]) == len(chart["n"]) for _, values in chart["lines"])
    assert ttft["lines"][0][1][7] is None
    assert ttft["n"][7] == 0
    assert cutoff["step"] == 0
    assert cutoff["lines"] == [["cutoff", [125.0] * 5 + [100.0] * 2]]
    assert set(cache["lines"][0][1]) == {60.0}
    assert [number for _, number in numbers["marks"]] == ["1", "2"]


NUMBERED = {
    "none": ([], []),
    "apart": ([10, 30, 50], ["1", "2", "3"]),
    "too near for two": ([10, 11, 50], ["1-2", "3"]),
    "each too near to the one before": ([10, 13, 16, 19, 50], ["1-3", "4", "5"]),
    "at one moment": ([10] * 12 + [90], ["1-12", "13"]),
}  # fmt: skip


@pytest.mark.parametrize(("places", "labels"), NUMBERED.values(), ids=NUMBERED)
def test_every_mark_has_its_number_above_the_strips(places, labels):
    """Alone, or with those that a phone has no room to tell from it; as the list has them."""
    whole = 84 * STEP
    marks = tuple(Mark(SINCE + whole * at / 100, "x") for at in places)
    found = Page(written(page.report, span(GOOD, marks=marks)))
    drawn = [data for tag, data in found.texts if tag == "text"]
    assert [label for label in drawn if label[0].isdigit() and ":" not in label] == labels


AXES = {
    "an hour": (timedelta(minutes=61), ["12:00", "12:10", "12:20", "12:30", "12:40", "12:50"]),
    "a quarter": (timedelta(minutes=16), ["12:00", "12:05", "12:10"]),
    "a day": (timedelta(days=1), ["12:00", "15:00", "18:00", "21:00", "Nov 24", "03:00", "06:00", "09:00"]),
    "a week": (timedelta(days=7), ["Nov 24", "Nov 25", "Nov 26", "Nov 27", "Nov 28", "Nov 29"]),
}  # fmt: skip


@pytest.mark.parametrize(("whole", "labels"), AXES.values(), ids=AXES)
def test_the_axis_of_time_has_labels_to_read_between(whole, labels):
    """However short or long it is."""
    cells = tuple(Cell(1, 1) for _ in range(whole // timedelta(minutes=1)))
    short = Span(
        SINCE,
        SINCE + whole,
        timedelta(minutes=1),
        (replace(GOOD, strips=(Strip("curl", "edge", cells),), figures=(Figures(None, (), ()),)),),
    )
    found = Page(written(page.report, short))
    assert [data for tag, data in found.texts if tag == "text"] == labels


def test_whom_a_title_names_is_not_named_before_it():
    """Else it is."""
    named = replace(GOOD, troubles=(BLOCKED, replace(BLOCKED, title="Refused at the edge")))
    said = one_line(text.report, span(named))
    assert "prod: openai-py is refused at the edge" in said
    assert "prod: openai-py: Refused at the edge" in said


def test_a_percentile_of_too_few_is_not_there():
    """Neither its line nor its column."""
    few = replace(GOOD, figures=(Figures("edge", (Point(5, 0.4),) * 84, (Point(),) * 84),))
    found = Page(written(page.report, span(few)))
    numbers = json.loads(next(data for tag, data in found.texts if tag == "script" and data.startswith("{")))
    assert [name for name, _ in numbers["charts"][0]["lines"]] == ["p50"]
    assert "TPOT: not measured" in found.text.replace("\n", "")
    assert "p50 400 ms (n 5)" in found.text


@pytest.mark.parametrize(
    ("one", "said", "unsaid"),
    [
        (BAD, ["openai-py: ", "TTFT p50 "], ["route"]),
        (TWO, ["openai-py, route edge: ", "openai-py, route origin: 100 % good", "TTFT route edge: ", "route origin: p50", "is cut over route edge: "], ["not recorded"]),
        (
            replace(TWO, figures=(FIGURES, replace(ORIGIN, route=None)), strips=(*BAD.strips, Strip("curl", None, cells()))),
            ["curl, route edge: ", "curl, route not recorded: 100 % good", "route not recorded: p50"],
            ["origin"],
        ),
    ],
    ids=["one", "two", "from before routes were recorded"],
)  # fmt: skip
def test_a_figure_names_its_route_where_there_are_several(one, said, unsaid):
    """And never mixes them."""
    told = one_line(text.report, span(one))
    assert [each for each in said if each not in told] == []
    assert [each for each in unsaid if each in told] == []
    assert "&#92;" not in written(text.markdown, span(one))  # each in a line of its own


def test_each_route_has_its_plots():
    """Clock by clock, one below the other, each under its name."""
    found = Page(written(page.report, span(TWO)))
    plots = [attrs["data-label"] for _, attrs in found.tags if "data-label" in attrs]
    assert plots == [
        "TTFT, route edge", "TTFT, route origin", "TPOT, route edge", "TPOT, route origin",
        "Cutoff over time, route edge", "Cache, route edge",
    ]  # fmt: skip
    assert "openai-py, route origin 100 % good" in " ".join(found.text.split())
    assert "smoke/completion, route edge" in found.text
    alone = Page(written(page.report, WEEK))
    assert [a["data-label"] for _, a in alone.tags if "data-label" in a] == [
        "TTFT",
        "TPOT",
        "Cutoff over time",
        "Cache",
    ]


def test_the_cliff_needs_both_its_figures():
    """The speed at that hour, and a limit that the newest measurement met."""
    said = "At the slowest hour of the last 7 days, 23:00-00:00 UTC, a non-streaming answer above about 360 tokens is cut"
    assert said in one_line(page.report, span(GOOD))
    assert said in one_line(text.report, span(GOOD))
    gone = replace(GOOD, cutoffs=(*GOOD.cutoffs, replace(GOOD.cutoffs[0], seconds=None, held=150.0)))
    slow = replace(
        GOOD, figures=(replace(FIGURES, hours=tuple(replace(hour, tokens=None) for hour in HOURS)),)
    )
    streams = replace(GOOD, cutoffs=tuple(replace(each, plain=False) for each in GOOD.cutoffs))
    for one in (
        gone,
        slow,
        streams,
        replace(GOOD, cutoffs=()),
        replace(GOOD, figures=(replace(FIGURES, hours=()),)),
    ):
        for report in (page.report, text.report, text.markdown):
            assert "is cut: " not in one_line(report, span(one))


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (Cutoff(SINCE, "c", None, 125.0, 124.6, 125.4, 3, plain=True), "an answer that is not streamed is cut after 125.0 ± 0.4 s (n 3)"),
        (Cutoff(SINCE, "c", None, 125.0, n=1), "a stream is cut after 125.0 s (n 1)"),
        (Cutoff(SINCE, "c", None, None, held=150.0), "not cut, as far as was held: 150.0 s"),
        (Cutoff(SINCE, "c", None, None), "not there any more"),
    ],
    ids=["cut", "a stream", "held", "gone"],
)  # fmt: skip
def test_a_cutoff_in_words(one, said):
    """With how far it is off where that is known."""
    assert words.cutoff(one) == said


def test_what_is_not_known_says_so():
    """In a page of a target that nobody asked: no figure, no green."""
    found = Page(written(page.report, span(NOTHING)))
    assert "Nobody asked as a customer does: nothing is known." in found.text
    assert found.text.count("not measured") >= 2
    assert "not known: no usage tells of a cache" in found.text
    assert not [
        attrs for _, attrs in found.tags if attrs.get("class") in {"good", "pass", "plot"} and _ != "i"
    ]


def test_dollars_that_are_not_known():
    """A sum of some of the days says so."""
    days = [(SINCE, Spend(1, 2, 3, 0.5)), (SINCE + STEP * 12, Spend(1, 2, 3))]
    found = Page(written(page.report, span(replace(GOOD, spends=tuple(days), spent=Spend(2, 4, 6, 0.5)))))
    assert "2 requests, 10 tokens, 0.50 USD; the dollars of some days are not known" in found.text


def test_the_policy_admits_what_the_page_holds_and_no_more():
    """One style and its own two scripts, by their digests; no attribute carries either."""
    found = Page(written(page.report, WEEK))
    [meta] = [attrs["content"] for tag, attrs in found.tags if attrs.get("http-equiv")]
    policy = dict(part.strip().split(" ", 1) for part in meta.split(";"))
    inline = [data for tag, data in found.texts if tag in {"style", "script"} and not data.startswith("{")]
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in inline
    ]
    assert [policy["style-src"], *policy["script-src"].split()] == digests
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert not [name for _, attrs in found.tags for name in attrs if name == "style" or name.startswith("on")]
    assert not [attrs for _, attrs in found.tags if {"src", "href"} & attrs.keys()]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_what_a_stranger_wrote_is_text(harm):
    """The page has the tags that it has without, in the same order."""
    tame, wild = (Page(written(page.report, hostile(words))) for words in ("tame", harm))
    assert wild.odd == tame.odd == []
    assert [tag for tag, _ in wild.tags] == [tag for tag, _ in tame.tags]
    assert [sorted(attrs) for _, attrs in wild.tags] == [sorted(attrs) for _, attrs in tame.tags]
    # the policy was made of the page's own parts
    assert [d for tag, d in wild.texts if tag == "style"] == [d for tag, d in tame.texts if tag == "style"]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_markdown_of_a_stranger_does_nothing(harm):
    """No markup comes of it, and no line."""
    tame, wild = (written(text.markdown, hostile(said)) for said in ("tame", harm))
    parser = MarkdownIt("gfm-like", {"linkify": False})
    kinds = [[token.type for token in parser.parse(said)] for said in (tame, wild)]
    assert kinds[0] == kinds[1]
    assert not [
        child
        for token in parser.parse(wild)
        for child in token.children or ()
        if child.type in {"link_open", "image", "html_inline"}
    ]


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_terminal_obeys_no_stranger(harm):
    """Printable ASCII where it is none, within 80 columns."""
    said = written(text.report, hostile(harm))
    assert all(" " <= sign <= "~" for line in said.splitlines() for sign in line)
    assert max(map(len, said.splitlines())) <= 80


def test_many_marks_are_folded():
    """The list of an audit log doesn't push the figures away; the text names the newest."""
    many = tuple(replace(MARKS[0], at=SINCE + n * STEP, text=f"change {n:02}") for n in range(60))
    shown = span(GOOD, marks=many)
    assert "60 marks, numbered as on the plots" in Page(written(page.report, shown)).text
    assert written(text.report, shown).count("change") == 21
    assert "change 59" in written(text.report, shown)


@pytest.mark.parametrize(
    ("report", "name"), [(text.report, "since.txt"), (text.markdown, "since.md")], ids=["text", "markdown"]
)
def test_the_sample(report, name):
    """What is kept of it, word by word; EDGEPROBE_UPDATE_SAMPLES=1 writes it anew."""
    kept, told = SAMPLES / name, written(report, WEEK)
    if os.environ.get("EDGEPROBE_UPDATE_SAMPLES") == "1":
        kept.write_text(told, "utf-8")
    assert told == kept.read_text("utf-8")
