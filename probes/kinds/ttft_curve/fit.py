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
_CHANCE = 0.01
_STOPPED = 0.25
"""Of what a token costs before a length, below which it costs nothing to speak of beyond."""


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


def bent(points: Points, fitted: Line, rng: Random) -> bool:
    """Whether times that scatter as these do about the line itself would lie as far off one in 1 of 100 cases at the most."""
    straight = {n: [fitted.at(n) * v / median(values) for v in values] for n, values in points.items()}
    off, as_far = abs(departure(points, fitted)), 0
    for _ in range(_RESAMPLED):
        drawn = _drawn(straight, rng)
        as_far += abs(departure(drawn, line(drawn))) >= off
    return (1 + as_far) / (1 + _RESAMPLED) <= _CHANCE


def stops(points: Points, rng: Random) -> int | None:
    """The first length, with two before it, beyond which times grow no more, whatever the samples' scatter."""
    ordered = sorted(points)
    for i in range(2, len(ordered) - 1):
        before, after = ({n: points[n] for n in part} for part in (ordered[: i + 1], ordered[i:]))
        low = interval(each.slope for each in resampled(before, rng))[0]
        high = interval(each.slope for each in resampled(after, rng))[1]
        if low > 0 and high <= _STOPPED * low:
            return ordered[i]
    return None


def halves(points: Points) -> tuple[Points, Points]:
    """The shorter lengths and the longer ones; the one in the middle belongs to both."""
    ordered = sorted(points)
    half = len(ordered) // 2
    shorter, longer = ({n: points[n] for n in part} for part in (ordered[: half + 1], ordered[half:]))
    return shorter, longer


def resampled(points: Points, rng: Random) -> list[Line]:
    """As it might have come out, too."""
    return [line(_drawn(points, rng)) for _ in range(_RESAMPLED)]


def _drawn(points: Points, rng: Random) -> Points:
    return {n: rng.choices(values, k=len(values)) for n, values in points.items()}


def interval(values: Iterable[float]) -> tuple[float, float]:
    """That covers it at 95 %."""
    found = sorted(values)
    cut = int(_TAIL * len(found))
    return found[cut], found[-1 - cut]
