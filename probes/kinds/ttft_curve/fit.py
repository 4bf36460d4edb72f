"""Which straight line do times by the length of the prompt follow, and how sure is it?

By medians of slopes (Theil and Sen), which a few slow answers do not move; the interval is by resampling each length.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

Points = dict[int, list[float]]
"""Tokens of the prompt → what was measured at that length."""
_RESAMPLED = 400
_TAIL = 0.025


class Line(NamedTuple):
    """`base` seconds at no token, `slope` seconds for each."""

    base: float
    slope: float

    def at(self, tokens: float) -> float:
        return self.base + self.slope * tokens


def line(points: Mapping[int, Sequence[float]]) -> Line:
    """Through the median of each length, of which there are two at the least."""
    middle = [(tokens, median(values)) for tokens, values in sorted(points.items())]
    slopes = [(b - a) / (n - m) for i, (m, a) in enumerate(middle) for n, b in middle[i + 1 :]]
    slope = median(slopes)
    return Line(median(value - slope * tokens for tokens, value in middle), slope)


def departure(points: Mapping[int, Sequence[float]], fitted: Line) -> float:
    """The largest share by which the median of a length lies off the line, with its sign."""
    off = [
        (median(values) - fitted.at(n)) / median(values) for n, values in points.items() if median(values) > 0
    ]
    return max(off, key=abs, default=0.0)


def bend(points: Mapping[int, Sequence[float]]) -> float | None:
    """Slope of the longer half by that of the shorter one; `None` where there is none to divide by."""
    ordered = sorted(points)
    if len(ordered) < 4:
        return None
    half = len(ordered) // 2
    short, long = (line({n: points[n] for n in part}).slope for part in (ordered[: half + 1], ordered[half:]))
    return long / short if short > 0 else None


def resampled(points: Points, rng: Random) -> list[Line]:
    """As it might have come out, too."""
    return [
        line({n: rng.choices(values, k=len(values)) for n, values in points.items()})
        for _ in range(_RESAMPLED)
    ]


def interval(values: Iterable[float]) -> tuple[float, float]:
    """That covers it at 95 %."""
    found = sorted(values)
    cut = int(_TAIL * len(found))
    return found[cut], found[-1 - cut]
