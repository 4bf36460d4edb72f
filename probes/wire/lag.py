"""When did this process itself run late?

A thread that sleeps for a moment and looks how late it wakes: what keeps it waiting, another thread's work or a busy
machine, also keeps waiting who stamps the bytes that come in meanwhile. Ticks only while somebody watches.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TICK = 0.005
BOUND = 0.005
"""Machine seconds of lateness above which what was stamped meanwhile is not trusted."""
_KEPT = 4096

Stall = tuple[float, float]
"""From when a tick was due until it came."""


class Lag:
    """`tick`, `bound`: of another watch than that of stamps, such as for a whole run."""

    def __init__(self, tick: float = TICK, bound: float = BOUND) -> None:
        self._every, self._bound = tick, bound
        self._lock = threading.Lock()
        self._watchers = 0
        self._ticks = False
        self._stalls: deque[Stall] = deque(maxlen=_KEPT)

    @contextmanager
    def watched(self) -> Iterator[None]:
        with self._lock:
            self._watchers += 1
            if not self._ticks:
                self._ticks = True
                threading.Thread(target=self._tick, name="lag", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._watchers -= 1

    def since(self, start: float) -> list[Stall]:
        """The stalls that ended after `start`, a time of `time.monotonic`."""
        return [stall for stall in list(self._stalls) if stall[1] >= start]

    def _tick(self) -> None:
        """Until nobody watches: whoever comes in the last tick is watched for by the same thread."""
        while self._wanted():
            due = time.monotonic() + self._every
            time.sleep(self._every)
            woke = time.monotonic()
            if woke - due > self._bound:
                self._stalls.append((due, woke))

    def _wanted(self) -> bool:
        with self._lock:
            self._ticks = self._watchers > 0
            return self._ticks


LAG = Lag()
"""One for the process: all of its threads share what makes it late."""
