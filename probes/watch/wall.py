"""What time of day is it for the canary?

Unlike `Clock`, whose seconds only measure, this time may be set while one looks: it is what people and cron mean.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Event


class Wall:
    """`scale` is machine seconds per second, as of `Clock`: below 1, in the lab, the days run faster from now on."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._began = datetime.now(UTC)

    def now(self) -> datetime:
        """Aware, in UTC."""
        now = datetime.now(UTC)
        return now if self.scale == 1.0 else self._began + (now - self._began) / self.scale

    def shown(self, at: datetime) -> datetime:
        """What the machine's clock shows then: a person who tries it in the lab's time looks at that one."""
        return at if at <= self._began else self._began + (at - self._began) * self.scale

    def wait(self, seconds: float, wake: Event) -> bool:
        """Seconds of this time, or until woken; whether it was."""
        return wake.wait(max(seconds, 0.0) * self.scale)
