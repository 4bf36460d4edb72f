"""How long may a turn take that goes as it was planned?

Until then the times that it is still under way at say nothing: a server that hangs takes all the time that its suite
gives, and is asked again before anybody is told.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from probes.alerts.rules import most_asked
from probes.allowance import granted
from probes.budget import MAX_WAITS
from probes.kinds import KINDS
from probes.live import SHORTEST, SILENT_IN_A_ROW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.alerts.needs import Entry
    from probes.clock import Clock
    from probes.model import Case


def patience(entry: Entry, planned: Sequence[Case], clock: Clock) -> timedelta:
    """Of the first run and of all that may ask its failures again."""
    short = sum(_seconds(case, clock) for case in planned if not KINDS[case.kind].long)
    together = max([short, *(_seconds(case, clock) for case in planned if KINDS[case.kind].long)])
    return timedelta(seconds=most_asked(entry) * (max(together, _by_rate(planned)) + MAX_WAITS))


def _seconds(case: Case, clock: Clock) -> float:
    """What its suite gives it, by this machine's clock; what it foretells where it is long; else what it takes of a
    good server, and the waits for a silent one, which is given up after so many.
    """
    if (given := granted(case)) is not None:
        return given / clock.scale
    bound = KINDS[case.kind].bound(case).seconds
    if KINDS[case.kind].long:
        return bound
    limits = (case.target.limits.deadline, case.params.get("deadline"), case.params.get("patience"))
    least = 0.0 if clock.scale == 1.0 else SHORTEST / clock.scale
    return bound + SILENT_IN_A_ROW * max(least, *(float(limit or 0.0) for limit in limits))


def _by_rate(planned: Sequence[Case]) -> float:
    """Seconds that their requests take where the operator lets only so many a minute go out."""
    rates = [case.target.limits.per_minute for case in planned if case.target.limits.per_minute is not None]
    return 60 * sum(KINDS[case.kind].bound(case).requests for case in planned) / min(rates) if rates else 0.0


def holds_long(case: Case) -> bool:
    """Whether one of its requests may be held for longer than the target's own deadline."""
    return KINDS[case.kind].long or float(case.params.get("deadline") or 0.0) > case.target.limits.deadline
