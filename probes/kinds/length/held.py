"""What was held open, by what means and for how long?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.kinds.length.means import Means
    from probes.kinds.length.pace import Pace
    from probes.kinds.length.pair import Pair
    from probes.kinds.length.side import Side

_LATE = 1.5
"""Times the streamed answer of the same length."""


@dataclass(frozen=True, slots=True)
class Held:
    """`goal`: seconds that were to be held. `remark`: why it was not tried by another means."""

    pairs: tuple[Pair, ...]
    pace: Pace
    means: Means
    goal: float
    remark: str | None = None

    @property
    def seconds(self) -> float:
        """For which each plain side is known not to have been ended; 0 where one failed."""
        return min((pair.plain.lived or 0.0) if _lasted(pair.plain) else 0.0 for pair in self.pairs)

    @property
    def whole(self) -> bool:
        """Nothing was ended on either side, not even by us."""
        return all(side.good for pair in self.pairs for side in pair.sides)

    @property
    def uncut(self) -> bool:
        """Nothing was ended on either side by another than us, in the time of an answer that was on its way."""
        return all(_lasted(pair.stream) and _lasted(pair.plain) and _on_its_way(pair) for pair in self.pairs)


def _lasted(side: Side) -> bool:
    error = side.sent.error
    return side.good or (error is not None and error.kind == "deadline")


def _on_its_way(pair: Pair) -> bool:
    """An answer that never comes, though the streamed one came long ago, is lost, and not just uncut."""
    if pair.plain.good:
        return True
    lived, streamed = pair.plain.lived or 0.0, pair.stream.answered or 0.0
    return pair.stream.ttft is not None and (not pair.stream.good or lived < _LATE * streamed)
