"""How do the bytes of one answer pass from the upstream to the client, and when do they stop?"""

from __future__ import annotations

import math
import select
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.lab.connection import READABLE, Connection, Gone
from probes.lab.holding import Gate, Gzip
from probes.lab.http1 import (
    HEAD_MAX,
    LAST_CHUNK,
    BodyReader,
    Fields,
    Head,
    Malformed,
    chunk,
    parse_head,
    response_head,
)
from probes.lab.reshape import Reshaper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from probes.lab.faults import Answer, Do, How

_BODILESS = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}


class Instead(Exception):  # noqa: N818 - it says what to do
    """The upstream is dropped and the client, which was sent nothing yet, is to get `answer`. `unheard`: the upstream
    had said nothing, either.
    """

    def __init__(self, answer: Answer, *, unheard: bool = False) -> None:
        super().__init__()
        self.answer = answer
        self.unheard = unheard


class _Expired(Exception):  # noqa: N818 - it says what time it is
    def __init__(self, how: How, answer: Answer | None = None, last_words: str = "") -> None:
        super().__init__()
        self.how: How = how
        self.answer = answer
        self.last_words = last_words


class _Lost(Exception):  # noqa: N818 - it says where the upstream is
    def __init__(self, *, reset: bool) -> None:
        super().__init__()
        self.reset = reset


class Relay:
    """One answer on its way; `mark` gives the fields to send for those received, `ends` when all that is open is closed."""

    def __init__(
        self,
        client: Connection,
        upstream: Connection,
        do: Do,
        mark: Callable[[Fields], Fields],
        ends: float | None = None,
    ) -> None:
        self._client = client
        self._gate = Gate(do.hold, client.send)
        self._gzip: Gzip | None = None
        self._ends = ends
        self._upstream = upstream
        self._do = do
        self._mark = mark
        self._now = client.clock.now
        self._started = self._last_read = self._last_write = self._now()
        self._heard = False
        self._opened: float | None = None
        self._chunked = False
        self._reshaper: Reshaper | None = None
        self._fills = False
        self._poll = select.poll()
        for connection in (client, upstream):
            self._poll.register(connection.sock, READABLE)

    def run(self, method: str) -> bool:
        """True when the client's connection may carry another request.

        Raises Instead; Malformed when the upstream sent no answer; Gone when the client left.
        """
        try:
            head, ahead = self._read_head()
            if self._do.replace and int(head.start[1]) in self._do.replace.statuses:
                raise Instead(self._do.replace.answer)
            self._open(head)
            return self._pass_body(head, ahead, method)
        except _Expired as expired:
            if self._opened is None and expired.answer:
                raise Instead(expired.answer, unheard=not self._heard) from None
            return self._finish(expired.how, expired.last_words)
        except _Lost as lost:
            if self._opened is None:
                raise Malformed(HTTPStatus.BAD_GATEWAY, "upstream left without an answer") from None
            return self._finish("reset" if lost.reset else "close")
        except Malformed:
            if self._opened is None:
                raise
            return self._finish("close")

    def _read_head(self) -> tuple[Head, bytes]:
        raw = b""
        while True:
            while (end := raw.find(b"\r\n\r\n")) < 0:
                if len(raw) > HEAD_MAX:
                    raise Malformed(HTTPStatus.BAD_GATEWAY, "head over 64 KiB")
                raw += self._read()
            head, raw = parse_head(raw[: end + 4]), raw[end + 4 :]
            if not head.start[1].isdigit():
                raise Malformed(HTTPStatus.BAD_GATEWAY, "no status")
            if int(head.start[1]) >= HTTPStatus.OK:
                return head, raw

    def _open(self, head: Head) -> None:
        events = (head.get("content-type") or "").startswith("text/event-stream")
        self._fills = self._do.fill is not None and events == self._do.fill.events
        fields = _chunked(head.fields) if self._fills and head.length is not None else head.fields
        if self._do.gzip and events:
            self._gzip = Gzip(flushed=self._do.gzip == "flushed")
            fields = (*_chunked(head.fields), ("content-encoding", "gzip"), ("vary", "accept-encoding"))
        self._chunked = head.chunked or fields is not head.fields
        if self._do.reshapes or self._gzip:
            self._reshaper = Reshaper(self._do, events=events)
        self._gate.write(response_head(int(head.start[1]), self._mark(fields), reason=head.start[2]))
        self._opened = self._last_write = self._now()
        if self._fills and self._do.fill:
            self._insert(self._do.fill.text)

    def _pass_body(self, head: Head, data: bytes, method: str) -> bool:
        bodiless = method == "HEAD" or int(head.start[1]) in _BODILESS
        reader = BodyReader(length=0 if bodiless else head.length, chunked=head.chunked and not bodiless)
        until_close = not head.chunked and head.length is None and not bodiless
        while not reader.done:
            try:
                data = data or self._read()
            except _Lost as lost:
                if until_close and not lost.reset:
                    break
                raise
            payload = reader.feed(data)
            if self._reshaper is None:
                self._write(data[: len(data) - len(reader.rest)])
            elif self._reshape(payload, done=reader.done):
                assert self._do.cut is not None
                return self._finish(self._do.cut.how, self._do.cut.last_words)
            data = b""
        self._gate.open()
        return not (until_close or head.closes)

    def _reshape(self, payload: list[bytes], *, done: bool) -> bool:
        """Writes what becomes of the payload; true when the response must end here."""
        assert self._reshaper is not None
        for part in payload:
            for piece in self._reshaper.feed(part):
                self._write(self._framed(piece))
            if self._reshaper.cut:
                return True
        if done:
            for piece in self._reshaper.rest():
                self._write(self._framed(piece))
            if self._gzip:
                self._write(chunk(self._gzip.rest()))
            if self._chunked:
                self._write(LAST_CHUNK)
        return False

    def _finish(self, how: How, last_words: str = "") -> bool:
        """Ends the answer; true when that left the connection usable."""
        self._insert(last_words)
        self._gate.open()
        if how == "reset":
            self._client.reset()
        elif how == "clean" and self._opened is not None and self._chunked:
            self._write(LAST_CHUNK)
            self._gate.open()
            return True
        return False

    def _insert(self, text: str) -> None:
        for piece in self._reshaper.written(text.encode()) if self._reshaper else (text.encode(),):
            if piece:
                self._write(self._framed(piece))

    def _framed(self, piece: bytes) -> bytes:
        if self._gzip:
            packed = self._gzip.feed(piece)
            return chunk(packed) if packed else b""
        return chunk(piece) if self._chunked else piece

    def _write(self, data: bytes) -> None:
        self._gate.write(data)
        self._last_write = self._now()

    def _read(self) -> bytes:
        """The upstream's next bytes; raises _Expired and _Lost, and Gone when the client left."""
        while True:
            due, expired = min(self._deadlines(), key=lambda deadline: deadline[0], default=(math.inf, None))
            left = due - self._now()
            if left <= 0:
                if expired:
                    raise expired
                assert self._do.fill is not None
                self._insert(self._do.fill.text)
                continue
            # poll takes whole milliseconds: rounded up, so that no timer ends early
            wait = None if math.isinf(left) else math.ceil(self._client.clock.machine(left) * 1000)
            for fd, _ in self._poll.poll(wait):
                if fd == self._upstream.sock.fileno():
                    return self._received()
                if self._client.left():
                    raise Gone
                self._poll.unregister(fd)  # it talks out of turn

    def _received(self) -> bytes:
        try:
            data = self._upstream.receive()
        except Gone as gone:
            raise _Lost(reset=gone.reset) from None
        if not data:
            raise _Lost(reset=False)
        self._heard = True
        self._last_read = self._now()
        return data

    def _deadlines(self) -> Iterator[tuple[float, _Expired | None]]:
        """When what runs out; `None` is a fill that is due."""
        do = self._do
        for timer, since in (
            (None if self._heard else do.first_byte_timer, self._started),
            (do.idle_timer, self._last_read),
            (do.total_timer, self._started),
        ):
            if timer:
                yield since + timer.seconds, _Expired(timer.how, timer.answer, timer.last_words)
        if self._ends is not None:
            yield self._ends, _Expired("close")
        if self._opened is not None:
            if do.cut and do.cut.after_seconds is not None:
                yield self._opened + do.cut.after_seconds, _Expired(do.cut.how, last_words=do.cut.last_words)
            if do.fill and self._fills:
                yield self._last_write + do.fill.every, None


def _chunked(fields: Fields) -> Fields:
    """Of a body whose length is not known beforehand."""
    framing = {"content-length", "transfer-encoding"}
    kept = tuple((name, value) for name, value in fields if name.lower() not in framing)
    return (*kept, ("transfer-encoding", "chunked"))
