"""May this request be sent now?

One Governor stands in front of every request to a target in this process: what it may cost is reserved before it is
sent and settled by what it did cost; concurrency, rate and the server's own `Retry-After` are honoured.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from probes.model import Ask, Call, NotSent, Spend, Target, Trial
from probes.response import retry_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.clock import Clock

MAX_WAIT = 5.0
"""Seconds that one `Retry-After` is waited for."""
MAX_WAITS = 10.0
"""Seconds waited in one run for all of them."""
_PROMPT_TOKENS = 80
_MINUTE = 60.0
_PAUSING = frozenset({429, 503, 529})


def worst_case(trial: Trial) -> tuple[int, int]:
    """(input, output) tokens that a trial can cost at the most, by the size of our prompts and its cap."""
    request = trial.request
    if not isinstance(request, Ask) or request.endpoint == "models":
        return 0, 0
    return (1 if request.recipe == "invalid" else _PROMPT_TOKENS), request.cap


class Governor:
    def __init__(self, target: Target, clock: Clock) -> None:
        self._limits = target.limits
        self._budget = target.budget
        self._clock = clock
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(target.limits.concurrency)
        self._sent_at: deque[float] = deque()
        self._not_before = 0.0
        self._waited = 0.0
        self._paused = False
        self._requests = self._input = self._output = 0

    @property
    def spend(self) -> Spend:
        with self._lock:
            return Spend(self._requests, self._input, self._output)

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
        if self._paused:
            return NotSent.PAUSED
        costs = [worst_case(trial) for trial in group]
        input_tokens, output_tokens = sum(c[0] for c in costs), sum(c[1] for c in costs)
        tokens = self._input + self._output + input_tokens + output_tokens
        if self._budget.requests is not None and self._requests + len(group) > self._budget.requests:
            return NotSent.BUDGET
        if self._budget.tokens is not None and tokens > self._budget.tokens:
            return NotSent.BUDGET
        self._requests += len(group)
        self._input += input_tokens
        self._output += output_tokens
        return None

    @contextmanager
    def admitted(self, trial: Trial) -> Iterator[NotSent | None]:
        """Waits for a slot, the rate and a pause that fits; gives the reason where it may not be sent after all."""
        with self._slots:
            why = self._wait()
            if why is not None:
                self._give_back(trial, sent=False)
            yield why

    def _wait(self) -> NotSent | None:
        while True:
            with self._lock:
                if self._paused:
                    return NotSent.PAUSED
                now = self._clock.now()
                due = max(self._not_before, self._rate_allows(now))
                if due <= now:
                    self._sent_at.append(now)
                    return None
            self._clock.sleep(due - now)

    def _rate_allows(self, now: float) -> float:
        if self._limits.per_minute is None:
            return now
        while self._sent_at and self._sent_at[0] <= now - _MINUTE:
            self._sent_at.popleft()
        return now if len(self._sent_at) < self._limits.per_minute else self._sent_at[0] + _MINUTE

    def settle(self, trial: Trial, call: Call) -> None:
        """Replaces the reservation by the usage reported; a request refused by a 4xx cost no tokens; without usage
        the worst case stands.
        """
        last = call.last
        if last is not None and last.status in _PAUSING:
            self._pause(retry_after(last.header("retry-after")))
        usage = last.facts.get("usage") if last is not None else None
        refused = last is not None and last.status is not None and 400 <= last.status < 500
        if usage or refused or not call.exchanges:
            self._give_back(trial, sent=True)
            with self._lock:
                self._input += _count(usage, "prompt_tokens", "input_tokens")
                self._output += _count(usage, "completion_tokens", "output_tokens")

    def _give_back(self, trial: Trial, *, sent: bool) -> None:
        input_tokens, output_tokens = worst_case(trial)
        with self._lock:
            self._requests -= not sent
            self._input -= input_tokens
            self._output -= output_tokens

    def _pause(self, seconds: float | None) -> None:
        """Wait as the server asks where that fits; else send nothing more in this run."""
        if seconds is None:
            return
        with self._lock:
            if seconds > MAX_WAIT or self._waited + seconds > MAX_WAITS:
                self._paused = True
                return
            until = self._clock.now() + seconds
            if until > self._not_before:
                self._waited += seconds
                self._not_before = until


def _count(usage: Any, *names: str) -> int:
    """The first of the names that is there and a count."""
    if not isinstance(usage, dict):
        return 0
    return next((value for name in names if isinstance(value := usage.get(name), int) and value >= 0), 0)
