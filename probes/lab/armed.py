"""Which faults befall this request?"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING

from probes.lab.faults import Do, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.lab.faults import Fault
    from probes.lab.http1 import Request


class Armed:
    """The faults of one edge and how often each one's `when` has held."""

    def __init__(self, faults: Sequence[str | Fault]) -> None:
        self._under_way = 0
        self._lock = threading.Lock()
        self.arm(faults)

    def arm(self, faults: Sequence[str | Fault]) -> None:
        """These from the next request on, and none of those before; raises UsageError for an unknown name."""
        arms = _Arms(named(faults))
        with self._lock:
            self._arms = arms

    @contextmanager
    def befalling(self, request: Request, idled: float | None = None) -> Iterator[Do]:
        """What befalls a request while it is under way."""
        with self._lock:
            beside = self._under_way
            self._under_way += 1
        try:
            yield self._meet(request, idled, beside)
        finally:
            with self._lock:
                self._under_way -= 1

    def at_head(self, request: Request) -> Do:
        """What befalls a request of which no more than the head is there; it is not counted."""
        return _merged([fault.do for fault in self._arms.faults if fault.when.holds(request)])

    def _meet(self, request: Request, idled: float | None, beside: int) -> Do:
        """Where two faults set the same thing the one named first wins."""
        hit = []
        arms = self._arms
        for index, fault in enumerate(arms.faults):
            if fault.when.holds(request) and fault.when.timely(idled, beside):
                with self._lock:
                    arms.counts[index] += 1
                    number = arms.counts[index]
                if fault.when.turn(number, fault.id):
                    hit.append(fault.do)
        return _merged(hit)


class _Arms:
    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults
        self.counts = [0] * len(faults)


def _merged(hit: Sequence[Do]) -> Do:
    nothing = Do()
    merged = {
        part.name: next(
            (value for do in hit if (value := getattr(do, part.name)) != getattr(nothing, part.name)),
            getattr(nothing, part.name),
        )
        for part in fields(Do)
    }
    return Do(**merged)
