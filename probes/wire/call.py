"""Which exchanges did one call make, and how is it ended from another thread?"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from contextvars import ContextVar
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from .lag import BOUND, LAG
from .tape import Tape

if TYPE_CHECKING:
    from collections.abc import Callable


class Ended(Exception):  # noqa: N818 - what the probe did, no error
    """The call was ended while it waited for a look-up or a connection."""


_REDIRECTS = range(300, 400)
under_way: ContextVar[CallRecord | None] = ContextVar("edgeprobe_call", default=None)
on_tape: ContextVar[Tape | None] = ContextVar("edgeprobe_tape", default=None)
"""Threads and tasks see what was set where they were started."""


def current() -> tuple[CallRecord, Tape] | None:
    """The call and the exchange under way here."""
    call, tape = under_way.get(), on_tape.get()
    return (call, tape) if call is not None and tape is not None else None


class CallRecord:
    """`now` gives seconds, `settings` are those of `recording`.

    Closing a socket does not wake a read that blocks on it; `shutdown` does, so a duplicate of each socket is kept
    for that.
    """

    def __init__(self, now: Callable[[], float], settings: dict[str, Any]) -> None:
        self.now = now
        self.settings = settings
        self._began = (now(), time.monotonic())
        self.ends = now() + settings["deadline"] if settings.get("deadline") is not None else None
        self.tapes: list[Tape] = []
        self.stopped: str | None = None
        self._sockets: list[socket.socket] = []
        self._waits: list[SimpleQueue[Any]] = []
        self._end: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def begin(self) -> Tape:
        """The tape of a further exchange; `paused` is for how many machine seconds its client waited to try again."""
        tape = Tape(self.now, self.settings["body_limit"], streamed=self.settings.get("streamed", False))
        if self.repeats and (since := self.tapes[-1].ended_at) is not None:
            tape.conditions["paused"] = round((self.now() - since) * self.settings["scale"], 6)
        self.tapes.append(tape)
        return tape

    @property
    def repeats(self) -> bool:
        """The next exchange is another attempt, and not where a redirect leads."""
        return bool(self.tapes) and (self.tapes[-1].status or 0) not in _REDIRECTS

    def watch(self, sock: socket.socket) -> None:
        """Keep a duplicate of `sock`, to end a read that blocks on it."""
        with self._lock:
            duplicate = socket.socket(fileno=os.dup(sock.fileno()))  # SSLSocket.dup() is refused
            self._sockets.append(duplicate)
            if self.stopped:
                _shut(duplicate)

    def beside(self, work: Callable[[], Any], discard: Callable[[Any], None] = lambda _: None) -> Any:
        """What `work` returns or raises, from a thread of its own: no look-up and no connect can be interrupted.

        Raises Ended when the call is ended first; what comes of the work then is discarded.
        """
        outcome: SimpleQueue[Any] = SimpleQueue()

        def run() -> None:
            try:
                got = work()
            except Exception as error:  # noqa: BLE001 - raised below, in the thread that waits
                outcome.put(error)
                return
            with self._lock:
                late = self.stopped is not None
            if late:
                discard(got)
            else:
                outcome.put(got)

        with self._lock:
            if self.stopped is not None:
                raise Ended
            self._waits.append(outcome)
        threading.Thread(target=run, daemon=True).start()
        got = outcome.get()
        with self._lock:
            self._waits.remove(outcome)
        if isinstance(got, Exception):
            raise got
        return got

    def when_stopped(self, end: Callable[[], None]) -> None:
        """Have `end`, which must not block, called when the call is stopped; at once when it was meanwhile.

        In place of the one before: hops of one call are made by one task, which is to be cancelled once.
        """
        with self._lock:
            self._end = end
            if self.stopped:
                end()

    def stop(self, why: str) -> None:
        with self._lock:
            self.stopped = self.stopped or why
            for sock in self._sockets:
                _shut(sock)
            for wait in self._waits:
                wait.put(Ended())
            if self._end is not None:
                self._end()

    def close(self) -> None:
        with self._lock:
            for sock in self._sockets:
                sock.close()
            self._sockets.clear()
            self._end = None  # a late deadline must not cancel what its task does next
        for tape in self.tapes:
            tape.ended(self.stopped)
        if self.settings.get("streamed"):
            self._note_stalls()

    def _note_stalls(self) -> None:
        """When this process itself ran late, in the seconds of each exchange: what was stamped then may be off."""
        here, machine = self._began
        stalls = [
            (
                here + (since - machine) / self.settings["scale"],
                here + (until - machine) / self.settings["scale"],
            )
            for since, until in LAG.since(machine)
        ]
        for tape in self.tapes:
            tape.note_stalls(stalls, BOUND / self.settings["scale"])

    def results(self) -> list[dict[str, Any]]:
        return [tape.result() for tape in self.tapes]


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # closed meanwhile, which is what we want
        sock.shutdown(socket.SHUT_RDWR)
