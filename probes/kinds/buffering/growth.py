"""Does the first token wait for the last?

Where a stream comes all at once, answers of two lengths tell a buffer from a fast model: behind a buffer the longer one's
first token comes later by all the time that the rest takes to make, while the tokens seem to follow each other ever faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.arrivals import MOMENT
from probes.kinds.buffering.trials import Looked, longer, shorter
from probes.model import Ask
from probes.samples import counted
from probes.streams import CAPPED
from probes.twins import unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, NotSent, Trial

TIMES = 3
MOST_PAIRS = 3
_ROOM = 1.5
"""Times what is foreseen, that the deadline has to be."""
_GREW = 1.5
_PLAIN = 5.0
"""Times the resolution, and times what the longer answer adds to the time between its first token and its last."""
_OF_ALL = 0.2
"""Of the shorter answer's wait, that a longer one's has to be above it: less is a server's own unevenness."""


@dataclass(frozen=True, slots=True)
class Pair:
    short: Looked
    long: Looked

    @property
    def wait(self) -> float:
        """Seconds by which the longer answer's first token came later."""
        return self.long.arrivals.waited - self.short.arrivals.waited

    @property
    def span(self) -> float:
        """Seconds by which it took longer from there to its last byte."""
        return self.long.arrivals.span - self.short.arrivals.span

    @property
    def held(self) -> bool | None:
        """`None` where it can't be told. A longer answer whose first token comes as soon was not held for longer than that."""
        if not self.grew:
            return None
        fine = _PLAIN * self.long.resolution
        if self.wait >= max(fine, _OF_ALL * self.short.arrivals.waited, _PLAIN * self.span):
            return True
        if self.span >= fine and self.span > self.wait:
            return False
        return False if self.wait <= MOMENT and fine <= MOMENT else None

    @property
    def grew(self) -> bool:
        """One is plainly longer than the other, and both are whole."""
        if not (self.short.usable and self.long.usable):
            return False
        return self.long.arrivals.tokens >= _GREW * self.short.arrivals.tokens > 0


@dataclass(frozen=True, slots=True)
class Growth:
    pairs: tuple[Pair, ...]
    unsent: NotSent | None = None

    @property
    def held(self) -> bool | None:
        """As every pair says."""
        said = {pair.held for pair in self.pairs}
        return said.pop() if len(said) == 1 else None


def growth(base: Trial, looked: Looked) -> Generator[Sequence[Trial], list[Call], Growth]:
    """Beside a longer answer, and a shorter one where that does not tell: a model ends by itself, an API refuses the cap. The
    shorter one is first where a longer one may take more than the deadline.
    """
    ways = [(base, longer(base, TIMES))] if _goes_on(base, looked) else []
    less = _shorter(base, looked)
    if less is not None:
        in_time = _ROOM * TIMES * looked.arrivals.ended <= (base.deadline or math.inf)
        ways.insert(len(ways) if in_time else 0, (less, base))
    grown = Growth(())
    for short, long in ways:
        grown = yield from _pairs(short, long)
        if grown.unsent is not None or grown.held is not None:
            break
    return grown


def _shorter(base: Trial, looked: Looked) -> Trial | None:
    """`None` where it would be none."""
    last = looked.call.last
    made = (counted(last) if last is not None else None) or looked.arrivals.tokens
    cap = made // TIMES
    return shorter(base, cap) if cap > 0 else None


def _goes_on(base: Trial, looked: Looked) -> bool:
    """A model that reached its cap would have said more."""
    last, ask = looked.call.last, base.request
    assert isinstance(ask, Ask)
    made = counted(last) if last is not None else None
    return last is None or last.facts.get("finish_reason") in CAPPED or made is None or made >= ask.cap


def _pairs(short: Trial, long: Trial) -> Generator[Sequence[Trial], list[Call], Growth]:
    """Both at once, since the load of the moment makes answers late, too; up to three times while they agree."""
    pairs: list[Pair] = []
    for _ in range(MOST_PAIRS):
        calls = yield [replace(trial, pair=short.label) for trial in (short, long)]
        if (why := unsent(calls)) is not None:
            return Growth(tuple(pairs), why)
        pairs.append(Pair(Looked(calls[0]), Looked(calls[1])))
        if Growth(tuple(pairs)).held is not True:
            break
    return Growth(tuple(pairs))
