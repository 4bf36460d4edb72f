"""How does a page show figures over time, for eyes, fingers and screen readers alike?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from probes.reporters.figures import text
from probes.reporters.frame import heads
from probes.reporters.span.words import interval, when
from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from probes.span import Point, Span

Unit = Literal["s", "s/token", "%"]
LINES = (("tokens", "p50"), ("beats", "p90"), ("ends", "p99"))
"""Class of the colour, and name; each with a dash of its own."""


@dataclass(frozen=True, slots=True)
class Chart:
    """`lines`: by name one value for each of `at`, `None` where nothing was measured; `n`: samples of each.

    `whole`: each of `at` stands for its interval, else for a moment.
    """

    title: str
    said: str
    unit: Unit
    at: tuple[datetime, ...]
    lines: tuple[tuple[str, tuple[float | None, ...]], ...]
    n: tuple[int, ...]
    whole: bool = True


def percentiles(title: str, said: str, unit: Unit, span: Span, points: Sequence[Point]) -> Chart:
    """One that no point is known of is left out."""
    lines = ((name, tuple(getattr(point, name) for point in points)) for _, name in LINES)
    shown = tuple((name, values) for name, values in lines if any(value is not None for value in values))
    return Chart(title, said, unit, tuple(span.starts()), shown, tuple(point.n for point in points))


def figure(chart: Chart, number: int, place: str, span: Span) -> Iterator[str]:
    """`number` is that of the page's charts, `place` names those that are read together."""
    yield "<figure>"
    yield f"<figcaption><strong>{text(chart.title)}</strong>: {text(chart.said)}</figcaption>"
    if any(chart.n):
        what = "an interval's figures" if chart.whole else "a measurement"
        rest = f"point at the plot, or go through it by the arrow keys, for {what}"
        yield f'<div class="plot" data-chart="{number}" data-place="{place}" data-label="{text(chart.title)}"></div>'
        yield f'<p class="readout" data-rest="{rest}">{rest}</p>'
        yield from _table(chart, span)
    yield "</figure>"


def _table(chart: Chart, span: Span) -> Iterator[str]:
    yield "<details>"
    yield "<summary>The plot as a table</summary>"
    yield '<table class="numbers">'
    yield heads("when (UTC)", *(text(name) for name, _ in chart.lines), "n")
    yield "<tbody>"
    for k, at in enumerate(chart.at):
        if chart.n[k]:
            row = "".join(f"<td>{shown(values[k], chart.unit)}</td>" for _, values in chart.lines)
            label = interval(at, span.step) if chart.whole else when(at)
            yield f'<tr><th scope="row">{label}</th>{row}<td>{chart.n[k]:,}</td></tr>'
    yield "</tbody>"
    yield "</table>"
    yield "</details>"


def shown(value: float | None, unit: Unit) -> str:
    if value is None:
        return "-"
    return f"{value:.0f} %" if unit == "%" else duration(value)


def numbers(charts: Sequence[Chart], span: Span) -> str:
    """What the page's script draws, as JSON that can stand in HTML."""
    marks = [[one.at.timestamp(), str(n)] for n, one in enumerate(span.marks, 1)]
    step = span.step.total_seconds()
    drawn = [
        {
            "at": [at.timestamp() for at in chart.at],
            "step": step if chart.whole else 0,
            "lines": [[name, _short(values)] for name, values in chart.lines],
            "n": chart.n,
            "unit": chart.unit,
        }
        for chart in charts
    ]
    begin = span.since.timestamp()
    page = {"charts": drawn, "marks": marks, "span": [begin, begin + step * len(span.starts())]}
    return json.dumps(page, separators=(",", ":")).replace("<", "\\u003c")


def _short(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.3g}") for value in values]
