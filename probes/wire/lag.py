"""When did this process itself run late?

A thread that sleeps for a moment and looks how late it wakes: what keeps it waiting, another thread's work or a busy
machine, also keeps waiting who stamps the bytes that come in meanwhile. Ticks only while somebody watches. A client that is
busy with what it has read does not read, which no tick shows.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TICK = 0.005
BOUND = 0.005
"""Machine seconds of lateness above which what was stamped meanwhile is not trusted."""
_KEPT = 4096
_MOST = 64
"""Stalls of one exchange, the longest where there are more."""

_BUSY = 0.1
"""Seconds, by the scaled clock no less than by the machine's, from which on a client that does not read is late: what it
takes for each event is its own pace, which is part of what a customer sees.
"""
_JUST_AFTER = 1e-5
"""Seconds: what was read then came in time."""

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


class Unread:
    """The longest times between two reads of a connection, in which nobody looked at it."""

    def __init__(self) -> None:
        self._longest: list[tuple[float, Stall]] = []
        self._since: float | None = None

    @property
    def stalls(self) -> list[Stall]:
        return [stall for _, stall in self._longest]

    def asked(self, now: float) -> None:
        """A read begins."""
        if (
            self._since is None or now - self._since <= BOUND
        ):  # by the scaled clock no less than by the machine's
            return
        found = (now - self._since, (self._since + _JUST_AFTER, now))
        if len(self._longest) < _MOST:
            heapq.heappush(self._longest, found)
        else:
            heapq.heappushpop(self._longest, found)

    def came(self, now: float) -> None:
        self._since = now


def longest(stalls: Iterable[Stall], bound: float, end: float) -> list[list[float]]:
    """Those above `bound` between 0 and `end`, none of them in another's time."""
    apart: list[Stall] = []
    for since, until in sorted(stall for stall in stalls if stall[1] >= 0 and stall[0] <= end):
        begin = max(since, apart[-1][1]) if apart else since
        if until - begin > bound:
            apart.append((begin, until))
    kept = sorted(sorted(apart, key=lambda stall: stall[0] - stall[1])[:_MOST])
    return [[round(since, 6), round(until, 6)] for since, until in kept]


LAG = Lag()
"""One for the process: all of its threads share what makes it late."""
