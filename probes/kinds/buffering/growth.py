"""Does the first token wait for the last?

Where a stream comes all at once, a longer answer tells a buffer from a fast model: behind a buffer its first token comes
later by all the time that the rest takes to make, while the tokens seem to follow each other ever faster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.kinds.buffering.trials import Looked
from probes.twins import unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, NotSent, Trial

TIMES = 3
MOST_PAIRS = 3
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
        """`None` where neither grew by anything that can be told."""
        if not (self.short.usable and self.long.usable) or not self._grew:
            return None
        fine = _PLAIN * self.long.resolution
        if self.wait >= max(fine, _OF_ALL * self.short.arrivals.waited, _PLAIN * self.span):
            return True
        return False if self.span >= fine and self.span > self.wait else None

    @property
    def _grew(self) -> bool:
        return self.long.arrivals.tokens >= 1.5 * self.short.arrivals.tokens > 0


@dataclass(frozen=True, slots=True)
class Growth:
    pairs: tuple[Pair, ...]
    unsent: NotSent | None = None

    @property
    def held(self) -> bool | None:
        """As every pair says."""
        said = {pair.held for pair in self.pairs}
        return said.pop() if len(said) == 1 else None


def growth(short: Trial, long: Trial) -> Generator[Sequence[Trial], list[Call], Growth]:
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
