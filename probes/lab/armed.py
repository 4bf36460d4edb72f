"""Which faults befall this request?"""

from __future__ import annotations

import threading
from dataclasses import fields
from typing import TYPE_CHECKING

from probes.lab.faults import Do, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.lab.http1 import Request


class Armed:
    """The faults of one edge and how often each one's `when` has held."""

    def __init__(self, names: Sequence[str]) -> None:
        self._faults = named(names)
        self._counts = [0] * len(self._faults)
        self._lock = threading.Lock()

    def meet(self, request: Request) -> Do:
        """What befalls this request; where two faults set the same thing the one named first wins."""
        hit = []
        for index, fault in enumerate(self._faults):
            if fault.when.holds(request):
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
