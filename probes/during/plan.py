"""What is asked while a command runs: short streams one after another, and long ones that were begun at different times."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from probes.config import conversation
from probes.model import Ask, Trial

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.clock import Clock
    from probes.model import Call, Case
    from probes.stop import Stop

    Lane = Generator[Sequence[Trial], list[Call], list[Call]]

KNOCKS, STREAMS = "knocks", "streams"
"""The kinds of the two cases."""
_CAP = 16
_DEADLINE = 300.0
"""Seconds of a long stream."""
_LEAST_APART = 2.5
"""Seconds between the beginnings of two long streams: by less, one age and one moment can't be told apart."""


class Timetable:
    """When is what due, in seconds since the measuring began? `over`: nothing more is begun. `warm`: the first answer
    came, or did not: what an SDK loads on its first request would make a stream's begin uncertain.
    """

    def __init__(self, clock: Clock, stop: Stop) -> None:
        self.over, self.warm = threading.Event(), threading.Event()
        self.held_open: set[str] = set()
        self._clock = clock
        self._stop = stop
        self._zero = clock.now()
        self._lock = threading.Lock()
        self._next_stream = 0.0

    def now(self) -> float:
        return self._clock.now() - self._zero

    def wait(self, due: float) -> bool:
        """Until then; false where nothing more is to begin."""
        self.over.wait(max(self._clock.machine(due - self.now()), 0.0))
        return not self.over.is_set() and self._stop.reason is None

    def next_stream(self) -> bool:
        """Waits for the turn of a further long stream."""
        with self._lock:
            due = max(self._next_stream, self.now())
            self._next_stream = due + _LEAST_APART
        return self.wait(due)


def knocks(case: Case, times: Timetable) -> Lane:
    """A short stream over a new connection, again and again; it ends early where a request may not be sent."""
    ask = Ask(conversation(case.target), recipe="hello", stream=True, cap=_CAP)
    calls: list[Call] = []
    rng, due = case.rng, times.now()
    while times.wait(due):
        trial = Trial("knock", case.clients[0].name, case.route, ask, salt=f"{rng.getrandbits(48):012x}")
        calls += yield [trial]
        times.warm.set()
        if calls[-1].not_sent is not None:
            break
        due = max(due + float(case.params["every"]), times.now())
    return calls


def held(case: Case, times: Timetable, number: int) -> Lane:
    """One long stream after another, begun apart from those of the other lanes."""
    ask = Ask(conversation(case.target), recipe="count", stream=True, cap=int(case.params["tokens"]))
    calls: list[Call] = []
    rng, label = case.rng, f"stream/{number}"
    salts = [rng.getrandbits(48) for _ in range(number)]
    times.warm.wait()
    while times.next_stream():
        name = f"{label}/{len(calls)}"
        trial = Trial(
            label, case.clients[0].name, case.route, ask, deadline=_DEADLINE,
            salt=f"{(salts[-1] + len(calls)) % 2**48:012x}",
        )  # fmt: skip
        times.held_open.add(name)
        calls += yield [trial]
        times.held_open.discard(name)
        if calls[-1].not_sent is not None:
            break
    return calls
