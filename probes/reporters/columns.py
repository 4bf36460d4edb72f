"""Which numbers does a plot of a stream need, and how few of them will do?

Nothing but whole numbers leaves this module: no text of a stranger is among what the page's script reads.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from probes.reporters.tracks import Track

POINTS = 240
"""Parts of the time that a curve is drawn in; a stream's own gaps are kept whatever their part."""
_TICKS = 1_000_000
_GAPS = 12


def columns(track: Track) -> dict[str, object]:
    """`unit`: seconds of one tick. In ticks from the request on: `at` and `tokens` are the curve, and `beats`, each as the
    difference to the one before; `gaps` (begin, end), of which one that ends in all of the answer is the
    wait for it, and `end`.
    """
    unit = 10.0 ** (math.floor(math.log10(max(track.end, 1e-3))) + 1) / _TICKS
    points = list(_thinned(track.arrivals, track.end / POINTS))
    held = [(0.0, track.arrivals[0][0])] if track.at_once else []
    longest = sorted([*held, *track.gaps()], key=lambda gap: gap[0] - gap[1])[:_GAPS]

    def tick(seconds: float) -> int:
        return round(seconds / unit)

    return {
        "unit": unit,
        "at": list(_steps(tick(at) for at, _ in points)),
        "tokens": list(_steps(tokens for _, tokens in points)),
        "beats": list(_steps(sorted({tick(at) for at in _apart(track.beats, track.end / POINTS)}))),
        "gaps": [[tick(begin), tick(end)] for begin, end in sorted(longest)],
        "end": tick(track.end),
    }


def _thinned(arrivals: list[tuple[float, int]], part: float) -> Iterator[tuple[float, int]]:
    """(when, tokens so far): one in each part of the time, and both sides of each gap."""
    total, kept = 0, -math.inf
    following = [*(at for at, _ in arrivals[1:]), math.inf]
    for (at, tokens), then in zip(arrivals, following, strict=False):
        total += tokens
        if at - kept >= part or then - at >= part:
            kept = at
            yield at, total


def _apart(times: Iterable[float], part: float) -> Iterator[float]:
    kept = -math.inf
    for at in times:
        if at - kept >= part:
            kept = at
            yield at


def _steps(numbers: Iterable[int]) -> Iterator[int]:
    before = 0
    for number in numbers:
        yield number - before
        before = number
