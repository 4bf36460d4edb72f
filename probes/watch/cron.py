"""When does a cron expression come next?

Read by `cronsim`, as Debian's cron reads it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from probes.errors import UsageError

if TYPE_CHECKING:
    from datetime import tzinfo

MISSING = "needs edgeprobe[watch]: pip install 'edgeprobe[watch]'"
_ANY = datetime(2026, 1, 1, tzinfo=UTC)


def check_cron(expression: str) -> None:
    """Raises UsageError for what is no cron expression of five fields."""
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        raise UsageError(f"what comes at a time of day {MISSING}") from None
    if len(expression.split()) != 5:
        raise UsageError(
            'must have five fields: minute, hour, day, month, day of the week, such as "*/20 7-21 * * mon-fri"'
        )
    try:
        CronSim(expression, _ANY)
    except CronSimError as fault:
        if _never_comes(expression):
            raise UsageError("never comes: none of its months has such a day") from None
        where = str(fault).removeprefix("Bad ")
        raise UsageError(
            f"its {where} is not valid; the fields are minute, hour, day, month, day of the week"
        ) from None


def _never_comes(expression: str) -> bool:
    """Each field is valid by itself; cronsim calls the day wrong that none of the months has."""
    from cronsim import CronSim, CronSimError

    minute, hour, day, months, weekday = expression.split()
    try:
        CronSim(f"{minute} {hour} {day} * {weekday}", _ANY)
        CronSim(f"* * * {months} *", _ANY)
    except CronSimError:
        return False
    return True


def next_of_cron(expression: str, moment: datetime, where: tzinfo) -> datetime | None:
    """The first time later than the moment; `None` where there is none in fifty years."""
    from cronsim import CronSim

    for due in CronSim(expression, moment.astimezone(where)):
        # In the hour that comes twice it gives the first, which may have passed.
        if (found := due.astimezone(UTC)) > moment:
            return found
    return None
