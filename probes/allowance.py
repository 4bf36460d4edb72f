"""How long may a case go on asking?

Kept in front of every request, so that a run ends in time by construction, whatever the server does: a request that
has too little left is not sent, and one that is sent gets no more than what is left.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from probes.model import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.clock import Clock
    from probes.model import Case

LEAST = 2.0
"""Seconds that a request is worth sending with; fewer are enough where it asks for fewer itself."""


def granted(case: Case) -> float | None:
    """Seconds of asking that the suite gives the case; `None` is as many as it takes.

    Given for targets with the default limits: where the operator lets one answer take longer, a case may do so by as
    much, and a rate of the target's own is slow by the operator's will.
    """
    if case.seconds is None or case.target.limits.per_minute is not None:
        return None
    return case.seconds + max(case.target.limits.deadline - Limits().deadline, 0.0)


class Allowance:
    """Counts while requests are under way alone: what this machine takes to import an SDK is not the server's doing.

    In machine seconds: it is the operator who waits.
    """

    def __init__(self, case: Case, clock: Clock) -> None:
        self.seconds = granted(case)
        self._clock = clock
        self._spent = 0.0
        self._since: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """For one step of the flow."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._spent, self._since = self._spent + time.monotonic() - self._since, None

    def left(self) -> float | None:
        """Real-world seconds; `None` where nothing bounds them."""
        if self.seconds is None:
            return None
        now = time.monotonic() - self._since if self._since is not None else 0.0
        return (self.seconds - self._spent - now) / self._clock.scale

    @property
    def used_up(self) -> str:
        return f"the {self.seconds:g} s that the suite gives this case are used up"

    def enough(self, deadline: float) -> bool:
        """For a request that asks for `deadline` seconds."""
        left = self.left()
        return left is None or left >= min(deadline, LEAST)

    def at_most(self, deadline: float) -> float:
        """No more of `deadline` than what is left."""
        left = self.left()
        return deadline if left is None else min(deadline, max(left, 0.0))
