"""How are durations, times of day, days of the week and time zones written in a canary's file?"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

from probes.errors import did_you_mean
from probes.moments import UNITS, duration

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_DAY = "|".join(DAYS)
_FAR = "; valid: "


def in_short(length: timedelta) -> str:
    """As `duration` reads it, whole seconds."""
    left, said = round(length.total_seconds()), ""
    for unit, seconds in UNITS.items():
        n, left = divmod(left, seconds)
        said += f"{n}{unit}" if n else ""
    return said or "0s"


def clock_time(text: object) -> time:
    """`07:30`; `24:00` is the midnight that ends the day. Raises ValueError, as all of these do, with what would be right."""
    if text == "24:00":
        return time()
    found = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        # YAML 1.1 reads 22:00 as the number 1320 (base 60): https://yaml.org/type/int.html
        quotes = "; put it in quotes" if isinstance(text, int) else ""
        raise ValueError(f'must be a time of day, such as "07:30"{quotes}')
    return time(int(found[1]), int(found[2]))


def weekdays(text: object) -> tuple[int, ...]:
    """`mon-fri`, `sat,sun`, `fri-mon`: their numbers, Monday is 0."""
    found: set[int] = set()
    for part in text.replace(" ", "").lower().split(",") if isinstance(text, str) else [""]:
        first, dash, last = part.partition("-")
        for name in (first, last) if dash else (first,):
            if name not in DAYS:
                near = did_you_mean(name, DAYS)
                hint = "" if near.startswith(_FAR) else near
                raise ValueError(f"must be days, such as mon-fri or sat,sun{hint}")
        begin, end = DAYS.index(first), DAYS.index(last or first)
        found |= {(begin + n) % 7 for n in range((end - begin) % 7 + 1)}
    return tuple(sorted(found))


def zone(name: str) -> str:
    """The name itself, when it is that of a time zone."""
    try:
        zone_of(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
        if not known:
            raise ValueError("no time zone is known on this machine but UTC: install tzdata") from None
        near = did_you_mean(name, known)
        hint = "; such as Europe/Berlin" if near.startswith(_FAR) else near
        raise ValueError(f"must be a time zone{hint}") from None
    return name


@lru_cache
def zone_of(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


def moment(text: object) -> datetime:
    """`2026-12-01T22:00:00Z`; without an offset nobody knows when it is."""
    try:
        read = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise ValueError("must be a time with its offset, such as 2026-12-01T22:00:00Z")
    return read.astimezone(UTC)


Duration = Annotated[
    timedelta,
    BeforeValidator(duration),
    PlainSerializer(in_short, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^(?=.)(\d+d)?(\d+h)?(\d+m)?(\d+s)?$",
            "examples": ["30s", "5m", "1h30m"],
        }
    ),
]
ClockTime = Annotated[
    time,
    BeforeValidator(clock_time),
    PlainSerializer(lambda at: f"{at:%H:%M}", return_type=str),
    WithJsonSchema(
        {"type": "string", "pattern": r"^(([01]\d|2[0-3]):[0-5]\d|24:00)$", "examples": ["07:30"]}
    ),
]
Weekdays = Annotated[
    tuple[int, ...],
    BeforeValidator(weekdays),
    PlainSerializer(lambda days: ",".join(DAYS[day] for day in days), return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^({_DAY})(-({_DAY}))?(, *({_DAY})(-({_DAY}))?)*$",
            "examples": ["mon-fri", "sat,sun"],
        }
    ),
]
Zone = Annotated[str, AfterValidator(zone)]
Moment = Annotated[
    datetime,
    BeforeValidator(moment),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
