"""Which pauses do servers ask for, and are they still to be kept?

They stand in the memory: another process keeps to them as well, and `edgeprobe store resume` ends them.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from probes.canary import Pause
from probes.errors import UsageError
from probes.log import log
from probes.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from probes.clock import Clock
    from probes.model import Target
    from probes.watch.needs import Memory, Wall


class Paces:
    """One of each target, for all its entries, with the pause that the process before left."""

    def __init__(self, memory: Memory, clock: Clock, wall: Wall) -> None:
        self._memory, self._clock, self._wall = memory, clock, wall
        self._paces: dict[str, Pace] = {}
        self._kept: dict[str, Pause] = dict(self._told())

    def of(self, target: Target) -> Pace:
        pace = self._paces.get(target.name)
        if pace is None:
            pace = Pace(target.limits, self._clock)
            before = self._kept.get(target.name)
            if before is not None and (seconds := _left(before, self._wall.now())) > 0:
                pace.pause(seconds, before.why)
            pace.keep = partial(self._keep, target.name)
            self._paces[target.name] = pace
        return pace

    def held(self, target: Target) -> str | None:
        """Until when nothing of it may be asked, and why; a pause that somebody ended is over."""
        pace = self.of(target)
        with pace.lock:
            if pace.paused is None:
                return None
            kept, told = self._kept[target.name], self._told().get(target.name)
            if told is not None and told.until < kept.until:
                pace.resume()
                return None
            return f"paused until {kept.until:%Y-%m-%d %H:%M:%S} UTC: {kept.why}"

    def _keep(self, name: str, seconds: float, why: str) -> None:
        now = self._wall.now()
        self._kept[name] = pause = Pause(name, now, now + timedelta(seconds=seconds), why)
        self._memory.pause(pause)

    def _told(self) -> Mapping[str, Pause]:
        """A memory that can't be read ends no pause."""
        try:
            return {pause.target: pause for pause in self._memory.pauses()}
        except UsageError as fault:
            log(str(fault))
            return {}


def _left(pause: Pause, now: datetime) -> float:
    """A clock that was set back must not make it longer than it was."""
    return (pause.until - max(now, pause.asked)).total_seconds()
