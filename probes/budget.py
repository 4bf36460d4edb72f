"""May this request be sent now?

A Governor stands in front of every request of a run: what it may cost is reserved before it is sent and settled by
what it did cost; concurrency, rate and the server's own `Retry-After` are honoured, by the Pace that runs may share.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from probes.attempts import attempts, withheld
from probes.costs import FILLER_BYTES, PROMPT_TOKENS, charged, free, most_of, over_cap, worst_case
from probes.ledger import Ledger
from probes.model import Ask, NotSent, Raw
from probes.pace import Pace
from probes.prices import prices
from probes.response import in_words, retry_after
from probes.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from probes.clock import Clock
    from probes.ledger import Cost
    from probes.model import Call, Spend, Target, Trial

__all__ = [
    "FILLER_BYTES",
    "MAX_HOPS",
    "PROMPT_TOKENS",
    "Governor",
    "charged",
    "free",
    "over_cap",
    "worst_case",
]

MAX_WAIT, MAX_WAITS = 5.0, 10.0
"""Seconds that one `Retry-After` is waited for, and that all of them are in one run."""
MAX_HOPS = 5
"""Redirects that are followed in one call."""
_PAUSING = frozenset({429, 503, 529})
"""That ask everybody to hold back; others with a `Retry-After` speak of the one request."""


class Governor:
    """Of one run. A stop of the run also ends the waiting here.

    `pace`: that of other runs against the same target, where they share one; `long`: its requests hold their places for
    long. A usage above its reservation ends the buying: the next could be above it as well. `pause`: what the server
    asked for that is longer than a run waits.
    """

    def __init__(
        self,
        target: Target,
        clock: Clock,
        stop: Stop | None = None,
        pace: Pace | None = None,
        *,
        long: bool = False,
    ) -> None:
        self._clock = clock
        self._stop = stop or Stop()
        self._pace = pace or Pace(target.limits, clock)
        self._long = long
        self._lock = self._pace.lock
        self._own = Ledger(target.budget, prices(target))
        self._ledgers = [self._own, *([self._pace.day] if self._pace.day is not None else [])]
        self._waited = 0.0
        self._paused = False
        self._pause_asked: str | None = None
        self._held: list[tuple[object, ...]] = []
        self.overran = False

    @property
    def spend(self) -> Spend:
        with self._lock:
            return self._own.spend

    @property
    def waited(self) -> float:
        """Seconds that the server asked for and that were waited for."""
        with self._lock:
            return self._waited

    @property
    def pause(self) -> str | None:
        shared = self._pace.paused
        return self._pause_asked or (shared.why if shared is not None else None)

    def reserve(self, trials: Sequence[Trial]) -> list[NotSent | None]:
        """Buys each trial at its worst case, or says why not; trials of one pair are bought together or not at all."""
        refused: dict[str, NotSent] = {}
        groups: dict[str, list[Trial]] = {}
        for index, trial in enumerate(trials):
            groups.setdefault(trial.pair or f"#{index}", []).append(trial)
        with self._lock:
            for name, group in groups.items():
                if (why := self._buy(group)) is not None:
                    refused[name] = why
        return [refused.get(trial.pair or f"#{index}") for index, trial in enumerate(trials)]

    def _buy(self, group: list[Trial]) -> NotSent | None:
        if self._held_back() or any(_question(trial) in self._held for trial in group):
            return NotSent.PAUSED
        if self.overran or not self._affords(group):
            return NotSent.BUDGET
        for trial in group:
            self._book(trial, 1)
        return None

    def swap(self, bought: Trial, wanted: Trial) -> bool:
        """The reservation of a trial for that of one that may cost more, where the budget bears it."""
        with self._lock:
            self._book(bought, -1)
            affords = self._affords([wanted])
            self._book(wanted if affords else bought, 1)
            return affords

    def most(self, trials: Sequence[Trial]) -> int:
        """The largest output cap, up to the one asked for, with which all of `trials` could be bought together; 0 where
        none is small enough.
        """
        asks = [trial.request for trial in trials if isinstance(trial.request, Ask)]

        def too_dear(cap: int) -> bool:
            return not self._affords(
                [replace(t, request=replace(a, cap=cap)) for t, a in zip(trials, asks, strict=True)]
            )

        with self._lock:
            if self._held_back() or self.overran or not asks or len(asks) < len(trials):
                return 0
            return bisect_left(range(1, max(ask.cap for ask in asks) + 1), True, key=too_dear)

    def _held_back(self) -> bool:
        return self._paused or self._pace.paused is not None

    def _affords(self, group: list[Trial]) -> bool:
        """Every ceiling holds even if each of the group costs its worst case."""
        costs = [most_of(trial) for trial in group]
        together = sum(c[0] for c in costs), sum(c[1] for c in costs), sum(c[2] for c in costs)
        return all(ledger.affords(together) for ledger in self._ledgers)

    @contextmanager
    def admitted(self, trial: Trial, until: float | None = None) -> Iterator[NotSent | None]:
        """Waits for a place, the rate and a pause that ends before `until`; gives the reason where it may not be sent
        after all.
        """
        with self._pace.place(self._stop, long=self._long) as free:
            why = self._wait(until) if free else NotSent.INTERRUPTED
            if why is not None:
                self.give_back(trial)
            yield why

    def give_back(self, trial: Trial) -> None:
        """It was bought and is not sent."""
        with self._lock:
            self._book(trial, -1)

    def _wait(self, until: float | None) -> NotSent | None:
        while True:
            with self._lock:
                if self._stop.reason is not None:
                    return NotSent.INTERRUPTED
                if self._held_back():
                    return NotSent.PAUSED
                if self.overran:
                    return NotSent.BUDGET
                now = self._clock.now()
                due = self._pace.due(now)
                if due <= now:
                    self._pace.sent()
                    return None
                if until is not None and due > until:
                    return NotSent.PAUSED
            self._stop.wait(self._clock.machine(due - now))

    def hops(self, bought: int = 1) -> Callable[[], str | None]:
        """To ask before each further request of one call, a redirect that is followed or an attempt of the SDK's own: it
        is a request like any other, and counted where it is beyond those `bought`; or why not.
        """
        left = iter(range(MAX_HOPS + bought - 1))

        def hop() -> str | None:
            number = next(left, None)
            if number is None:
                return f"more than {MAX_HOPS} redirects are not followed"
            paid = number < bought - 1
            with self._lock:
                if self._held_back():
                    return "the server asked for a longer pause than is waited for"
                if self.overran or not (paid or all(ledger.affords_request() for ledger in self._ledgers)):
                    return "the budget of requests is used up"
                self._spend((int(not paid), 0, 0))
                self._pace.sent()
            return None

        return hop

    def settle(self, trial: Trial, call: Call) -> None:
        """Replaces the reservation by the usage reported; without one, nothing where nothing was generated, else
        the worst case stands.
        """
        last = call.last
        status = last.status if last is not None else None
        if last is not None and status is not None and status >= 400 and not _only_shown(trial, status):
            self._pause(retry_after(last.header("retry-after")), trial, status)
        with self._lock:
            self.overran = self.overran or over_cap(trial, call) is not None
            self._book(trial, -1)
            made = sum(not withheld(exchange) for exchange in call.exchanges)
            self._spend((min(made, attempts(trial)), 0, 0))  # those beyond were counted as they were sent
            self._spend((0, *charged(trial, call)))

    def _book(self, trial: Trial, sign: int) -> None:
        """The worst case of a trial, bought or given back; the lock is held."""
        self._spend(most_of(trial), sign)

    def _spend(self, what: Cost, sign: int = 1) -> None:
        for ledger in self._ledgers:
            ledger.book(what, sign)

    def _pause(self, seconds: float | None, trial: Trial, status: int) -> None:
        """Wait as the server asks where that fits; else send nothing more in this run, or not this once more."""
        if seconds is None:
            return
        with self._lock:
            more = self._pace.more(seconds)
            if seconds <= MAX_WAIT and self._waited + more <= MAX_WAITS:
                self._waited += more
                self._pace.wait(seconds)
                return
            bound = (
                "longer than a run waits"
                if seconds > MAX_WAIT
                else f"which with those before it is longer than the {MAX_WAITS:g} s that a run waits in all"
            )
            self._pause_asked = f"the {status} before it asked for a pause of {in_words(seconds)}, {bound}"
            self._held.append(_question(trial))
            if status in _PAUSING:
                self._paused = True
                self._pace.pause(seconds, self._pause_asked)


def _question(trial: Trial) -> tuple[object, ...]:
    return trial.client, trial.route, trial.request


def _only_shown(trial: Trial, status: int) -> bool:
    """A page that was asked for, with the `Retry-After` that belongs to it; a 429 to another question is said to us."""
    shows = trial.request.shows if isinstance(trial.request, Raw) else None
    return shows is not None and (status == shows or status not in _PAUSING)
