"""How is the page that people read served, without costing what is measured meanwhile?"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_KEPT, _SHARE, _WAIT = 15.0, 20.0, 4.0
"""Seconds that a page is shown again; at least so many times as long as it took to make; for the first one that another
reader has made.
"""


class Answer(NamedTuple):
    """`headers`: beside those of every answer, or in their place."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


class Page:
    """One that is made when somebody asks, by one reader at a time and seldom; the others get the one before.

    `make`: raises UsageError where what it is made of can't be read. `policy`: what it may load and run.
    """

    def __init__(self, make: Callable[[], bytes], policy: str) -> None:
        self._make = make
        self._headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
        }
        self._making = threading.Lock()
        self._shown: Answer | None = None
        self._until = 0.0

    def __call__(self) -> Answer:
        if not self._making.acquire(timeout=_WAIT if self._shown is None else 0):
            return self._shown or Answer(503, b"being made, try again\n", {"Retry-After": "5"})
        try:
            if self._shown is None or time.monotonic() >= self._until:
                self._shown = self._made()
            return self._shown
        finally:
            self._making.release()

    def _made(self) -> Answer:
        began = time.monotonic()
        try:
            return Answer(200, self._make(), self._headers)
        except UsageError as fault:
            said = " ".join(str(fault).split())
            return Answer(503, f"no page: {said}\n".encode("utf-8", "replace"))
        finally:
            now = time.monotonic()
            self._until = now + max(_KEPT, _SHARE * (now - began))
