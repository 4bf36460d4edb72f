"""Is this a planned change, and when did it begin?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probes.alerts.needs import Maintenance


class Window(NamedTuple):
    name: str
    begin: datetime
    until: datetime


def window_at(planned: Iterable[Maintenance], target: str, at: datetime) -> Window | None:
    """The window that `at` lies in; of several the one that ends last."""
    return window_between(planned, target, at, at)


def window_between(
    planned: Iterable[Maintenance], target: str, since: datetime, until: datetime
) -> Window | None:
    """One in which something can have been that came about in that time."""
    found = [window for row in planned if (window := _met(row, target, since, until)) is not None]
    return max(found, key=lambda window: window.until, default=None)


def _met(row: Maintenance, target: str, since: datetime, until: datetime) -> Window | None:
    if row.targets and target not in row.targets:
        return None
    if row.cron is not None and row.lasts is not None:
        begin = _last_due(row.cron, row.timezone, until)
        end = begin + row.lasts if begin is not None else None
    else:
        begin, end = row.begin, row.until
    if begin is None or end is None or not (begin <= until and since < end):
        return None
    return Window(row.name, begin.astimezone(UTC), end.astimezone(UTC))


def _last_due(cron: str, timezone: str, at: datetime) -> datetime | None:
    """When it was due last, `at` itself included."""
    from cronsim import CronSim  # noqa: PLC0415 - of an extra

    # It gives what lies strictly before; a time that comes twice where clocks go back is the later one.
    local = (at + timedelta(minutes=1)).astimezone(ZoneInfo(timezone))
    due = next(CronSim(cron, local, reverse=True), None)
    while due is not None and due > at:
        local = due
        due = next(CronSim(cron, local, reverse=True), None)
    return due
