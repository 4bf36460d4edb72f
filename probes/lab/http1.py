"""How do HTTP/1.1 messages lie on the wire?"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

HEAD_MAX = 64 * 1024
BODY_MAX = 64 * 1024 * 1024

Fields = tuple[tuple[str, str], ...]
"""Header fields in wire order, names and values as they were written; names may repeat."""

_REASONS: dict[int, str] = {status.value: status.phrase for status in HTTPStatus}
LAST_CHUNK = b"0\r\n\r\n"


class Malformed(Exception):  # noqa: N818 - it says what the message is
    """Bytes that are no HTTP/1.1 message, or too many; `status` is what a server answers to them."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """A start line and its fields; `raw` holds the bytes as received, blank line included."""

    start: tuple[str, str, str]
    fields: Fields
    raw: bytes

    def get(self, name: str) -> str | None:
        """First value of a field; `name` in any case."""
        return next((value for key, value in self.fields if key.lower() == name.lower()), None)

    @property
    def chunked(self) -> bool:
        return "chunked" in (self.get("transfer-encoding") or "").lower()

    @property
    def length(self) -> int | None:
        """What Content-Length says; raises Malformed when that is no number."""
        value = self.get("content-length")
        if value is None:
            return None
        if not (value.isascii() and value.isdigit()):
            raise Malformed(HTTPStatus.BAD_REQUEST, f"Content-Length {value!r}")
        return int(value)

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this message."""
        options = (self.get("connection") or "").lower()
        return "close" in options or ("HTTP/1.0" in self.start and "keep-alive" not in options)


@dataclass(frozen=True, slots=True)
class Request:
    """`raw_body` keeps the framing the client chose, `body` is without it."""

    head: Head
    body: bytes
    raw_body: bytes

    @property
    def method(self) -> str:
        return self.head.start[0]

    @property
    def target(self) -> str:
        """As sent: path and query."""
        return self.head.start[1]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


def parse_head(raw: bytes) -> Head:
    """`raw` up to and with the blank line; raises Malformed."""
    first, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    start = (*first.split(" ", 2), "", "")[:3]
    # a request line ends in the version, a status line begins with it
    if not (start[0].startswith("HTTP/1.") or start[2].startswith("HTTP/1.")):
        raise Malformed(HTTPStatus.BAD_REQUEST, f"start line {first[:80]!r}")
    fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Malformed(HTTPStatus.BAD_REQUEST, f"header line {line[:80]!r}")
        fields.append((name, value.strip(" \t")))
    return Head((start[0], start[1], start[2]), tuple(fields), raw)


def response_head(status: int, fields: Fields, reason: str | None = None) -> bytes:
    """The bytes of a response head; fields go out as given."""
    if reason is None:
        reason = _REASONS.get(status, "")
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def chunk(payload: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(payload), payload)


class BodyReader:
    """Finds the payload and the end of a body while its bytes pass.

    `length`: a count of bytes, `None` with `chunked=False` means until the connection closes. `rest` holds what
    came after the end.
    """

    def __init__(self, *, length: int | None, chunked: bool) -> None:
        self._left = 0 if chunked else length
        self._chunked = chunked
        self._expect = "size"
        self._pending = b""
        self.done = not chunked and length == 0
        self.rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The payload in `data`, a chunk (or what came of it) at a time; raises Malformed."""
        if self.done:
            self.rest += data
            return []
        if self._chunked:
            return self._feed_chunked(data)
        if self._left is None:
            return [data]
        payload, self.rest = data[: self._left], data[self._left :]
        self._left -= len(payload)
        self.done = not self._left
        return [payload]

    def _feed_chunked(self, data: bytes) -> list[bytes]:
        self._pending += data
        found: list[bytes] = []
        while self._pending and not self.done:
            if self._expect == "payload":
                assert self._left is not None
                payload, self._pending = self._pending[: self._left], self._pending[self._left :]
                found.append(payload)
                self._left -= len(payload)
                if not self._left:
                    self._expect = "chunk end"
            elif not self._line():
                break
        if self.done:
            self.rest, self._pending = self._pending, b""
        return found

    def _line(self) -> bool:
        """Takes one line of framing; false when it has not arrived in full."""
        line, end, rest = self._pending.partition(b"\r\n")
        if not end:
            if len(self._pending) > HEAD_MAX:
                raise Malformed(HTTPStatus.BAD_REQUEST, "endless chunk line")
            return False
        self._pending = rest
        if self._expect == "size":
            try:
                self._left = int(line.partition(b";")[0], 16)
            except ValueError:
                raise Malformed(HTTPStatus.BAD_REQUEST, f"chunk size {line[:20]!r}") from None
            self._expect = "payload" if self._left else "trailer"
        elif self._expect == "chunk end":
            if line:
                raise Malformed(HTTPStatus.BAD_REQUEST, "chunk longer than it said")
            self._expect = "size"
        elif not line:
            self.done = True
        return True
