"""When was it, as a person writes it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes import moments
from probes.errors import UsageError
from probes.moments import AHEAD

if TYPE_CHECKING:
    from datetime import datetime

FORMS = f"{moments.FORMS}, or -10m, -1h30m, -2d (ago)"


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
    """A time that is none where the clock was put forward has the form of one, and is no duration."""
    if ":" in text:
        return moments.moment(text, now)
    return moments.ago(text, now)
