"""Who hears that the canary has fallen silent?

Somebody else: an address that expects to be asked at each interval, and calls for help where it is not.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from probes.log import log
from probes.watch.knock import knock, welcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from probes.watch.needs import Wall


class DeadMan:
    """Asks `url` at each interval at which `unhealthy` says nothing; silence is the alarm. `fault`: of the last time."""

    def __init__(
        self,
        url: str,
        every: timedelta,
        wall: Wall,
        unhealthy: Callable[[], str | None],
        asked: Callable[[str], int | str] = knock,
    ) -> None:
        self.fault: str | None = None
        self._url, self._every, self._wall = url, every, wall
        self._unhealthy, self._asked = unhealthy, asked
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dead man", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(1.0)

    def beat(self) -> None:
        """Once."""
        if (why := self._unhealthy()) is not None:
            self._told(f"not asked, since the canary is not healthy: {why}")
            return
        self._told(welcome(self._asked(self._url)))

    def _run(self) -> None:
        while not self._over.is_set():
            self.beat()
            self._wall.wait(self._every.total_seconds(), self._over)

    def _told(self, fault: str | None) -> None:
        if fault is not None and fault != self.fault:
            log(f"dead man's address: {fault}")
        self.fault = fault
