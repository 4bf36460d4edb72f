"""How is the page that people read served, without costing what is measured meanwhile?"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_KEPT, _SHARE, _WAIT = 15.0, 20.0, 4.0
"""Seconds that a page is shown again; at least so many times as long as it took to make; that a reader waits for it."""


class Answer(NamedTuple):
    """`headers`: beside those of every answer, or in their place."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


class Page:
    """One that is made when somebody asks, one at a time and seldom; who would wait too long gets the one before.

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
        self._lock = threading.Lock()
        self._making: threading.Thread | None = None
        self._shown: Answer | None = None
        self._until = 0.0

    def __call__(self) -> Answer:
        making = self._begun()
        if making is not None:
            making.join(_WAIT)
        return self._shown or Answer(503, b"being made, try again\n", {"Retry-After": "5", "Refresh": "5"})

    def _begun(self) -> threading.Thread | None:
        """What makes one, where one is due or under way."""
        with self._lock:
            if (self._making is None or not self._making.is_alive()) and time.monotonic() >= self._until:
                self._making = threading.Thread(target=self._anew, name="page", daemon=True)
                self._making.start()
            return self._making

    def _anew(self) -> None:
        began = time.monotonic()
        try:
            self._shown = Answer(200, self._make(), self._headers)
        except UsageError as fault:
            said = " ".join(str(fault).split())
            self._shown = Answer(503, f"no page: {said}\n".encode("utf-8", "replace"))
        finally:
            now = time.monotonic()
            self._until = now + max(_KEPT, _SHARE * (now - began))
