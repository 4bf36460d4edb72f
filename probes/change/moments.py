"""Which time does a person mean by `14:05`?"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
FORMS = "14:05, 2026-11-30T14:05 (this machine's zone) or 2026-11-30T14:05:00Z"


def moment(text: str, now: datetime) -> datetime | None:
    """In UTC; `None` where it is no time. RFC 3339, or without a zone in that of this machine; a time without a date is
    the last one that was. `now`: with the zone.
    """
    if _CLOCK.fullmatch(text):
        hour, minute, *second = map(int, text.split(":"))
        found = now.replace(hour=hour, minute=minute, second=sum(second), microsecond=0)
        return (found if found <= now else found - timedelta(days=1)).astimezone(UTC)
    if not _DATE.match(text):
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (read if read.tzinfo is not None else read.replace(tzinfo=now.tzinfo)).astimezone(UTC)
