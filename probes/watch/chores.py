"""What has to be done beside the turns, each so often?

Each has a thread of its own: the deliverer of an alert that hangs must not hold back the schedule.
"""

from __future__ import annotations

import threading
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.log import log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta

    from probes.watch.wall import Wall

_GRACE = 2.0
"""Machine seconds that a chore under way is waited for at the end."""


@dataclass(frozen=True, slots=True)
class Chore:
    """At once, then `every` after it ended; told the time of day."""

    name: str
    every: timedelta
    do: Callable[[datetime], object]


class Chores:
    """`fault`: of a chore that broke, until it goes well again."""

    def __init__(self, chores: Sequence[Chore], wall: Wall) -> None:
        self._wall = wall
        self._over = threading.Event()
        self._faults: dict[str, str] = {}
        self._threads = [
            threading.Thread(target=self._repeat, args=(chore,), name=chore.name, daemon=True)
            for chore in chores
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_GRACE)

    @property
    def fault(self) -> str | None:
        return next(iter(self._faults.copy().values()), None)

    def _repeat(self, chore: Chore) -> None:
        while not self._over.is_set():
            self._once(chore)
            self._wall.wait(chore.every.total_seconds(), self._over)

    def _once(self, chore: Chore) -> None:
        try:
            chore.do(self._wall.now())
        except Exception as bug:  # noqa: BLE001 - handed on: to /healthz, so that whoever runs us hears of it
            said = f"{chore.name}: {type(bug).__name__}: {bug}"
            if self._faults.get(chore.name) != said:
                log(traceback.format_exc().rstrip())
            self._faults[chore.name] = said
        else:
            self._faults.pop(chore.name, None)
