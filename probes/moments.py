"""Which moment does a person mean by `14:05`?"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import time

FORMS = "2026-11-30T14:05:00Z, 14:05 or 14:05:30 (here)"
AHEAD = timedelta(minutes=1)
"""Clocks of two machines differ; what is later than that is still to come."""
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)([.,]\d+)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?", re.ASCII)
_DAY = timedelta(days=1)
UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?", re.ASCII)


def duration(text: object) -> timedelta:
    """`5m`, `90s`, `1h30m`, `2d`. Raises ValueError with what would be right."""
    found = _DURATION.fullmatch(text) if isinstance(text, str) and text else None
    if found is None:
        raise ValueError("must be a duration, such as 30s, 5m, 1h30m or 2d")
    seconds = sum(int(n) * unit for n, unit in zip(found.groups(), UNITS.values(), strict=True) if n)
    if not seconds:
        raise ValueError("must be more than 0s")
    return timedelta(seconds=seconds)


def ago(text: str, now: datetime) -> datetime:
    """Of `-10m` or `10m`, in UTC. Raises ValueError or OverflowError."""
    return (now - duration(text.removeprefix("-"))).astimezone(UTC)


def moment(text: str, now: datetime) -> datetime | None:
    """In UTC; `None` where it has no form of a time. A time of day is the last that came, a time without an offset is the
    machine's own. Raises ValueError or OverflowError for a time that there is not.
    """
    if date := _DATE.fullmatch(text):
        day, clock, fraction, offset = date.groups()
        read = datetime.fromisoformat(f"{day}T{clock}{fraction or ''}{(offset or '').upper()}")
        return read.astimezone(UTC) if read.tzinfo else _last(_instants(read), now)
    if _CLOCK.fullmatch(text):
        return _time_of_day(datetime.fromisoformat(f"2000-01-01T{text:0>5}").time(), now)
    return None


def _time_of_day(at: time, now: datetime) -> datetime | None:
    """Today's, or yesterday's where that is still to come."""
    today = now.astimezone().date()
    for day in (today, today - _DAY):
        instants = _instants(datetime.combine(day, at))
        if not instants:  # left out as the clock was put forward: nobody means yesterday's
            return None
        if instants[0] <= now + AHEAD:
            return _last(instants, now)
    return None


def _instants(local: datetime) -> list[datetime]:
    """Two where the clock was put back, none where it was put forward."""
    both = {local.replace(fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(at for at in both if at.astimezone().replace(tzinfo=None) == local)


def _last(instants: list[datetime], now: datetime) -> datetime | None:
    """That is not to come, where one isn't."""
    return next((at for at in reversed(instants) if at <= now + AHEAD), instants[0] if instants else None)
