"""What became of one long pair: the same request at the same time, streamed and not?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.kinds.length.side import REFUSED_WITHIN, Ending, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call


_OWN = 0.01
"""Of the time: each side has a connection, and perhaps an edge, of its own."""


@dataclass(frozen=True, slots=True)
class Pair:
    stream: Side
    plain: Side

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Pair:
        return cls(*map(Side, calls))

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.stream, self.plain

    @property
    def refused(self) -> bool:
        """One side did not get past the door, so this client says nothing of long answers."""
        return any(side.turned_away for side in self.sides)

    @property
    def cut(self) -> Ending | None:
        """How the plain side was ended in the stream's life."""
        ending, lived = self.plain.ending, self.stream.lived
        if ending is None or lived is None:
            return None
        return ending if lived > ending.at + (0.0 if self.stream.good else self._apart(ending)) else None

    @property
    def stream_alone(self) -> Ending | None:
        """How the streamed side was ended, where that was not at the plain one's age."""
        return self.stream.ending if self.together is None else None

    @property
    def together(self) -> Ending | None:
        """How the streamed side was ended, where both were at the same age within the clocks' error."""
        plain, stream = self.plain.ending, self.stream.ending
        if plain is None or stream is None or min(plain.at, stream.at) < REFUSED_WITHIN:
            return None
        return stream if abs(plain.at - stream.at) <= self._apart(plain) else None

    def _apart(self, ending: Ending) -> float:
        """Seconds by which two ends of one clock may differ as they are seen from here."""
        return self.plain.uncertainty + self.stream.uncertainty + _OWN * ending.at


def uncut_for(pairs: Sequence[Pair]) -> float | None:
    """Seconds below which nothing was cut that is not streamed; `None` where one of those was not answered."""
    plains = [pair.plain for pair in pairs]
    return min(side.answered or 0.0 for side in plains) if all(side.good for side in plains) else None


def uncut_in_words(held: float | None) -> tuple[tuple[str, str], ...]:
    return () if held is None else (("held", f"not streamed: no cut below {held:.1f} s; not tested beyond"),)


def evidence(pairs: Sequence[Pair]) -> tuple[str, ...]:
    return tuple(side.last.id for pair in pairs for side in pair.sides if side.last is not None)
