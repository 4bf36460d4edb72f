"""How does the time to the first token grow with the prompt, for eyes?

Of a finding whose figures say so: `ttft@TOKENS` of each length, the line through them in `base` and `prefill`, and the short
`control` between them.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Figure, Finding

_PREFIX = "ttft@"
_NAME = re.compile(rf"{_PREFIX}[0-9]{{1,9}}")
_LEAST, _MOST = 2, 24
"""Lengths."""
_FANCY, _ASCII = ("█", "┊"), ("#", ":")
_BAR = 16
"""Columns, at the least."""
_WIDE, _HIGH, _LEFT, _BELOW, _ABOVE = 720, 300, 64, 40, 12
_TICKS = 4


class Curve(NamedTuple):
    """`points`: (tokens of the prompt, TTFT), the shortest first. `base`, `slope`: of the line, where one was fitted.
    `control`: TTFT of the short request between them, by how much it moved.
    """

    points: list[tuple[int, Figure]]
    base: float | None
    slope: float | None
    control: Figure | None = None

    def line(self, tokens: float) -> float | None:
        return None if self.base is None or self.slope is None else self.base + self.slope * tokens

    @property
    def longest(self) -> int:
        return self.points[-1][0]

    @property
    def slowest(self) -> float:
        all_of = [figure for _, figure in self.points] + ([self.control] if self.control is not None else [])
        highs = [figure.value if figure.high is None else figure.high for figure in all_of]
        return max(*highs, self.line(self.longest) or 0.0)


def curve(finding: Finding) -> Curve | None:
    """What there is to draw."""
    points = sorted(
        (int(name.removeprefix(_PREFIX)), figure)
        for name, figure in finding.figures.items()
        if _NAME.fullmatch(name) and all(map(math.isfinite, _numbers(figure)))
    )[:_MOST]
    base, prefill = finding.figures.get("base"), finding.figures.get("prefill")
    control = finding.figures.get("control")
    if control is not None and not all(map(math.isfinite, _numbers(control))):
        control = None
    fitted = base is not None and prefill is not None and prefill.value > 0 and math.isfinite(base.value)
    found = Curve(
        points,
        base.value if base is not None and fitted else None,
        1 / prefill.value if prefill is not None and fitted else None,
        control,
    )
    drawable = len(points) >= _LEAST and found.longest > 0 and 0 < found.slowest < math.inf
    return found if drawable else None


def _numbers(figure: Figure) -> list[float]:
    return [number for number in (figure.value, figure.low, figure.high) if number is not None]


def bars(found: Curve, width: int, *, ascii_only: bool) -> list[str]:
    """A line for each length, of at most `width` columns."""
    full, mark = _ASCII if ascii_only else _FANCY
    labels = [f"{tokens:,}" for tokens, _ in found.points]
    times = [duration(figure.value) for _, figure in found.points]
    label = max(map(len, labels))
    room = width - label - max(map(len, times)) - 3
    if room < _BAR:
        return []
    lines = []
    for (tokens, figure), name, time in zip(found.points, labels, times, strict=True):
        cells = [full] * max(1, round(room * figure.value / found.slowest))
        cells += [" "] * (room - len(cells))
        if (expected := found.line(tokens)) is not None:
            cells[min(max(round(room * expected / found.slowest) - 1, 0), room - 1)] = mark
        lines.append(f"{name:>{label}} {''.join(cells[:room])} {time}")
    legend = f"{' ' * label} tokens of the prompt, time to the first token"
    return [*lines, f"{legend}; {mark} straight line" if found.slope is not None else legend]


def plot(found: Curve) -> Iterator[str]:
    """Medians with their intervals, and the line; in numbers it stands in the rows of the finding."""

    def x(tokens: float) -> float:
        return _LEFT + (_WIDE - _LEFT - _ABOVE) * tokens / found.longest

    def y(seconds: float) -> float:
        return _HIGH - _BELOW - (_HIGH - _BELOW - _ABOVE) * seconds / found.slowest

    about = f"Time to the first token by the length of the prompt, {len(found.points)} lengths"
    yield "<figure>"
    yield f'<svg class="curve" viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{about}">'
    for tick in _ticks(found.slowest):
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDE - _ABOVE}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{duration(tick)}</text>'
    for tick in _ticks(found.longest):
        yield f'<text x="{x(tick):.1f}" y="{_HIGH - _BELOW + 18}" text-anchor="middle">{tick:,.0f}</text>'
    yield f'<text x="{_WIDE - _ABOVE}" y="{_HIGH - 4}" text-anchor="end">tokens of the prompt</text>'
    if (begin := found.line(0.0)) is not None and (end := found.line(found.longest)) is not None:
        yield f'<line class="fitted" x1="{x(0):.1f}" y1="{y(max(begin, 0.0)):.1f}" x2="{x(found.longest):.1f}" y2="{y(end):.1f}"/>'
    if (control := found.control) is not None:
        low, high = (control.value if end is None else end for end in (control.low, control.high))
        yield f'<rect class="control" x="{_LEFT}" width="{_WIDE - _LEFT - _ABOVE}" y="{y(high):.1f}" height="{max(y(low) - y(high), 2):.1f}"><title>short control: {duration(control.value)}, n {control.n}</title></rect>'
    for tokens, figure in found.points:
        if figure.low is not None and figure.high is not None:
            yield f'<line class="interval" x1="{x(tokens):.1f}" x2="{x(tokens):.1f}" y1="{y(figure.low):.1f}" y2="{y(figure.high):.1f}"/>'
        yield f'<circle class="measured" cx="{x(tokens):.1f}" cy="{y(figure.value):.1f}" r="4"><title>{tokens:,} tokens: {duration(figure.value)}, n {figure.n}</title></circle>'
    yield "</svg>"
    fitted = "; dashed, the straight line" if found.slope is not None else ""
    beside = (
        f"; the band, the short control between them with its interval, {duration(control.value)}"
        if control is not None
        else ""
    )
    yield f"<figcaption>{about}: medians with their intervals{fitted}{beside}</figcaption>"
    yield "</figure>"


def _ticks(most: float) -> Iterator[float]:
    """Round numbers from 0 up to it."""
    unit = 10.0 ** math.floor(math.log10(most / _TICKS))
    step = next(factor * unit for factor in (1, 2, 5, 10) if most / (factor * unit) <= _TICKS + 1)
    for number in range(int(most / step) + 1):
        yield number * step
