"""Which numbers does a plot of a stream need, and how few of them will do?

Nothing but whole numbers leaves this module: no text of a stranger is among what the page's script reads.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from probes.reporters.portions import portions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from probes.reporters.tracks import Track

POINTS = 240
"""Parts of the time that a curve is drawn in; a stream's own gaps are kept whatever their part."""
_TICKS = 1_000_000
_GAPS = POINTS // 2
"""More can't be told apart: their line is stairs enough."""


def columns(track: Track) -> dict[str, object]:
    """`unit`: seconds of one tick. In ticks from the request on: `at` and `tokens` are the curve, and `beats`, each as the
    difference to the one before; `gaps` (begin, end), between portions where it came in such, and one that ends in all of
    the answer is the wait for it; `lags` of our own, and `end`.
    """
    unit = 10.0 ** (math.floor(math.log10(max(track.end, 1e-3))) + 1) / _TICKS
    points = list(_thinned(track.arrivals, track.end / POINTS))
    lags = [lag for lag in track.lags if lag[1] - lag[0] >= track.end / POINTS]

    def tick(seconds: float) -> int:
        return round(seconds / unit)

    return {
        "unit": unit,
        "at": list(_steps(tick(at) for at, _ in points)),
        "tokens": list(_steps(tokens for _, tokens in points)),
        "beats": list(_steps(sorted({tick(at) for at in _apart(track.beats, track.end / POINTS)}))),
        "gaps": [[tick(begin), tick(end)] for begin, end in _gaps(track)],
        "lags": [[tick(begin), tick(end)] for begin, end in lags],
        "end": tick(track.end),
    }


def _gaps(track: Track) -> list[tuple[float, float]]:
    if track.at_once:
        return [(0.0, track.arrivals[0][0]), *track.gaps()]
    if came := portions(track):
        last = track.arrivals[-1][0]
        between = came.pauses if len(came.pauses) <= _GAPS else ()
        return [*between, *(gap for gap in track.gaps() if gap[0] >= last)]
    return track.gaps()


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
