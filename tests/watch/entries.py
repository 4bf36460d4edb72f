"""Entries and walls for tests of the canary's time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from probes.watch.config import Active, Entry
from probes.watch.forms import clock_time, duration, weekdays


def moment(text: str) -> datetime:
    """`2026-03-28 12:00`, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def entry(name: str = "e", **said) -> Entry:
    """With `every="5m"` and `at="03:10 15:10"` as a file has them."""
    if "every" in said:
        said["every"] = duration(said["every"])
    if "at" in said:
        said["at"] = tuple(clock_time(one) for one in said["at"].split())
    return Entry(name, said.pop("suite", "smoke"), said.pop("target", "prod"), **said)


def hours(days: str = "mon-sun", begin: str = "00:00", until: str = "24:00", timezone: str = "UTC") -> Active:
    return Active(weekdays(days), clock_time(begin), clock_time(until), timezone)


class SetWall:
    """A wall whose time is what a test sets; waiting for it lets it pass."""

    scale = 1.0

    def __init__(self, now: datetime) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def shown(self, at: datetime) -> datetime:
        return at

    def wait(self, seconds, wake) -> bool:
        self.time += timedelta(seconds=seconds)
        return wake.is_set()
