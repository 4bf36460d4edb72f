"""The curve of TTFT by tokens, in characters and as SVG: what is drawn, and that nothing stored can break it."""

from __future__ import annotations

import io
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from probes.model import Figure, Finding, Verdict
from probes.reporters.console import plain
from probes.reporters.curve import bars, curve, plot

SVG = "svg"


def finding(**figures):
    named = {name.replace("_at_", "@"): figure for name, figure in figures.items()}
    return Finding(
        "ok",
        Verdict.PASS,
        "curve/ttft_curve",
        "ttft_curve",
        title="t",
        detail=(("seen", "s"),),
        figures=named,
    )


def line(*lengths, slope=0.0004):
    points = {
        f"ttft_at_{n}": Figure(0.2 + slope * n, "s", 5, 0.19 + slope * n, 0.25 + slope * n) for n in lengths
    }
    return finding(
        **points,
        base=Figure(0.2, "s", 30),
        prefill=Figure(1 / slope, "tokens/s", 30),
        control=Figure(0.3, "s", 16, 0.25, 0.4),
    )


@pytest.mark.parametrize("width", [40, 68, 100])
@pytest.mark.parametrize("ascii_only", [True, False], ids=["ascii", "fancy"])
def test_bars_grow_and_fit(width, ascii_only):
    """A line for each length, none wider than asked, the longest prompt's the longest; the line's mark is in each."""
    drawn = bars(curve(line(256, 1024, 8192)), width, ascii_only=ascii_only)
    full, mark = ("#", ":") if ascii_only else ("█", "┊")
    rows = drawn[:3]
    assert [row.split()[0] for row in rows] == ["256", "1,024", "8,192"]
    assert [row.count(full) for row in rows] == sorted(row.count(full) for row in rows)
    assert all(mark in row for row in rows)
    assert all(len(row) <= width for row in rows)
    assert ascii_only <= "".join(drawn).isascii()


def test_the_console_shows_it_below_what_was_seen():
    """Before the rows of each length."""
    told = plain(line(256, 8192)).splitlines()
    assert "seen" in told[1]
    assert "#" in told[2]


def test_the_plot_is_well_formed_and_within_its_frame():
    """A point and an interval for each length and the line through them, all inside the view."""
    markup = "".join(plot(curve(line(256, 1024, 8192))))
    svg = ET.fromstring(markup).find(SVG)
    _, _, wide, high = map(float, svg.get("viewBox").split())
    marks = [each.get("class") for each in svg.iter() if each.get("class")]
    assert (marks.count("measured"), marks.count("interval"), marks.count("fitted")) == (3, 3, 1)
    [control] = [each for each in svg.iter() if each.get("class") == "control"]
    assert 0 <= float(control.get("y")) <= float(control.get("y")) + float(control.get("height")) <= high
    for each in svg.iter():
        for name, value in each.attrib.items():
            if name in {"x", "x1", "x2", "cx"}:
                assert 0 <= float(value) <= wide
            if name in {"y", "y1", "y2", "cy"}:
                assert 0 <= float(value) <= high


@pytest.mark.parametrize(
    "figures",
    [
        {"ttft_at_256": Figure(0.2, "s", 5)},
        {"ttft_at_256": Figure(float("nan"), "s", 5), "ttft_at_512": Figure(float("inf"), "s", 5)},
        {"ttft_at_0": Figure(0.0, "s", 5), "ttft_at_1": Figure(0.0, "s", 5)},
        {"ttft_at_" + "9" * 5000: Figure(1.0, "s", 5), "ttft_at_x<script>": Figure(1.0, "s", 5)},
        {"prefill": Figure(0.0, "tokens/s", 1), "base": Figure(1.0, "s", 1)},
        {"control": Figure(0.3, "s", 16, 0.2, 0.4)},
    ],
    ids=["one length", "not finite", "no time", "no lengths", "a line alone", "a control alone"],
)
def test_nothing_to_draw(figures):
    """Of a stored run anything may stand there."""
    assert curve(finding(**figures)) is None
    assert plain(finding(**figures))


def test_a_control_that_is_no_number_is_left_out():
    """The points are shown all the same."""
    made = curve(
        replace(
            line(256, 512),
            figures={**line(256, 512).figures, "control": Figure(0.3, "s", 2, 0.2, float("inf"))},
        )
    )
    assert made.control is None
    assert "control" not in "".join(plot(made))


def test_without_a_line_the_points_are_shown():
    """Of an inconclusive curve, too."""
    made = curve(
        finding(ttft_at_10=Figure(1.0, "s", 5), ttft_at_20=Figure(1.0, "s", 5), prefill=Figure(-1, "t", 1))
    )
    assert made.slope is None
    text = io.StringIO()
    text.writelines(plot(made))
    assert "fitted" not in text.getvalue()
