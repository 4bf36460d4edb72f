"""What was held open, by what means and for how long?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.kinds.length.means import Means
    from probes.kinds.length.pace import Pace
    from probes.kinds.length.pair import Pair


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
        """For which each plain side was waited for and answered; 0 where one was not."""
        return min((pair.plain.answered or 0.0) if pair.plain.good else 0.0 for pair in self.pairs)

    @property
    def whole(self) -> bool:
        """Nothing was ended on either side."""
        return all(side.good for pair in self.pairs for side in pair.sides)
