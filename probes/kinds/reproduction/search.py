"""Which smallest part of a failing request makes it fail?

Pure: a generator yields questions and is sent what came of them (`evidence`). A set of parts is asked on top of a request
that passes. Failures alone are proof, so a pass that was luck costs requests and no wrong answer: what is found is shown
to fail by itself, and each part of it to be needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from probes.kinds.reproduction.evidence import LIKELY, Halted

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from probes.kinds.reproduction.evidence import Asking, Evidence, Tally

_CAUSES = 3
"""Causes, each of which suffices, that are looked for."""

Parts = frozenset[str]


@dataclass(frozen=True)
class Cause:
    """`parts` fail on top of what passes; without them it passes, or another cause is there, too."""

    parts: Parts
    seen: Tally


@dataclass
class Result:
    """`causes` that each suffice. `suspects`: what was left when the asking ended early (`halted` says why).
    `without`: what came of the failing request without all of them.
    """

    causes: list[Cause] = field(default_factory=list)
    suspects: tuple[str, ...] = ()
    halted: str | None = None
    without: Tally | None = None

    @property
    def whole(self) -> bool:
        """The causes are all there are: without them the request passes, as surely as was asked for."""
        return self.halted is None and bool(self.causes) and self.without is not None


def causes(evidence: Evidence, parts: Sequence[str], background: Parts = frozenset()) -> Asking[Result]:
    """All of them, one after the other: what fails without those that were found goes on.

    `background` passes by itself and stands under every set; with all `parts` it is known to fail.
    """
    result, pool = Result(), list(parts)
    try:
        while len(result.causes) < _CAUSES:
            result.suspects = tuple(pool)
            knew = evidence.intermittent
            found = yield from _minimal(evidence, pool, background, result)
            seen = yield from evidence.shown(background | found)
            if evidence.intermittent and not knew:
                # It was not yet known how many passes of a part mean that it is needed.
                found = yield from _needed(evidence, found, background)
                seen = yield from evidence.shown(background | found)
            result.causes.append(Cause(found, seen))
            pool = [part for part in pool if part not in found]
            result.suspects = tuple(pool)
            if len(result.causes) > 1:
                yield from evidence.unchanged(background, fails=False)
            without = background | frozenset(pool)
            if not pool or (yield from evidence.surely_passes(without)):
                result.suspects = ()
                result.without = evidence.of(without)
                return result
    except Halted as halted:
        result.halted = halted.why
        return result
    result.halted = "budget"
    return result


def _minimal(evidence: Evidence, parts: Sequence[str], background: Parts, result: Result) -> Asking[Parts]:
    """A smallest set that fails: each round finds the part without which the shortest failing prefix passes."""
    found: Parts = frozenset()
    pool = list(parts)
    while pool and not (found and (yield from evidence.fails(background | found))):
        low, high = 0, len(pool)
        while high - low > 1:
            middle = (low + high) // 2
            if (yield from evidence.fails(background | found | set(pool[:middle]))):
                high = middle
            else:
                low = middle
        if high == len(pool):
            yield from evidence.unchanged(background | found | set(pool), fails=True)
        found |= {pool[high - 1]}
        pool = pool[: high - 1]
        result.suspects = (*pool, *found)
    return (yield from _needed(evidence, found, background))


def _needed(evidence: Evidence, found: Parts, background: Parts) -> Asking[Parts]:
    """Without the parts of a failing set that it fails without."""
    for part in sorted(found):
        if len(found) > 1 and not (yield from evidence.surely_passes(background | (found - {part}))):
            found -= {part}
    return found


def threshold(
    evidence: Evidence, question: Callable[[int], Hashable], passes: Sequence[int], fails: int
) -> Asking[tuple[int, int]]:
    """The largest value that passes and the smallest that fails, next to each other. `passes`: the first is known to, those
    that follow passed once. What is raised where it ends early says how far it came.

    Asked is where the limit lies as likely below as above: a failure ends the matter, and a pass may be luck, which is
    found out as soon as it is the likelier cause of the failures above it.
    """
    limit = _Limit(passes[0], fails, list(passes[1:]))
    try:
        while limit.high - limit.low > 1:
            value = limit.quantile(evidence.luck, 0.5)
            if value == limit.high - 1 and value in limit.passed:
                if (yield from evidence.surely_passes(question(value))):
                    return value, limit.high
            elif not (yield from evidence.fails_now(question(value))):
                limit.passed.append(value)
                continue
            limit.high = value
            evidence.implied.update(question(passed) for passed in limit.passed if passed >= value)
    except Halted as halted:
        halted.reached = limit.quantile(evidence.luck, LIKELY) - 1, limit.high
        raise
    return limit.low, limit.high


@dataclass
class _Limit:
    """What is known of the smallest value that fails: it is above `low` and at most `high`. `passed`: values, one for each
    time.
    """

    low: int
    high: int
    passed: list[int]

    def quantile(self, chance: float, share: float) -> int:
        """The value that the limit is at most with that probability. `chance`: of one pass that was luck."""
        edges = [self.low, *sorted(value for value in set(self.passed) if value < self.high), self.high]
        pieces = [
            (low, high, chance ** sum(low < value < self.high and value >= high for value in self.passed))
            for low, high in pairwise(edges)
        ]
        left = share * sum((high - low) * weight for low, high, weight in pieces)
        for low, high, weight in pieces:
            if left <= (high - low) * weight:
                return min(max(low + round(left / weight), self.low + 1), self.high - 1)
            left -= (high - low) * weight
        return self.high - 1


def substring(
    evidence: Evidence, question: Callable[[int, int], Hashable], length: int
) -> Asking[tuple[int, int]]:
    """Start and end of the smallest failing piece of a text of which the whole fails: first its end, then its start, which
    is mostly near.
    """
    _, end = yield from threshold(evidence, lambda stop: question(0, stop), [0], length)

    def last(many: int) -> Hashable:
        return question(end - many, end)

    passes, many = [0], 1
    while many < end and not (yield from evidence.fails_now(last(many))):
        passes, many = [*passes, many], 2 * many
    _, kept = yield from threshold(evidence, last, passes, min(many, end))
    return end - kept, end
