"""Did the parts of an answer come in portions, how large, and how often?"""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.reporters.tracks import Track

_FEWEST, _GOES = 16, 4
"""Parts, and portions, below which nothing is said."""
_PAUSE, _STANDING, _ALIKE = 3.0, 0.8, 0.1
"""Times the mean interval; of the time, in which nothing comes; of their median, that sizes or intervals may differ by."""
_BRIEF = 0.1
"""Seconds: what came within is one burst."""


class Portions(NamedTuple):
    """`size`: bytes of each but the first and the last, where they are alike. `apart`: seconds from one to the next, and
    whether that is `even`. `pauses`: (begin, end) of those between two portions that are not our own.
    """

    n: int
    size: float | None
    apart: float
    even: bool
    pauses: tuple[tuple[float, float], ...]


def portions(track: Track) -> Portions | None:
    """`None` where the parts came one by one, or too few of them."""
    came = track.arrivals
    n = sum(parts for _, parts in came)
    if n < _FEWEST or (span := came[-1][0] - came[0][0]) < _BRIEF:
        return None
    pause = _PAUSE * span / n
    goes = [[came[0][0], came[0][0]]]
    for at, _ in came[1:]:
        if at - goes[-1][1] > pause:
            goes.append([at, at])
        goes[-1][1] = at
    pauses = [(before[1], after[0]) for before, after in pairwise(goes)]
    pauses = [pause for pause in pauses if not track.late(*pause)]
    standing = sum(end - begin for begin, end in pauses)
    if len(goes) < _GOES or standing < _STANDING * span:
        return None
    apart = [after[0] - before[0] for before, after in pairwise(goes[:-1])]
    sizes = _sizes(track, [until for _, until in goes])[1:-1]
    size = median(sizes) if sizes and _alike(sizes) else None
    return Portions(len(goes), size or None, median(apart), _alike(apart), tuple(pauses))


def _sizes(track: Track, ends: Sequence[float]) -> list[int]:
    """Bytes that were read until each end, since the one before."""
    seen, sizes, n = track.exchange, [0] * len(ends), 0
    for at, size in zip(map(track.since, seen.chunk_times), seen.chunk_sizes, strict=False):
        while n < len(ends) and at > ends[n]:
            n += 1
        if n < len(ends):
            sizes[n] += size
    return sizes


def _alike(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= _ALIKE * median(values)
