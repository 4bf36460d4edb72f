"""Who carries out what is due?

Short entries share a few lanes; each long one has a thread of its own while it runs, so that an answer that is held for
minutes delays nobody. Of one entry there is never more than one turn at once, waiting or under way.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from probes.stop import Stop
    from probes.watch.config import Entry

SHORT = 16
"""At the most at once; a service that hangs holds a lane for a suite's own bound, 45 s of `smoke`."""
_Job = tuple["Entry", "datetime"]


class Take(Protocol):
    """Carries out one turn and says what came of it, wherever that is told."""

    def __call__(self, entry: Entry, due: datetime, stop: Stop) -> object: ...


class Lanes:
    """`broke` hears of a turn that ended by a bug, which must not end the lane."""

    def __init__(
        self, take: Take, stop: Stop, broke: Callable[[Entry, datetime, Exception], None], short: int = SHORT
    ) -> None:
        self._take, self._stop, self._broke, self._short = take, stop, broke, short
        self._waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._state = threading.Condition()
        self._busy: dict[str, _Job] = {}
        self._begun: set[str] = set()
        self._workers = 0

    def offer(self, entry: Entry, due: datetime, *, long: bool) -> datetime | None:
        """`None` where it is taken, else when the turn was due that has not ended."""
        with self._state:
            if entry.name in self._busy:
                return self._busy[entry.name][1]
            self._busy[entry.name] = entry, due
            more = not long and self._workers < min(self._short, len(self._busy))
            self._workers += more
        if long:
            threading.Thread(target=self._one, args=(entry, due), name="long", daemon=True).start()
        else:
            self._waiting.put((entry, due))
        if more:
            threading.Thread(target=self._work, name="lane", daemon=True).start()
        return None

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            self._one(*job)

    def _one(self, entry: Entry, due: datetime) -> None:
        with self._state:
            if self._busy.get(entry.name) != (entry, due):
                return  # it was given up while it waited
            self._begun.add(entry.name)
        try:
            self._take(entry, due, self._stop)
        except Exception as bug:  # noqa: BLE001 - handed on: the canary tells of it and goes on with the others
            self._broke(entry, due, bug)
        finally:
            with self._state:
                del self._busy[entry.name]
                self._begun.discard(entry.name)
                self._state.notify_all()

    def give_up_waiting(self) -> list[_Job]:
        """Those that have not begun; they will not."""
        with self._state:
            left = [job for name, job in self._busy.items() if name not in self._begun]
            for entry, _ in left:
                del self._busy[entry.name]
            self._state.notify_all()
        return left

    def idle(self, seconds: float) -> bool:
        """Waits machine seconds for every turn to end; whether they did."""
        with self._state:
            return self._state.wait_for(lambda: not self._busy, seconds)

    def close(self) -> None:
        """Lets the lanes end; turns under way are not waited for."""
        for _ in range(self._workers):
            self._waiting.put(None)

    @property
    def busy(self) -> list[str]:
        """Names of entries that wait or are under way."""
        with self._state:
            return sorted(self._busy)
