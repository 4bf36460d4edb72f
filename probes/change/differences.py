"""Which traits of the edge changed between two sides, and how sure is that?

Only answers to the same question count: what one side alone asked says nothing of a change. A trait that every answer
has alike has changed where no value is left of before, with three answers on each side or in every answer of two runs; of
one that varies within a side only what chance does not bring (p ≤ 0.001) counts. Data centres are never a change.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from probes.change.clocks import moved
from probes.change.traits import ANSWERS, COLO, CUTOFF, DELIVERY, HEADER
from probes.comparison import Seen, Trait
from probes.model import Confidence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

FEWEST = 3
_RUNS = 2
_P, _P_RUNS = 0.001, 0.05
_MOST = 8
"""Values, beyond which a trait varies by itself, as ids do."""
_SETTLED = 2
"""Answers for each value, on the average, below which it is no trait of a configuration."""
_VARIES = "it varies from answer to answer"
_NEVER = frozenset({ANSWERS, COLO})
_CONCLUDED = frozenset({CUTOFF, DELIVERY})
"""Each came of several answers already: one a side is enough."""


class Outcome(StrEnum):
    CHANGED = "changed"
    SAME = "same"
    UNTOLD = "not compared"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one trait; `before` and `after` hold the answers that were compared, and no others.

    `why`: in words, how sure a change is, or why nothing was compared.
    """

    before: Trait
    after: Trait
    outcome: Outcome
    why: str = ""
    confidence: Confidence | None = None

    @property
    def of(self) -> str:
        return self.after.of

    @property
    def where(self) -> str:
        return self.after.where

    @property
    def route(self) -> str:
        return self.after.route

    @property
    def between(self) -> tuple[datetime, datetime] | None:
        """The end of the last run that showed it as before, and the start of the first that did not; `None` where they
        overlap.
        """
        since = max(seen.ended for seen in self.before.seen)
        until = min(
            seen.began for seen in self.after.seen if seen.value not in self.before.values or self._gone
        )
        return (since, until) if since <= until else None

    @property
    def _gone(self) -> bool:
        """Nothing is new; something is missing."""
        return set(self.after.values) <= set(self.before.values)


def differences(before: Sequence[Trait], after: Sequence[Trait]) -> tuple[Change, ...]:
    """Those traits that changed."""
    return tuple(change for change in compared(before, after) if change.outcome is Outcome.CHANGED)


def compared(before: Sequence[Trait], after: Sequence[Trait]) -> tuple[Change, ...]:
    """Every trait of either side."""
    sides = _by_key(before), _by_key(after)
    keys = sorted(sides[0].keys() | sides[1].keys())
    return tuple(
        _compared(*_matched(key, *sides)) for key in keys if key[0] not in _NEVER and not _once(key, *sides)
    )


def _once(key: _Key, *sides: dict[_Key, Trait]) -> bool:
    """A header of a single answer: a server can make up as many as it likes."""
    return key[0].startswith(HEADER) and sum(side[key].n for side in sides if key in side) <= 1


_Key = tuple[str, str, str]


def _by_key(traits: Sequence[Trait]) -> dict[_Key, Trait]:
    return {(trait.of, trait.where, trait.route): trait for trait in traits}


def _matched(key: _Key, *sides: dict[_Key, Trait]) -> tuple[Trait, Trait]:
    """What both sides asked; an answer without a header is one of the header's, too."""
    full = [[*_there(key, side), *_absent(key, side)] for side in sides]
    common = {seen.asked for seen in full[0]} & {seen.asked for seen in full[1]}
    one, other = (Trait(*key, tuple(seen for seen in each if seen.asked in common)) for each in full)
    return one, other


def _there(key: _Key, side: dict[_Key, Trait]) -> Sequence[Seen]:
    return side[key].seen if key in side else ()


def _absent(key: _Key, side: dict[_Key, Trait]) -> Iterator[Seen]:
    if not key[0].startswith(HEADER):
        return
    having: Counter[tuple[str, str]] = Counter()
    for seen in _there(key, side):
        having[seen.asked, seen.run] += seen.n
    for answers in _there((ANSWERS, *key[1:]), side):
        if (without := answers.n - having[answers.asked, answers.run]) > 0:
            # Without `replace`, which takes 20 times as long.
            yield Seen(
                "",
                without,
                answers.asked,
                answers.run,
                answers.began,
                answers.ended,
                evidence=answers.evidence,
            )


def _compared(before: Trait, after: Trait) -> Change:
    said = _too_few(before, after)
    if said is not None:
        return Change(before, after, Outcome.UNTOLD, said)
    if before.of == CUTOFF:
        return _by_clock(before, after)
    old, new = _counts(before), _counts(after)
    if max(len(old), len(new)) > _MOST:
        return Change(before, after, Outcome.UNTOLD, _VARIES)
    if old.keys() & new.keys():
        return _overlapping(before, after)
    if not (_settled(old) and _settled(new)):
        return Change(before, after, Outcome.UNTOLD, _VARIES)
    return Change(before, after, Outcome.CHANGED, _in_every(before, after), _confidence(before, after))


def _overlapping(before: Trait, after: Trait) -> Change:
    (p, k), side = min((_alone(after, before), "after"), (_alone(before, after), "before"))
    if p > _P:
        return Change(before, after, Outcome.SAME)
    why = f"{k} answers {side} have what none has on the other side; by chance p = {p:.1g}"
    return Change(before, after, Outcome.CHANGED, why, Confidence.LOW)


def _alone(one: Trait, other: Trait) -> tuple[float, int]:
    """Answers of one side with what the other never showed, if that is of few kinds, and how likely that comes by chance."""
    counts = Counter({value: n for value, n in _counts(one).items() if value not in other.values})
    if not counts or not _settled(counts):
        return 1.0, 0
    runs, shared = _runs_with(one, counts), _runs_with(one, _counts(other))
    if not runs & shared:  # a run met one machine, so runs are what chance deals
        by_runs = _chance(len(runs), len(runs | shared), len(_runs(other)))
        if by_runs > _P_RUNS:
            return 1.0, 0
    return _chance(counts.total(), one.n, other.n), counts.total()


def _by_clock(before: Trait, after: Trait) -> Change:
    changed = moved(before.values, after.values)
    if changed is None:
        return Change(before, after, Outcome.UNTOLD, "not held for as long on both sides")
    if not changed:
        return Change(before, after, Outcome.SAME)
    return Change(before, after, Outcome.CHANGED, _in_every(before, after), _confidence(before, after))


def _too_few(before: Trait, after: Trait) -> str | None:
    if not before.seen or not after.seen:
        return "not asked for on both sides"
    if before.of in _CONCLUDED:
        return None
    few = [side for side in (before, after) if side.n < FEWEST and len(_runs(side)) < _RUNS]
    return f"too few answers: {before.n} before, {after.n} after" if few else None


def _counts(trait: Trait) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seen in trait.seen:
        counts[seen.value] += seen.n
    return counts


def _settled(counts: Counter[str]) -> bool:
    return len(counts) == 1 or sum(counts.values()) >= _SETTLED * len(counts)


def _chance(k: int, n: int, others: int) -> float:
    """That all of `k` fall among the `n` of one side, were both alike."""
    return math.comb(n, k) / math.comb(n + others, k)


def _runs_with(trait: Trait, values: Collection[str]) -> set[str]:
    return {seen.run for seen in trait.seen if seen.value in values}


def _runs(trait: Trait) -> set[str]:
    return {seen.run for seen in trait.seen}


def _confidence(before: Trait, after: Trait) -> Confidence:
    """A few runs may have met one machine of several: three of each side come so by chance one time in twenty."""
    several = min(len(_runs(before)), len(_runs(after))) >= FEWEST
    return Confidence.HIGH if several else Confidence.MEDIUM


def _in_every(before: Trait, after: Trait) -> str:
    return f"{_extent(before)} before, {_extent(after)} after"


def _extent(trait: Trait) -> str:
    answers, runs = trait.n, len(_runs(trait))
    every = "the answer" if answers == 1 else f"all {answers} answers"
    if trait.of in _CONCLUDED:
        every = "one measurement" if answers == 1 else f"all {answers} measurements"
    return f"{every} of {runs} run{'s' if runs > 1 else ''}"
