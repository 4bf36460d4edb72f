"""Has somebody asked this run to stop, and who must hear of it?

The main thread waits here while lanes work, so that Ctrl-C reaches it: a second one is not held back.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TICK = 0.2
_GRACE = 2.0
"""Machine seconds that a call is waited for after it was ended."""


class Stop:
    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._ends: list[Callable[[str], None]] = []
        self.reason: str | None = None

    def __call__(self, reason: str) -> None:
        """End every call under way, and let none begin."""
        with self._lock:
            self.reason = self.reason or reason
            ends, self._ends = self._ends, []
        self._event.set()
        for end in ends:
            end(reason)

    @contextmanager
    def listening(self) -> Iterator[Callable[[Callable[[str], None]], None]]:
        """Gives a function that registers an end: called with the reason when the run is stopped while the context
        lasts; at once when it already was.
        """
        mine: list[Callable[[str], None]] = []

        def on_stop(end: Callable[[str], None]) -> None:
            with self._lock:
                if self.reason is None:
                    mine.append(end)
                    self._ends.append(end)
                    return
            end(self.reason)

        try:
            yield on_stop
        finally:
            with self._lock:
                self._ends = [end for end in self._ends if end not in mine]

    def wait(self, seconds: float) -> None:
        """Machine seconds, or until stopped."""
        if seconds > 0:
            self._event.wait(seconds)

    def join(self, thread: threading.Thread) -> None:
        """Wait for a call's thread, but after a stop not for one that does not come back."""
        while thread.is_alive() and not self._event.is_set():
            thread.join(_TICK)
        thread.join(_GRACE)

    def guard(self, ended: threading.Event) -> None:
        """Wait for a lane's end in the main thread; Ctrl-C stops the run, and the lane then ends by itself.

        An event, since `Thread.join` takes a thread for ended when it is interrupted
        (CPython 3.11, Lib/threading.py, `_wait_for_tstate_lock`).
        """
        while not ended.is_set():
            try:
                ended.wait()
            except KeyboardInterrupt:
                if self.reason is not None:
                    raise
                self("interrupted")
