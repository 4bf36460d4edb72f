"""What time is it, in the seconds the operator thinks in?

`Clock(scale)` lets the lab run 125 s of edge timer in 2.5 s: at scale 0.02 everything measured is divided by the
scale and everything waited for is multiplied by it. Nothing above the runner knows of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """`scale` is machine seconds per real-world second: 1.0 outside the lab, 0.02 where time runs 50 times faster."""

    scale: float = 1.0

    def now(self) -> float:
        """Monotonic real-world seconds; only differences mean anything."""
        return time.monotonic() / self.scale

    def machine(self, seconds: float) -> float:
        """Seconds this machine has to wait for `seconds` of real-world time."""
        return seconds * self.scale

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds * self.scale)
