"""May this request be sent now?

One Governor stands in front of every request to a target in this process: what it may cost is reserved before it is
sent and settled by what it did cost; concurrency, rate and the server's own `Retry-After` are honoured.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.attempts import attempts, withheld
from probes.model import Ask, Call, Exchange, NotSent, Raw, Spend, Target, Trial
from probes.prices import cost, prices
from probes.response import in_words, retry_after
from probes.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from probes.clock import Clock

MAX_WAIT, MAX_WAITS = 5.0, 10.0
"""Seconds that one `Retry-After` is waited for, and that all of them are in one run."""
PROMPT_TOKENS = 80
TEMPLATE_TOKENS = 400
"""That a server's own chat template and system prompt may add to a prompt of ours."""
FILLER_BYTES = 6
"""Of neutral text for each token that is wanted of it: its words are one token or two."""
_FEWEST_BYTES = 4
"""A token of such text has at the least."""
COUNTED_APART = 16
"""Tokens by which a gateway that counts with another tokenizer may differ from the model's own count."""
MAX_HOPS = 5
"""Redirects that are followed in one call."""
_MINUTE = 60.0
_REDIRECTS = range(300, 400)
_PAUSING = frozenset({429, 503, 529})
"""That ask everybody to hold back; others with a `Retry-After` speak of the one request."""


def worst_case(trial: Trial) -> tuple[int, int]:
    """(input, output) tokens that one request of a trial can cost at the most, by the size of our prompts and its cap."""
    request = trial.request
    if not isinstance(request, Ask) or request.endpoint == "models" or request.fetches is not None:
        return 0, 0
    filler = -(-request.prompt_tokens * FILLER_BYTES // _FEWEST_BYTES)
    return (1 if request.recipe == "invalid" else PROMPT_TOKENS + filler), request.cap


def over_cap(trial: Trial, call: Call) -> tuple[int, int] | None:
    """The (input, output) tokens that a call was counted with, where they are more than was reserved for it.

    Beyond what templates and tokenizers explain: those few are within what the budget settles afterwards.
    """
    used = _used(call.last.facts.get("usage")) if call.last is not None else None
    if used is None or not isinstance(trial.request, Ask) or trial.request.fetches is not None:
        return None
    input_tokens, output_tokens = worst_case(trial)
    above = used[0] > input_tokens + TEMPLATE_TOKENS or used[1] > output_tokens + COUNTED_APART
    return used if above else None


class Governor:
    """A stop of the run also ends the waiting here.

    A usage above its reservation ends the buying: the next could be above it as well. `pause`: what the server asked for
    that is longer than a run waits.
    """

    def __init__(self, target: Target, clock: Clock, stop: Stop | None = None) -> None:
        self._limits = target.limits
        self._budget = target.budget
        self._price = prices(target)
        self._clock = clock
        self._stop = stop or Stop()
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(target.limits.concurrency)
        self._sent_at: deque[float] = deque()
        self._not_before = 0.0
        self._waited = 0.0
        self._paused = False
        self.pause: str | None = None
        self._held: list[tuple[object, ...]] = []
        self.overran = False
        self._requests = self._input = self._output = 0

    @property
    def spend(self) -> Spend:
        with self._lock:
            usd = self._usd(self._input, self._output)
            return Spend(self._requests, self._input, self._output, None if usd is None else round(usd, 9))

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
        if self._paused or any(_question(trial) in self._held for trial in group):
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
            if self._paused or self.overran or not asks or len(asks) < len(trials):
                return 0
            return bisect_left(range(1, max(ask.cap for ask in asks) + 1), True, key=too_dear)

    def _affords(self, group: list[Trial]) -> bool:
        """Every ceiling holds even if each of the group costs its worst case."""
        costs = [worst_case(trial) for trial in group for _ in range(attempts(trial))]
        input_tokens = self._input + sum(worst[0] for worst in costs)
        output_tokens = self._output + sum(worst[1] for worst in costs)
        spent = (
            self._requests + len(costs),
            input_tokens + output_tokens,
            self._usd(input_tokens, output_tokens),
        )
        ceilings = (self._budget.requests, self._budget.tokens, self._budget.usd)
        # Money that cannot be counted is not spent.
        return all(c is None or (s is not None and s <= c) for s, c in zip(spent, ceilings, strict=True))

    def _usd(self, input_tokens: int, output_tokens: int) -> float | None:
        return None if self._price is None else cost(self._price, input_tokens, output_tokens)

    @contextmanager
    def admitted(self, trial: Trial, until: float | None = None) -> Iterator[NotSent | None]:
        """Waits for a slot, the rate and a pause that ends before `until`; gives the reason where it may not be sent
        after all.
        """
        with self._slots:
            why = self._wait(until)
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
                if self._paused:
                    return NotSent.PAUSED
                if self.overran:
                    return NotSent.BUDGET
                now = self._clock.now()
                due = max(self._not_before, self._rate_allows(now))
                if due <= now:
                    self._sent_at.append(now)
                    return None
                if until is not None and due > until:
                    return NotSent.PAUSED
            self._stop.wait(self._clock.machine(due - now))

    def _rate_allows(self, now: float) -> float:
        if self._limits.per_minute is None:
            return now
        while self._sent_at and self._sent_at[0] <= now - _MINUTE:
            self._sent_at.popleft()
        return now if len(self._sent_at) < self._limits.per_minute else self._sent_at[0] + _MINUTE

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
                if self._paused:
                    return "the server asked for a longer pause than is waited for"
                if self.overran or not (paid or self._affords_hop()):
                    return "the budget of requests is used up"
                self._requests += not paid
                self._sent_at.append(self._clock.now())
            return None

        return hop

    def _affords_hop(self) -> bool:
        """What it may cost in tokens was reserved for the call."""
        return self._budget.requests is None or self._requests < self._budget.requests

    def settle(self, trial: Trial, call: Call) -> None:
        """Replaces the reservation by the usage reported; a request refused by a 4xx cost no tokens; without usage
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
            self._requests += min(made, attempts(trial))  # those beyond were counted as they were sent
            paid = call.exchanges if trial.retries else call.exchanges[-1:]  # a redirect costs no tokens
            for used in (_paid(trial, exchange) for exchange in paid):
                self._input += used[0]
                self._output += used[1]

    def _book(self, trial: Trial, sign: int) -> None:
        """The worst case of a trial, bought or given back; the lock is held."""
        input_tokens, output_tokens = worst_case(trial)
        self._requests += sign * attempts(trial)
        self._input += sign * attempts(trial) * input_tokens
        self._output += sign * attempts(trial) * output_tokens

    def _pause(self, seconds: float | None, trial: Trial, status: int) -> None:
        """Wait as the server asks where that fits; else send nothing more in this run, or not this once more."""
        if seconds is None:
            return
        with self._lock:
            now = self._clock.now()
            more = now + seconds - max(self._not_before, now)  # answers side by side ask for the same wait
            if seconds <= MAX_WAIT and self._waited + more <= MAX_WAITS:
                self._waited += max(more, 0.0)
                self._not_before = max(self._not_before, now + seconds)
            else:
                self.pause = f"the {status} before it asked for a pause of {in_words(seconds)}, longer than a run waits"
                self._paused = self._paused or status in _PAUSING
                self._held.append(_question(trial))


def _paid(trial: Trial, exchange: Exchange) -> tuple[int, int]:
    """(input, output) tokens that one request is settled with."""
    if isinstance(trial.request, Ask) and trial.request.fetches is not None:
        return 0, 0  # its usage is that of the request that it was made for
    nothing = free(exchange) or (trial.retries and (exchange.status or 0) in _REDIRECTS)
    return _used(exchange.facts.get("usage")) or ((0, 0) if nothing else worst_case(trial))


def _question(trial: Trial) -> tuple[object, ...]:
    return trial.client, trial.route, trial.request


def _only_shown(trial: Trial, status: int) -> bool:
    """A page that was asked for, with the `Retry-After` that belongs to it; a 429 to another question is said to us."""
    shows = trial.request.shows if isinstance(trial.request, Raw) else None
    return shows is not None and (status == shows or status not in _PAUSING)


def free(exchange: Exchange) -> bool:
    """Refused by a 4xx before inference, or never sent whole."""
    refused = exchange.status is not None and 400 <= exchange.status < 500
    return refused or (exchange.status is None and exchange.timeline.upload_end is None)


def _used(usage: Any) -> tuple[int, int] | None:
    """(input, output) tokens of a usage object in either dialect; `None` where it counts neither."""
    if not isinstance(usage, dict):
        return None
    counts = [
        next((n for name in names if isinstance(n := usage.get(name), int) and n >= 0), None)
        for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    ]
    return None if counts == [None, None] else (counts[0] or 0, counts[1] or 0)
