"""Which measurements may stand in one figure, and what do they show?

A figure is of samples that were taken under the same conditions, or it is not made. What two sides show is said by exact
rank tests: a handful of times has no known shape.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from random import Random
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple

from probes.model import Ask, Figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from probes.model import Call, Finding

REPEATS = 5
"""Of a figure, by default: with fewer than five on each side no order of them is rarer than 1 in 200."""
SURE = 0.005
"""Chance of a false alarm of one comparison; it is looked at twice at the most."""
_COVERED = 0.95
DRIFTS = 1.25
"""Middle after a moment by that before it, from which on a drift matters."""
_P_DRIFT, _P_OPEN = 0.01, 0.05
_PART = 2
"""Samples before and after a moment, at the least, for it to be looked at."""
_APART = 0.02
"""Chance of two sides of one split that do not overlap at all."""
_SHUFFLED = 10_000
_EQUAL = 1e-9
_EXACTLY = 500
"""Samples, beyond which their number of one kind is as good as normal."""
_BOUND = 1.96
UNKNOWN, DIFFERS = "unknown", "differs"


class Conditions(NamedTuple):
    """`client`: `warm` where its connection pool was used before. `cache`: the arm of the prompt, `cold` where nobody can
    have sent it before. What a call does not say is unknown.
    """

    connection: str | None
    client: str
    cache: str
    concurrency: int
    route: str


@dataclass(frozen=True, slots=True)
class Sample:
    """`position`: in the order in which the case asked. `own_lag`: seconds that the probe itself began late."""

    value: float
    conditions: Conditions
    position: int
    own_lag: float


class MixedConditions(ValueError):  # noqa: N818 - it says what the samples are
    """Samples under different conditions make no figure; whoever asks for one has a fault."""


def conditions_of(call: Call) -> Conditions:
    """As its own conditions say; of a run from before they did, what stands elsewhere in it."""
    said, request, last = call.conditions, call.trial.request, call.last
    arm = request.arm if isinstance(request, Ask) else None
    connection = said.get("connection") or (last.conditions.get("connection") if last is not None else None)
    return Conditions(
        connection=connection,
        client=said.get("client", UNKNOWN),
        cache=said.get("cache") or arm or UNKNOWN,
        concurrency=int(said.get("concurrency", 1)),
        route=call.trial.route,
    )


def sampled(call: Call, value: float, position: int = 0) -> Sample:
    """`position`: where the call itself does not say which of its case it was."""
    return Sample(
        value, conditions_of(call), int(call.conditions.get("position", position)), call.own_lag or 0.0
    )


def alike(calls: Iterable[Call]) -> tuple[list[Call], list[Call]]:
    """The calls under the commonest conditions, of equally common ones the first; and all others."""
    ways = [(conditions_of(call), call) for call in calls]
    common = next(iter(Counter(way for way, _ in ways).most_common(1)), (None, 0))[0]
    return [call for way, call in ways if way == common], [call for way, call in ways if way != common]


def completed(finding: Finding, calls: Iterable[Call]) -> Finding:
    """With the conditions of the calls that its figures are of, where it does not say them itself."""
    if not finding.figures:
        return finding
    of = [
        call
        for call in calls
        if not finding.evidence or any(e.id in finding.evidence for e in call.exchanges)
    ]
    ways = {conditions_of(call) for call in of if call.exchanges}
    columns = zip(Conditions._fields, zip(*ways, strict=True), strict=False)
    known = {name: seen[0] if len(set(seen)) == 1 else DIFFERS for name, seen in columns}
    return replace(finding, conditions={**known, **finding.conditions})


def figure(samples: Sequence[Sample], unit: str = "s") -> Figure:
    """The median, with the interval that covers the true one at 95 %, or as near as so few can. Raises MixedConditions."""
    if len(kinds := {sample.conditions for sample in samples}) != 1:
        raise MixedConditions(f"{len(kinds)} conditions in one figure")
    return middle([sample.value for sample in samples], unit, kinds.pop()._asdict())


def middle(values: Sequence[float], unit: str, conditions: Mapping[str, object]) -> Figure:
    """As `figure`, of values that are known to be taken alike."""
    ordered = sorted(values)
    cut = _cut(len(ordered))
    return Figure(
        median(ordered),
        unit,
        len(ordered),
        ordered[cut],
        ordered[-1 - cut],
        _spread(ordered),
        dict(conditions),
    )


def _spread(values: Sequence[float]) -> float | None:
    """Between the quartiles; of one sample nobody knows it."""
    if len(values) < 2:
        return None
    lower, _, upper = quantiles(values, n=4, method="inclusive")
    return upper - lower


def agreeing(sides: Mapping[str, Sequence[Sample]]) -> tuple[dict[str, list[Sample]], int]:
    """Of sides that are to be compared, the samples under the commonest conditions, the cache apart; and how many others
    were left out.
    """
    way = Counter(_way(sample) for samples in sides.values() for sample in samples).most_common(1)
    kept = {name: [s for s in samples if way and _way(s) == way[0][0]] for name, samples in sides.items()}
    return kept, sum(map(len, sides.values())) - sum(map(len, kept.values()))


def sooner(these: Sequence[Sample], those: Sequence[Sample]) -> float:
    """One-sided p of the exact rank-sum test that these are smaller; what is equal speaks against it."""
    n, m = len(these), len(those)
    if not n or not m:
        return 1.0
    won = sum(a.value < b.value for a in these for b in those)
    ways = _ways(n, m)
    return sum(ways[won:]) / math.comb(n + m, n)


def above(samples: Sequence[Sample], bound: float) -> float:
    """One-sided p of the sign test that their middle lies above the bound."""
    n, k = len(samples), sum(sample.value > bound for sample in samples)
    return float(sum(math.comb(n, i) for i in range(k, n + 1)) / 2**n) if n else 1.0


class Drift(NamedTuple):
    """The moment at which the control differs most before and after: `times` by the medians of both sides, of `of` samples
    those `before` it. `sure`: beyond chance; `open`: neither beyond it nor so alike that none may be said.
    """

    times: float
    before: int
    of: int
    sure: bool
    open: bool

    def __str__(self) -> str:
        return f"{self.times:.2f} times as long after the first {self.before} of {self.of}"


def drift(control: Sequence[Sample]) -> Drift | None:
    """By the rank-sum statistic of every split, the largest against that of shuffled orders; `None` of too few to split."""
    values = [sample.value for sample in sorted(control, key=lambda sample: sample.position)]
    n = len(values)
    splits = range(_PART, n - _PART + 1)
    if not splits:
        return None
    scores = {k: _score(values, k) for k in splits}
    parted = [k for k in splits if _parted(values, k)]
    at = max(parted or splits, key=lambda k: scores[k])
    before, after = median(values[:at]), median(values[at:])
    if not before:
        return None
    times = after / before
    far = not 1 / DRIFTS < times < DRIFTS
    sure, maybe = (max(scores.values()) >= _rare(n, chance) for chance in (_P_DRIFT, _P_OPEN))
    return Drift(times, at, n, far and sure, far and not sure and (maybe or bool(parted)))


def _score(values: Sequence[float], k: int) -> float:
    """Standard deviations by which the pairs won across the split are more than half of them; ties are won by nobody."""
    m = len(values) - k
    pairs = [(a, b) for a in values[:k] for b in values[k:]]
    won = max(sum(a < b for a, b in pairs), sum(b < a for a, b in pairs))
    return (won - k * m / 2) / math.sqrt(k * m * (k + m + 1) / 12)


def _parted(values: Sequence[float], k: int) -> bool:
    """No value of one side lies among those of the other, where that is rare: few samples of a side have no score."""
    early, late = values[:k], values[k:]
    return 2 / math.comb(len(values), k) <= _APART and (max(early) < min(late) or max(late) < min(early))


@cache
def _rare(n: int, chance: float) -> float:
    """The least of the largest scores of n samples in a shuffled order that is no commoner than `chance`."""
    rng, ranks, most = Random(n), list(range(n)), []  # noqa: S311 - not for secrets
    scale = {k: 1 / math.sqrt(k * (n - k) * (n + 1) / 12) for k in range(_PART, n - _PART + 1)}
    for _ in range(_SHUFFLED):
        rng.shuffle(ranks)
        # Of ranks from 0, k early ones win what their sum is above that of the k least.
        sums = list(accumulate(ranks))
        most.append(max(abs(sums[k - 1] - k * (n - 1) / 2) * each for k, each in scale.items()))
    most.sort()
    least = most[-1 - int(chance * _SHUFFLED)]
    return next((score for score in most if score > least + _EQUAL), math.inf) - _EQUAL


def _way(sample: Sample) -> Conditions:
    return sample.conditions._replace(cache=UNKNOWN)


def _cut(n: int) -> int:
    """Samples that may be left out at each end of n, and the rest still covers the median."""
    if n > _EXACTLY:
        return int((n - _BOUND * math.sqrt(n)) / 2) - 1
    below, cut = 0, -1
    while 2 * (below + math.comb(n, cut + 1)) <= (1 - _COVERED) * 2**n:
        cut += 1
        below += math.comb(n, cut)
    return max(cut, 0)


def _ways(n: int, m: int) -> list[int]:
    """For each number of won pairs, in how many orders of n and m it comes."""
    row = [[1] + [0] * (n * m)] * (m + 1)
    for _ in range(n):
        new = [row[0]]
        for j in range(1, m + 1):
            # The largest of all is one of the m, which wins nothing, or of the n, which loses to none of them.
            wins = [0] * j + row[j][: n * m + 1 - j]
            new.append([a + b for a, b in zip(new[j - 1], wins, strict=True)])
        row = new
    return row[m]
