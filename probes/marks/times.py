"""When was it, as a person writes it?"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from probes.errors import UsageError
from probes.watch.forms import duration

if TYPE_CHECKING:
    from datetime import time

FORMS = "2026-11-30T14:05:00Z, 14:05 or 14:05:30 (here), or -10m, -1h30m, -2d (ago)"
AHEAD = timedelta(minutes=1)
"""Clocks of two machines differ; what is later than that is still to come."""
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?", re.ASCII)
_DAY = timedelta(days=1)


def moment(text: str, now: datetime, flag: str) -> datetime:
    """In UTC, to the second. A time of day is the last that came, a time without an offset is the machine's own, a
    duration is that long before `now`. UsageError for anything else, and for what is still to come.
    """
    try:
        found = _read(text.strip(), now)
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None:
        raise UsageError(f"{flag} {text}: no time; such as {FORMS}")
    if found > now + AHEAD:
        raise UsageError(
            f"{flag} {text}: is still to come; what is planned stands in configs/canary.yaml, as maintenance"
        )
    return found.replace(microsecond=0)


def _read(text: str, now: datetime) -> datetime | None:
    if date := _DATE.fullmatch(text):
        day, clock, offset = date.groups()
        read = datetime.fromisoformat(f"{day}T{clock}{(offset or '').upper()}")
        return read.astimezone(UTC) if read.tzinfo else _last(_instants(read), now)
    if _CLOCK.fullmatch(text):
        return _time_of_day(datetime.fromisoformat(f"2000-01-01T{text:0>5}").time(), now)
    return now - duration(text.removeprefix("-"))


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
