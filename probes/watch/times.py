"""When is an entry due?

Every time is a function of the entry and the calendar alone, so that a restart, a clock that was set and a machine that
slept change none. `every` is a grid in UTC, moved by a hash so that entries do not meet, and each time by a little more
so that they do not meet anything else that recurs; `at` and `cron` are the moments that people wrote. In spring a time
that is skipped comes when the clock has jumped; in autumn one that comes twice is the first.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from probes.watch.cron import check_cron, next_of_cron
from probes.watch.forms import zone_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.watch.config import Active, Entry

JITTER = 0.1
"""Of the interval, at the most."""
MOST_JITTER = timedelta(seconds=30)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HORIZON = timedelta(days=366 * 9)
"""A 29 February comes within it."""
_SAMPLE = datetime(2026, 1, 5, tzinfo=UTC)
_SAMPLED_DAYS, _SAMPLED_TIMES = timedelta(days=35), 400
_COARSE = timedelta(minutes=10)
"""Times of active hours are counted in such steps where they are closer: there may be very many."""
_INSTANT = timedelta(microseconds=1)
_DAY = timedelta(days=1)


class _Said(NamedTuple):
    """What an entry says of its times; `Entry` has the same and more."""

    target: str
    name: str
    every: timedelta | None
    at: tuple[time, ...]
    cron: str | None
    timezone: str
    active: Active | None


class Timetable:
    """The times of one entry. Raises UsageError for a cron expression that is none."""

    def __init__(self, entry: Entry | _Said) -> None:
        self._entry = entry
        self._zone = zone_of(entry.timezone)
        self._crons = [entry.cron] if entry.cron else [f"{at.minute} {at.hour} * * *" for at in entry.at]
        for expression in self._crons:
            check_cron(expression)

    def after(self, moment: datetime) -> datetime | None:
        """The first time later than that, in UTC; `None` where there is none in the next nine years."""
        end = moment + _HORIZON
        while (due := self._next(moment)) is not None and due < end:
            opens = opening(self._entry.active, due)
            if opens == due:
                return due
            moment = opens - _INSTANT
        return None

    def between(self, begin: datetime, end: datetime) -> Iterator[datetime]:
        """Those later than `begin`, up to and with `end`."""
        due = self.after(begin)
        while due is not None and due <= end:
            yield due
            due = self.after(due)

    def _next(self, moment: datetime) -> datetime | None:
        if self._entry.every is not None:
            return self._on_grid(moment, self._entry.every)
        found = (next_of_cron(expression, moment, self._zone) for expression in self._crons)
        return min((due for due in found if due is not None), default=None)

    def _on_grid(self, moment: datetime, every: timedelta) -> datetime:
        phase = _share(self._entry.target, self._entry.name) * every
        number = (moment - _EPOCH - phase) // every
        while (due := _EPOCH + phase + number * every + self._jitter(number, every)) <= moment:
            number += 1
        return due

    def _jitter(self, number: int, every: timedelta) -> timedelta:
        return _share(self._entry.target, self._entry.name, str(number)) * min(JITTER * every, MOST_JITTER)


def interval(entry: Entry) -> timedelta:
    """Between two of its times: its `every`, or the longest wait between two of `at` or `cron` that no closing hours
    lie between.
    """
    return entry.every or _longest(_Said("", "", None, entry.at, entry.cron, entry.timezone, entry.active))


def times_a_day(entry: Entry) -> int:
    """How often it is due on the day of UTC that has most of its times; at least once, for a day that is seldom."""
    every, step = entry.every, entry.every
    if every is not None and step is not None:
        if entry.active is None:
            return ceil(_DAY / every)
        step = max(every, _COARSE)
    said = _Said("", "", step, entry.at, entry.cron, entry.timezone, entry.active)
    days = Counter(due.date() for due in Timetable(said).between(_SAMPLE, _SAMPLE + timedelta(days=7)))
    each = 1.0 if every is None or step is None else step / every
    return max(ceil(max(days.values(), default=0) * each), 1)


@lru_cache(maxsize=1024)
def _longest(said: _Said) -> timedelta:
    table, active = Timetable(said), said.active
    times: list[datetime] = []
    due = table.after(_SAMPLE)
    while (
        due is not None and len(times) < _SAMPLED_TIMES and (len(times) < 3 or due < _SAMPLE + _SAMPLED_DAYS)
    ):
        times.append(due)
        due = table.after(due)
    waits = list(pairwise(times))
    open_throughout = [b - a for a, b in waits if active is None or closing(active, a) > b]
    return max(open_throughout or [b - a for a, b in waits], default=_HORIZON)


# --- hours -----------------------------------------------------------------------------------------------


def is_active(active: Active | None, moment: datetime) -> bool:
    return active is None or any(begin <= moment < end for begin, end in _windows(active, moment))


def opening(active: Active | None, moment: datetime) -> datetime:
    """The moment itself while the hours are open, else when they open next."""
    if active is None or is_active(active, moment):
        return moment
    return min(begin for begin, _ in _windows(active, moment) if begin > moment)


def closing(active: Active, moment: datetime) -> datetime:
    """When the hours end that the moment lies in; what follows without a gap is the same hours."""
    end = moment
    for begin, until in sorted(_windows(active, moment)):
        if begin <= end < until:
            end = until
    return end


def _windows(active: Active, moment: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Those of the days around it: one before, for hours over midnight, and eight after, so that each day of the week
    has its turn.
    """
    where = zone_of(active.timezone)
    today = moment.astimezone(where).date()
    for day in (today + n * _DAY for n in range(-1, 9)):
        if day.weekday() in active.days:
            last = day if active.begin < active.until else day + _DAY
            yield _instant(day, active.begin, active.timezone), _instant(last, active.until, active.timezone)


def _instant(day: date, at: time, timezone: str) -> datetime:
    """A time that the clock skips is as much later as the clock jumps; of one that comes twice it is the first."""
    return datetime.combine(day, at, zone_of(timezone)).astimezone(UTC)


@lru_cache(maxsize=4096)
def _share(*of: str) -> float:
    """The same in every process, from 0 up to 1."""
    digest = hashlib.sha256("\0".join(of).encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64
