"""How sure is a difference between two samples, and which one could they have shown?

Latencies are compared by ranks on a log scale: nothing is assumed of how they are spread, and a slow tail counts as no
more than it is. `level` is the chance of being wrong on one side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.errors import UsageError
from probes.twins import wilson

try:
    import numpy as np
    from scipy import stats
except ModuleNotFoundError as missing:
    raise UsageError(f"a comparison needs {missing.name}: pip install 'edgeprobe[compare]'") from None

if TYPE_CHECKING:
    from collections.abc import Sequence

FAMILY = 0.01
"""Chance that one comparison, with all that is tested in it, calls worse what is the same."""
POWER = 0.8
"""Chance with which the smallest effect is found."""
_MOST = 1000  # of a side; evenly over its time
_SHORTEST = 1e-6

Spread = Any
"""Sorted distances, on a log scale, between the samples of a side."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Of after to before, with its interval: `low` 0 and `high` infinite where there are too few samples for one."""

    ratio: float
    low: float
    high: float


def effect(before: Sequence[float], after: Sequence[float], level: float) -> Effect:
    """How many times longer it takes: the median of all ratios (Hodges and Lehmann), and the interval that the
    Mann-Whitney test does not reject.
    """
    old, new = _logs(before), _logs(after)
    shifts = np.sort((new[None, :] - old[:, None]).ravel())
    rank = _rank(len(old), len(new), level)
    low, high = (shifts[rank - 1], shifts[-rank]) if rank else (-math.inf, math.inf)
    return Effect(math.exp(np.median(shifts)), math.exp(low), math.exp(high))


def _rank(n: int, m: int, level: float) -> int:
    """Which of the sorted shifts, from either end, bounds the interval; 0 where none does. The normal approximation is
    on the safe side of the exact distribution where samples are few.
    """
    off = float(stats.norm.isf(level)) * math.sqrt(n * m * (n + m + 1) / 12)
    return max(math.floor(n * m / 2 - off), 0)


def differ(parts: Sequence[Sequence[float]]) -> float:
    """P that parts of one state differ as they do by chance (Kruskal and Wallis)."""
    if len({value for part in parts for value in part}) < 2:
        return 1.0
    return float(stats.kruskal(*(_logs(part) for part in parts)).pvalue)


def spread(*sides: Sequence[float]) -> Spread:
    """Within each side: what separates them says nothing of how far each scatters."""
    apart = [
        np.abs(logs[:, None] - logs[None, :])[np.triu_indices(len(logs), 1)] for logs in map(_logs, sides)
    ]
    return np.sort(np.concatenate(apart))


def smallest(scatter: Spread, n: int, m: int, level: float) -> float | None:
    """The ratio that `n` samples before and `m` after would show with `POWER`; `None` where no ratio is."""
    reach = _margin(level) * math.sqrt((n + m + 1) / (12 * n * m)) if n and m else 1.0
    if not len(scatter) or 2 * reach >= 1:
        return None
    return math.exp(float(np.quantile(scatter, 2 * reach)))


def needed(scatter: Spread, ratio: float, level: float, before: int | None = None) -> int | None:
    """Samples a side that would show `ratio`; with `before`, those after, and `None` where none are enough."""
    if not len(scatter):
        return None
    # Half of the distances within the ratio: by so much the order of the two sides leaves the middle.
    moved = float(np.searchsorted(scatter, math.log(ratio))) / len(scatter) / 2
    if moved <= 0:
        return None
    worth = 12 * (moved / _margin(level)) ** 2
    left = worth / 2 if before is None else worth - 1 / before
    return math.ceil(1 / left) + 1 if left > 0 else None


def _margin(level: float) -> float:
    return float(stats.norm.isf(level) + stats.norm.ppf(POWER))


def _logs(values: Sequence[float]) -> Any:
    step = math.ceil(len(values) / _MOST) or 1
    return np.log(np.maximum(np.asarray(values[::step], dtype=float), _SHORTEST))


# --- shares ----------------------------------------------------------------------------------------------


def more(k: int, n: int, later_k: int, later_n: int) -> float:
    """P of so many more later by chance, where both are alike (Fisher's exact test)."""
    table = [[later_k, later_n - later_k], [k, n - k]]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


@dataclass(frozen=True, slots=True)
class Share:
    """A share, and how many independent samples it is worth."""

    value: float
    worth: float

    def interval(self, level: float = 0.025) -> tuple[float, float]:
        return wilson(self.value * self.worth, self.worth, float(stats.norm.isf(level)))


def weighted(parts: Sequence[tuple[int, int]]) -> Share:
    """Of (part, whole) pairs by their wholes. It is worth as many samples as there are pairs of equal weight (Kish): the
    tokens of one prompt are cached together, and are no samples of their own.
    """
    wholes = [whole for _, whole in parts]
    total = sum(wholes)
    return Share(sum(part for part, _ in parts) / total, total**2 / sum(whole**2 for whole in wholes))


def gap(before: Share, after: Share, level: float) -> tuple[float, float]:
    """The interval of after minus before, from those of both (Newcombe)."""
    (low, high), (later_low, later_high) = before.interval(level), after.interval(level)
    off = after.value - before.value
    return (
        off - math.hypot(after.value - later_low, high - before.value),
        off + math.hypot(later_high - after.value, before.value - low),
    )
