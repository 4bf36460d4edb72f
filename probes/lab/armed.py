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
        self._faults = named(faults)
        self._counts = [0] * len(self._faults)
        self._under_way = 0
        self._lock = threading.Lock()

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
        return _merged([fault.do for fault in self._faults if fault.when.holds(request)])

    def _meet(self, request: Request, idled: float | None, beside: int) -> Do:
        """Where two faults set the same thing the one named first wins."""
        hit = []
        for index, fault in enumerate(self._faults):
            if fault.when.holds(request) and fault.when.timely(idled, beside):
                with self._lock:
                    self._counts[index] += 1
                    beyond = self._counts[index] - fault.when.after
                if beyond > 0 and beyond % fault.when.every == 0:
                    hit.append(fault.do)
        return _merged(hit)


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
