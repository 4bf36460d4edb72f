"""Which entries are due now?

`schedule` keeps the list, its order and what is due; the times themselves come from `times`, since a canary needs time
zones, a spread and a clock that may be set, which `schedule` reads once and as local time
(https://github.com/dbader/schedule, `Job._schedule_next_run`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import schedule

from probes.watch.times import Timetable, interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from probes.watch.config import Entry

_INSTANT = timedelta(microseconds=1)
LEAST_GRACE, MOST_GRACE = timedelta(seconds=5), timedelta(seconds=60)
"""So much later than its time an entry is still taken: a twentieth of its interval, within these and the interval. More,
and all that a clock jumped over would begin in one moment.
"""


@dataclass(frozen=True, slots=True)
class Due:
    """`late`: this time passed unseen, and with it all up to now; that is told once and not made up for."""

    entry: Entry
    due: datetime
    late: bool = False


class Appointment(schedule.Job):
    """The next time of one entry. `taken`: the last that was said to be due."""

    def __init__(self, entry: Entry, agenda: Agenda) -> None:
        super().__init__(1, agenda)
        self.entry = entry
        self.times = Timetable(entry)
        self.between = interval(entry)
        self.taken: datetime | None = None
        self._agenda = agenda

    @property
    def should_run(self) -> bool:
        return self.next_run is not None and self.next_run <= self._agenda.now

    def run(self) -> None:
        """Says what is due, and that something was; sets its next time."""
        now, due = self._agenda.now, self.next_run
        assert due is not None
        from_then = max(due, now - self._grace())
        in_time = list(self.times.between(from_then - _INSTANT, now))
        self.taken = in_time[-1] if in_time else due
        if due != self.taken or not in_time:
            self._agenda.say(Due(self.entry, due, late=True))
        if in_time:
            self._agenda.say(Due(self.entry, self.taken))
        self.next_run = self.times.after(now)

    def _grace(self) -> timedelta:
        most = max(LEAST_GRACE / self._agenda.scale, min(self.between / 20, MOST_GRACE))
        return min(most, self.between)

    def again(self) -> None:
        """After the clock was set back: its next time from now; not one that it just had, so that nothing runs twice,
        unless to wait for the one after it would be a silence.
        """
        now, had = self._agenda.now, self.taken
        just_had = had is not None and now < had <= now + self.between / 2
        self.next_run = self.times.after(had if had is not None and just_had else now)


class Agenda(schedule.Scheduler):
    """The entries by their next time.

    `scale`: machine seconds per second; what a machine is late by in the lab's time is more. `last`: when an entry had its last turn before this process, where it had one: what it missed since is late.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        now: datetime,
        *,
        scale: float = 1.0,
        last: Callable[[str], datetime | None] = lambda _: None,
    ) -> None:
        super().__init__()
        self.now = now
        self.scale = scale
        self._said: list[Due] = []
        self.take_over(entries)
        for job in self.appointments:
            job.taken = last(job.entry.name)
            job.next_run = job.times.after(min(job.taken or now, now))

    @property
    def appointments(self) -> list[Appointment]:
        return [job for job in self.jobs if isinstance(job, Appointment)]

    def take_over(self, entries: Iterable[Entry]) -> None:
        """Those instead of the ones before; one that is the same keeps its next time, another begins now."""
        before = {job.entry.name: job for job in self.appointments}
        self.jobs.clear()
        for entry in entries:
            job = before.get(entry.name)
            if job is None or job.entry != entry:
                job = Appointment(entry, self)
                job.next_run = job.times.after(self.now)
            self.jobs.append(job)

    def due(self, now: datetime) -> list[Due]:
        """What became due since it was asked before, by time."""
        set_back, self.now = now < self.now, now
        if set_back:
            for job in self.appointments:
                job.again()
        self._said = []
        self.run_pending()
        return self._said

    def say(self, due: Due) -> None:
        self._said.append(due)

    def until_next(self, now: datetime) -> float | None:
        """Seconds; `None` where nothing is due ever."""
        times = [job.next_run for job in self.jobs if job.next_run is not None]
        return max((min(times) - now).total_seconds(), 0.0) if times else None
