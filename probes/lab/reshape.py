"""How is a body changed while it passes?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.lab.faults import Cut, Do

_ENDS = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}


_GOES_ON = 0x80
"""The two highest bits of a byte that is not the first of its character."""


class Reshaper:
    """Turns payload into the pieces to write; `cut` becomes true where the response must end.

    Works on LF-framed events, which is how the lab's origin writes them.
    """

    def __init__(self, do: Do, *, events: bool) -> None:
        self._cut: Cut | None = do.cut
        self._end = _ENDS[do.line_end]
        self._single = do.one_byte_writes
        self._events = events
        self._rewrite = [(re.compile(found, re.DOTALL), put) for found, put in do.rewrite.items()]
        self._decoded_by, self._cut_by = do.decoded_by, do.cut_by
        self._pending = b""
        self._seen_events = 0
        self._seen_bytes = 0
        self.cut = False

    def feed(self, payload: bytes) -> Iterator[bytes]:
        """The pieces that `payload` completes."""
        for part in self._parts(payload):
            piece = self._within(self._changed(part) if self._events else part)
            if piece:
                yield from self.written(piece)
            if self.cut:
                return

    def written(self, piece: bytes) -> Iterator[bytes]:
        """One piece as the writes it takes, in the line ends of this stream."""
        if self._events:
            piece = piece.replace(b"\n", self._end)
        if self._single:
            yield from (piece[n : n + 1] for n in range(len(piece)))
        else:
            yield piece

    def rest(self) -> Iterator[bytes]:
        """What an unfinished event left, at the end of the body."""
        if self._pending:  # an empty piece would be the last chunk
            yield from self.written(self._pending)

    def _parts(self, payload: bytes) -> Iterator[bytes]:
        if not self._events:
            yield payload
            return
        self._pending += payload
        while b"\n\n" in self._pending:
            event, _, self._pending = self._pending.partition(b"\n\n")
            yield event + b"\n\n"

    def _changed(self, event: bytes) -> bytes:
        for found, put in self._rewrite:
            event = found.sub(put, event.decode()).encode()
        if size := self._decoded_by:
            parts = (event[n : n + size] for n in range(0, len(event), size))
            event = "".join(part.decode("utf-8", "replace") for part in parts).encode()
        if size := self._cut_by:
            parts = (event[n : n + size] for n in range(0, len(event), size))
            event = b"".join(part[1:] if part[0] & 0xC0 == _GOES_ON else part for part in parts)
        return event

    def _within(self, part: bytes) -> bytes:
        """What the cut leaves of this part."""
        cut = self._cut
        if cut is None:
            return part
        if self._events and cut.before is not None and cut.before.encode() in part:
            self.cut = True
            return b""
        self._seen_events += self._events
        if cut.after_bytes is not None and self._seen_bytes + len(part) >= cut.after_bytes:
            self.cut = True
            part = part[: cut.after_bytes - self._seen_bytes]
        self._seen_bytes += len(part)
        if cut.after_events is not None and self._seen_events >= cut.after_events:
            self.cut = True
        return part
