"""When may the next request go to this target?

One Pace for a target and process, whoever asks: a run has its own, the runs of a canary share one. It holds their
places, the rate, the pauses that the server asks for, and what a day may cost.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.wait_hints import LONGEST_QUOTA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from probes.clock import Clock
    from probes.ledger import Ledger
    from probes.model import Limits
    from probes.stop import Stop

_MINUTE = 60.0
_TICK = 0.2
"""Machine seconds after which who waits for a place looks whether the run was stopped."""


@dataclass(frozen=True, slots=True)
class Pause:
    """`until`: by the clock of its Pace."""

    until: float
    why: str


class Pace:
    """`limits` may be replaced while runs are under way. `day`: what all runs may spend together, beside each its own
    budget. `keep` hears of each pause, its seconds and why. `lock` guards everything
    that runs share here, the day's ledger too.
    """

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self.limits = limits
        self.day: Ledger | None = None
        self.keep: Callable[[float, str], object] | None = None
        self.lock = threading.RLock()
        self._clock = clock
        self._freed = threading.Condition(self.lock)
        self._taken = self._held_long = 0
        self._sent_at: deque[float] = deque()
        self._not_before = 0.0
        self._pause: Pause | None = None

    @contextmanager
    def place(self, stop: Stop, *, long: bool = False) -> Iterator[bool]:
        """One of the places that requests may take at once, waited for; false where the run was stopped before.

        Those that hold theirs `long` leave one to the others, so that no stream of minutes delays a short probe.
        """
        with self._freed:
            while not (free := self._has_room(long)) and stop.reason is None:
                self._freed.wait(_TICK)
            self._occupy(free, long)
        try:
            yield free
        finally:
            with self._freed:
                self._occupy(-free, long)
                self._freed.notify_all()

    def _has_room(self, long: bool) -> bool:
        most = self.limits.concurrency
        return self._taken < most and (not long or self._held_long < max(most - 1, 1))

    def _occupy(self, places: int, long: bool) -> None:
        self._taken += places
        self._held_long += places if long else 0

    def due(self, now: float) -> float:
        """When the next request may be sent, by the rate and by the pauses that are waited for; `now` is at once."""
        with self.lock:
            return max(self._not_before, self._rate_allows(now))

    def sent(self) -> None:
        """A request goes out now."""
        with self.lock:
            self._sent_at.append(self._clock.now())

    def _rate_allows(self, now: float) -> float:
        rate = self.limits.per_minute
        if rate is None:
            self._sent_at.clear()
            return now
        while self._sent_at and self._sent_at[0] <= now - _MINUTE:
            self._sent_at.popleft()
        return now if len(self._sent_at) < rate else self._sent_at[-rate] + _MINUTE

    def more(self, seconds: float) -> float:
        """By how much a pause from now on is longer than what is waited already: answers side by side ask for the same."""
        with self.lock:
            now = self._clock.now()
            return max(now + seconds - max(self._not_before, now), 0.0)

    def wait(self, seconds: float) -> None:
        """Every request from now on waits out these seconds."""
        with self.lock:
            self._not_before = max(self._not_before, self._clock.now() + seconds)

    def pause(self, seconds: float, why: str) -> None:
        """For longer than a run waits: none that begins before its end sends anything.

        A wait that nobody can mean is none: it would end the asking for ever.
        """
        until = self._clock.now() + seconds
        with self.lock:
            if seconds <= LONGEST_QUOTA and (self._pause is None or until > self._pause.until):
                self._pause = Pause(until, why)
                if self.keep is not None:
                    self.keep(seconds, why)

    def resume(self) -> None:
        """The pause is over: a person says so."""
        with self.lock:
            self._pause = None

    @property
    def paused(self) -> Pause | None:
        """What holds everybody back; it ends by itself."""
        with self.lock:
            if self._pause is not None and self._pause.until <= self._clock.now():
                self._pause = None
            return self._pause
