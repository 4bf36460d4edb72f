"""Did a side change within itself?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from probes.change import statistics
from probes.kinds.words import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

_BY_CHANCE = 0.01
_LEAST = 3
"""Values of a part."""


def drift(values: Sequence[float], of: Sequence[str], slower: float) -> str:
    """In words, where its parts differ by half of what counts as slower and by more than chance has it; the middle of
    that is no state of anything. `of`: the run of each value, all in the order of time.
    """
    half = len(values) // 2
    halves = [values[:half], values[half:]]
    by_run: dict[str, list[float]] = {}
    for run, value in zip(of, values, strict=True):
        by_run.setdefault(run, []).append(value)
    runs = [values for values in by_run.values() if len(values) >= _LEAST]
    for parts, said in ((halves, "its first half against its second"), (runs, "its runs among themselves")):
        if len(parts) < 2 or min(map(len, parts)) < _LEAST:
            continue
        middles = [median(part) for part in parts]
        apart = max(middles) / min(middles)
        if apart >= 1 + slower / 2 and statistics.differ(parts) < _BY_CHANCE:
            shown = (middles[0], middles[-1]) if parts is halves else (min(middles), max(middles))
            return f"{said}, {duration(shown[0])} to {duration(shown[1])}"
    return ""
