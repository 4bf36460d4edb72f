"""What does a response over HTTP/1.1 say, from its plain bytes alone?

For clients whose own reading can't be observed: whatever they make of the bytes, these are what came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .chunks import Dechunker

if TYPE_CHECKING:
    from .tape import Tape

_MAX_HEAD = 256 * 1024
_BODYLESS = {204, 304}
_SWITCHING = 101


class Unreadable(Exception):  # noqa: N818 - what a server sent, no error of ours
    """What came is no response of HTTP/1."""


class Reader:
    """Puts one response on a tape. `method`: of its request; an answer to HEAD has no body.

    `done`: it came whole. `feed` raises BodyLimit where more comes than is decoded.
    """

    def __init__(self, tape: Tape, method: str) -> None:
        self._tape = tape
        self._method = method
        self._head = bytearray()
        self._dechunk: Dechunker | None = None
        self._left: int | None = None
        self._broken = self._open = False
        self.done = False

    def feed(self, data: bytes) -> None:
        """Bytes that the socket has given just now."""
        self._tape.read(data)
        if self._open:
            self._body(data)
            return
        self._head += data
        if self._tape.foreign:
            self._refuse("what came begins as no HTTP response does")
            return
        while True:
            head, found, rest = bytes(self._head).partition(b"\r\n\r\n")
            if not found:
                if len(head) > _MAX_HEAD:
                    self._refuse(f"Got more than {_MAX_HEAD} bytes when reading the head")
                return
            self._head = bytearray(rest)
            if not self._interim(head):
                break
        self._body(rest)

    def closed(self) -> None:
        """The connection is over: the end of a body that has no other, else of nothing that is whole."""
        if self.done or self._broken:
            return
        if self._tape.status is not None and self._dechunk is None and self._left is None:
            self._whole()
        else:
            self._tape.failed(ConnectionError("the server closed the connection"))
            if self._tape.error is not None and not self._tape.foreign:
                self._tape.error["kind"] = "closed"

    def _interim(self, head: bytes) -> bool:
        """Puts the head on the tape, unless another is to come."""
        first, *lines = head.split(b"\r\n")
        version, _, rest = first.partition(b" ")
        code = rest[:3]
        if not version.startswith(b"HTTP/1.") or not code.isdigit():
            self._refuse(f"no status line: {first[:80].decode('latin-1')}")
            return False
        status = int(code)
        if 100 <= status < 200 and status != _SWITCHING:
            return True
        pairs = [(name.strip(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        held = {name.lower(): value for name, value in pairs}
        if b"chunked" in held.get(b"transfer-encoding", b"").lower():
            self._dechunk = Dechunker()
        elif held.get(b"content-length", b"").isdigit():
            self._left = int(held[b"content-length"])
        self._open = True
        self._tape.head(status, pairs, version.decode("latin-1"))
        if self._method == "HEAD" or status in _BODYLESS or self._left == 0:
            self._whole()
        return False

    def _body(self, data: bytes) -> None:
        if self._broken or self.done:
            return
        if self._dechunk is not None:
            data = self._dechunk.feed(data)
        elif self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        if data:
            self._tape.body(data)
        if self._left == 0 or (self._dechunk is not None and self._dechunk.done):
            self._whole()

    def _whole(self) -> None:
        self.done = True
        self._tape.whole()

    def _refuse(self, why: str) -> None:
        self._broken = True
        self._tape.failed(Unreadable(why))
