"""What can be done with one TCP connection of the lab?

A blocking socket that every wait watches: a wait ends early when the peer leaves or when the server closes, since
both make the socket readable. So no thread of the lab ever sleeps past its reason to live.
"""

from __future__ import annotations

import math
import select
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Self

from probes.lab.http1 import BODY_MAX, HEAD_MAX, BodyReader, Head, Malformed, Request, parse_head

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from probes.clock import Clock

_CHUNK = 64 * 1024
_NO_LINGER = struct.pack("ii", 1, 0)
_BLIND = 0.01
"""Machine seconds slept without a look at the peer: poll knows whole milliseconds only, and a token at scale 0.02 is
due every 5.5 of them."""
_LINGERS = 1.0
"""Machine seconds that a peer has to take its answer."""
_GULP = 0.1
"""Seconds between two reads of a body that arrives slowly, or as many as a byte takes."""
READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class Gone(Exception):  # noqa: N818 - it says where the peer is
    """The peer closed or reset the connection, or the lab is closing; `reset` tells which of the first two."""

    def __init__(self, *, reset: bool = False) -> None:
        super().__init__("reset" if reset else "closed")
        self.reset = reset


class TooSlow(Exception):  # noqa: N818 - it says how the request came
    """The body of the request with this head was not there in the time that it had."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head


@dataclass(frozen=True, slots=True)
class Uplink:
    """How a request's body arrives: `rate` bytes a second, and all of it within `limit` seconds; `None` is at once,
    and whenever.
    """

    rate: float | None = None
    limit: float | None = None


class Connection:
    """One accepted or dialled socket with what was read from it ahead of use."""

    def __init__(self, sock: socket.socket, clock: Clock) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.clock = clock
        self.peer = ""
        """The other side's address, where it is known."""
        with suppress(OSError):  # not dialled yet, or gone already
            self.peer = str(sock.getpeername()[0])
        self.uplink: Callable[[Head], Uplink] = lambda _: Uplink()
        """How the body behind a head is to arrive."""
        self.patience: float | None = None
        """Seconds that the next request is waited for."""
        self.idled: float | None = None
        """Seconds between the answer before and the request that came last; `None` for the first."""
        self._rests_since: float | None = None
        self._ahead = b""
        self._poll = select.poll()
        self._poll.register(sock, READABLE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        """Raises Gone."""
        try:
            self.sock.sendall(data)
        except OSError as fault:
            raise Gone(reset=isinstance(fault, ConnectionResetError)) from None

    def receive(self) -> bytes:
        """Bytes as they come, empty when the peer has closed; raises Gone on a reset."""
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        try:
            return self.sock.recv(_CHUNK)
        except OSError as fault:
            raise Gone(reset=isinstance(fault, ConnectionResetError)) from None

    def left(self) -> bool:
        """Whether the peer has gone; asked of a readable socket."""
        try:
            return not self.sock.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def wait(self, seconds: float | None) -> None:
        """Let `seconds` pass, `None` for as long as the peer stays; raises Gone when it leaves first."""
        due = math.inf if seconds is None else time.monotonic() + self.clock.machine(seconds)
        look: int | None
        while (remaining := due - time.monotonic()) > 0:
            if remaining <= _BLIND:
                time.sleep(remaining)
                look = 0
            else:
                look = None if math.isinf(remaining) else max(1, int((remaining - _BLIND) * 1000))
            if self._poll.poll(look):
                if self.left():
                    raise Gone
                time.sleep(0.001)  # it talks out of turn

    def read_head(self) -> Head | None:
        """The next message's head, `None` when the peer closed before its first byte; raises Gone, Malformed."""
        raw = b""
        while (end := raw.find(b"\r\n\r\n")) < 0:
            if len(raw) > HEAD_MAX:
                raise Malformed(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "head over 64 KiB")
            data = self.receive()
            if not data:
                if raw:
                    raise Malformed(HTTPStatus.BAD_REQUEST, "closed inside the head")
                return None
            raw = (raw + data).lstrip(b"\r\n")
        self._ahead = raw[end + 4 :]
        return parse_head(raw[: end + 4])

    def rest(self) -> None:
        """An answer is over; the connection idles until the next request."""
        self._rests_since = self.clock.now()

    def next_request(self) -> Request | None:
        """As `read_request`, and `None` as well when none came in time."""
        if not self._ahead:
            wait = None if self.patience is None else self.clock.machine(self.patience) * 1000
            if not self._poll.poll(wait):
                return None
        self.idled = None if self._rests_since is None else self.clock.now() - self._rests_since
        return self.read_request()

    def read_request(self) -> Request | None:
        """The next request in full, `None` when the peer is done; raises Gone, Malformed, TooSlow."""
        head = self.read_head()
        if head is None:
            return None
        uplink = self.uplink(head)
        due = math.inf if uplink.limit is None else self.clock.now() + uplink.limit
        length = head.length or 0
        if length > BODY_MAX:
            raise Malformed(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body over 64 MiB")
        reader = BodyReader(length=length, chunked=head.chunked)
        if (head.get("expect") or "").lower() == "100-continue" and not reader.done and not self._ahead:
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        raw: list[bytes] = []
        body: list[bytes] = []
        size = 0
        while not reader.done:
            data = self._brought(uplink.rate, due - self.clock.now())
            if data is None:
                raise TooSlow(head)
            if not data:
                raise Gone
            size += len(data)
            if size > BODY_MAX:
                raise Malformed(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body over 64 MiB")
            body += reader.feed(data)
            raw.append(data)
        self._ahead, whole = reader.rest + self._ahead, b"".join(raw)
        return Request(head, b"".join(body), whole[: len(whole) - len(reader.rest)])

    def _brought(self, rate: float | None, left: float) -> bytes | None:
        """The body's next bytes, `None` where none are there in the seconds that are left."""
        if rate is not None:
            gulp = max(_GULP, 1 / rate)
            pause = min(gulp, left)
            time.sleep(max(0.0, self.clock.machine(pause)))
            left -= pause
        wait = None if math.isinf(left) else math.ceil(self.clock.machine(max(0.0, left)) * 1000)
        if left <= 0 or not (self._poll.poll(0 if self._ahead else wait) or self._ahead):
            return None
        data = self.receive()
        if rate is not None:
            most = max(1, int(rate * gulp))
            data, self._ahead = data[:most], data[most:]
            if self._ahead and self._poll.poll(0) and self.left():
                raise Gone
        return data

    def reset(self) -> None:
        """End with a RST: the peer sees a reset, unread bytes are lost."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.sock.close()

    def linger(self) -> None:
        """Says that nothing more will come and reads on until the peer has left: unread bytes would turn the close into
        a reset, which may take the answer with it.
        """
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)
            due = time.monotonic() + _LINGERS
            while self._poll.poll(max(0.0, due - time.monotonic()) * 1000) and self.sock.recv(_CHUNK):
                pass

    def wake(self) -> None:
        """Ends every wait and read on this connection, from any thread; closing alone would not."""
        with suppress(OSError):  # never connected, or closed already
            self.sock.shutdown(socket.SHUT_RDWR)
