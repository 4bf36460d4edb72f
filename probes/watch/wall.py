"""What time of day is it for the canary?

Unlike `Clock`, whose seconds only measure, this time may be set while one looks: it is what people and cron mean.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Event


class Wall:
    """`scale` is machine seconds per second, as of `Clock`: below 1, in the lab, the days run faster from now on."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._began = self._origin = datetime.now(UTC)

    def go_on(self, last: datetime | None) -> None:
        """After the last moment that an earlier process knew: of days that run faster none comes twice."""
        if self.scale != 1.0 and last is not None:
            self._origin = max(self._origin, last + timedelta(microseconds=1))

    def now(self) -> datetime:
        """Aware, in UTC."""
        now = datetime.now(UTC)
        return now if self.scale == 1.0 else self._origin + (now - self._began) / self.scale

    def shown(self, at: datetime) -> datetime | None:
        """What the machine's clock shows then: a person who tries it in the lab's time looks at that one. What it showed
        before days ran faster here is not known: another process may have run them at another pace.
        """
        if self.scale == 1.0:
            return at
        return None if at < self._origin else self._began + (at - self._origin) * self.scale

    def wait(self, seconds: float, wake: Event) -> bool:
        """Seconds of this time, or until woken; whether it was."""
        return wake.wait(max(seconds, 0.0) * self.scale)
