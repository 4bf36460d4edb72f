"""How did each client fare, interval by interval, told by shape and not by colour alone?"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from probes.reporters.figures import text
from probes.reporters.span.words import good_share, interval, outcome, whose, worst_first
from probes.span import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from probes.span import Cell, Span, Watched

KEY = (
    ("good", "▄", "all good"),
    ("failed", "█", "failed; the longer, the more of them"),
    ("limited", "▫", "held back on our own key alone"),
    ("nothing", "▁", "nothing measured"),
    ("mark", "│", "a marked change"),
)
_LOW = 40.0
"""Percent of the height of a cell that is good."""
_TICKS = 8
_WIDE = tuple(timedelta(minutes=n) for n in (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440))
_DAY = timedelta(days=1)
_LETTER = 2.2
"""Percent of the width of a phone."""


def strips(span: Span, one: Watched) -> Iterator[str]:
    """The worst first."""
    yield '<div class="strips">'
    yield from _numbers(span)
    for strip in worst_first(one):
        who = text(whose(one, strip))
        said = f"{good_share(strip.whole)}: {outcome(strip.whole)}"
        blank = sum(cell.state is State.NOTHING for cell in strip.cells)
        gaps = f"; nothing in {blank} of {len(strip.cells)} intervals" if blank else ""
        yield f'<p class="who">{who} <span class="soft">{said}{gaps}</span></p>'
        yield f'<svg class="strip" role="img" aria-label="{who}: {said}{gaps}">'
        for at, cell in zip(span.starts(), strip.cells, strict=True):
            yield _cell(cell, (at - span.since) / span.step, len(strip.cells), interval(at, span.step))
        yield from _marks(span)
        yield "</svg>"
    yield from _axis(span)
    yield "</div>"
    key = "".join(f'<li><i class="{kind}">{mark}</i>{said}</li>' for kind, mark, said in KEY)
    yield f'<ul class="key">{key}</ul>'


def _cell(cell: Cell, at: float, of: int, when: str) -> str:
    bars = "".join(
        f'<rect class="{kind}" x="{100 * (at + 0.08) / of:.3f}%" width="{84 / of:.3f}%" y="{top:.1f}%" height="{tall:.1f}%"/>'
        for kind, top, tall in _bars(cell)
    )
    return f"<g><title>{when}: {outcome(cell)}</title>{bars}</g>"


def _bars(cell: Cell) -> Iterator[tuple[str, float, float]]:
    """(kind, top, height): failures hang from the top, what was good stands on the floor."""
    if cell.state is State.NOTHING:
        yield "nothing", 92.0, 8.0
    elif cell.state is State.LIMITED:
        yield "limited", 100 - _LOW, _LOW - 4
    else:
        if cell.good:
            yield "good", 100 - _LOW, _LOW
        if cell.failed:
            room = 96 - _LOW if cell.good else 100.0
            yield "failed", 0.0, max(room * cell.failing, 20.0)


def _marks(span: Span) -> Iterator[str]:
    for n, mark in enumerate(span.marks, 1):
        x = _share(mark.at, span)
        yield f'<line class="mark" x1="{x:.3f}%" x2="{x:.3f}%" y1="0" y2="100%"><title>{n}: {text(mark.text)}</title></line>'


def _numbers(span: Span) -> Iterator[str]:
    """Above the strips; marks that are too near to each other have one label for all."""
    if not span.marks:
        return
    yield '<svg class="axis" aria-hidden="true">'
    for x, label in _labels([_share(mark.at, span) for mark in span.marks]):
        side = ' text-anchor="end"' if x > 100 - _LETTER * len(label) else ""
        yield f'<text class="number" x="{x:.2f}%" y="1em"{side}>{label}</text>'
    yield "</svg>"


def _labels(places: Sequence[float]) -> Iterator[tuple[float, str]]:
    """Percent of the width in their order, numbered from 1: `7`, or `7-9`."""
    first = 0
    while first < len(places):
        last = first
        while last + 1 < len(places) and places[last + 1] - places[first] < _LETTER * (
            len(_numbered(first, last)) + 1
        ):
            last += 1
        yield places[first], _numbered(first, last)
        first = last + 1


def _numbered(first: int, last: int) -> str:
    return f"{first + 1}" if first == last else f"{first + 1}-{last + 1}"


def _share(at: datetime, span: Span) -> float:
    return 100 * ((at - span.since) / (span.step * len(span.starts())))


def _axis(span: Span) -> Iterator[str]:
    """Days, hours or minutes, few of them; every other one is left out on a phone."""
    yield '<svg class="axis" aria-hidden="true">'
    for n, (at, label) in enumerate(_ticks(span.since, span.step * len(span.starts()))):
        x = _share(at, span)
        if x < 92:
            yield f'<text class="{"odd" if n % 2 else "even"}" x="{x:.2f}%" y="1em">{label}</text>'
    yield "</svg>"


def _ticks(since: datetime, whole: timedelta) -> Iterator[tuple[datetime, str]]:
    wide = next((each for each in _WIDE if whole / each <= _TICKS), _DAY * -(-whole // (_TICKS * _DAY)))
    at = since.replace(hour=0, minute=0, second=0, microsecond=0)
    while at < since + whole:
        if at >= since:
            yield at, f"{at:%b %d}" if wide >= _DAY or (at.hour, at.minute) == (0, 0) else f"{at:%H:%M}"
        at += wide
