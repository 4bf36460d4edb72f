"""What happened in one exchange, from the first look-up to the last byte?"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import re
import socket
import ssl
from typing import TYPE_CHECKING, Any

from .certificate import certificate_facts
from .content import BodyLimit, Content
from .lag import Unread, longest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MAX_HEAD = 256 * 1024
_HTTP = b"HTTP/"


class Refused(Exception):  # noqa: N818 - what the probe did, no error
    """A further request of the same call that the probe does not send, such as after one redirect too many."""


class Tape:
    """Marks and bytes of one exchange. `now` gives seconds; all marks are relative to the tape's start."""

    def __init__(self, now: Callable[[], float], body_limit: int, *, streamed: bool = False) -> None:
        self._now = now
        self._start = now()
        self._body_limit = body_limit
        self._streamed = streamed
        self.marks: dict[str, float] = {}
        self.conditions: dict[str, Any] = {}
        self.error: dict[str, str] | None = None
        self.phase = "headers"
        self._sent_head = bytearray()
        self._sent_digest = hashlib.sha256()
        self._sent_body = 0
        self._head_done = False
        self._read_at = 0.0
        self.unread = Unread()
        self._opening = b""
        self.reads_seen = True
        """Whether each read of the socket is; else a part of the body is as old as its delivery."""
        self.url = ""
        self.status: int | None = None
        self.headers: dict[str, list[str]] = {}
        self._content: Content | None = None
        self._complete: bool | None = None

    def now(self) -> float:
        return self._now() - self._start

    @property
    def ended_at(self) -> float | None:
        """By the clock that the tape was given."""
        end = self.marks.get("end")
        return None if end is None else self._start + end

    def mark(self, name: str) -> None:
        self.marks[name] = self.now()

    # --- what was sent -----------------------------------------------------------------------------------

    def wrote(self, data: bytes, started: float) -> None:
        """Bytes that the socket has taken; `started` is when the first of them was offered."""
        self.marks.setdefault("upload_start", started)
        self.mark("upload_end")
        if self._head_done:
            self._sent(data)
            return
        self._sent_head += data
        end = self._sent_head.find(b"\r\n\r\n")
        if end >= 0 or len(self._sent_head) > _MAX_HEAD:
            self._head_done = True
            body = bytes(self._sent_head[end + 4 :]) if end >= 0 else b""
            del self._sent_head[max(end, 0) :]
            self._sent(body)

    def _sent(self, body: bytes) -> None:
        self._sent_body += len(body)
        self._sent_digest.update(body)

    @property
    def asked_for_tunnel(self) -> bool:
        return self._sent_head.startswith(b"CONNECT ")

    @property
    def asked_of_proxy(self) -> bool:
        """The request line holds a full URL, or asks for a tunnel."""
        target = self._sent_head.partition(b"\r\n")[0].partition(b" ")[2]
        return self.asked_for_tunnel or not target.startswith((b"/", b"*"))

    @property
    def sent_body(self) -> int:
        """Bytes of the request's body that the socket has taken."""
        return self._sent_body

    @property
    def head_sent(self) -> bool:
        return self._head_done

    def note_stalls(self, stalls: Iterable[tuple[float, float]], bound: float) -> None:
        """Those of the exchange that are longer than `bound`; times of the clock that the tape was given."""
        own = [(since - self._start, until - self._start) for since, until in stalls]
        if kept := longest([*own, *self.unread.stalls], bound, self.marks.get("end", self.now())):
            self.conditions["stalls"] = kept

    def note_tls(self, secured: Any) -> None:
        self.conditions["tls"] = certificate_facts(secured)

    def tunnelled(self) -> None:
        """All that was written so far asked a proxy for a tunnel; the request itself comes now."""
        self._sent_head.clear()
        self._sent_digest = hashlib.sha256()
        self._sent_body = 0
        self._head_done = False
        self._opening = b""
        self.marks.pop("upload_start", None)
        self.marks.pop("upload_end", None)

    # --- what was received -------------------------------------------------------------------------------

    def read(self, data: bytes) -> None:
        """Bytes of the response have just come in."""
        self._read_at = self.now()
        self.unread.came(self._read_at)
        if len(self._opening) < len(_HTTP):
            self._opening += data[: len(_HTTP) - len(self._opening)]

    @property
    def foreign(self) -> bool:
        """What came begins as no HTTP response does."""
        return not _HTTP.startswith(self._opening)

    @property
    def heard(self) -> bool:
        """Something came that a client took for a response, or could not."""
        return bool(self._opening)

    def head(self, status: int, headers: Iterable[tuple[bytes, bytes]], version: str) -> None:
        """Raises BodyLimit where the body is not worth a beginning."""
        self.marks["headers"] = self._read_at
        self.status = status
        for name, value in headers:
            self.headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        self.conditions["http_version"] = version
        content_type = self.headers.get("content-type", [""])[0]
        encoding = ", ".join(self.headers.get("content-encoding", []))
        self.error = None  # a server may answer and hang up before it has read all: then that was not the end
        try:
            self._content = Content(content_type, encoding, self._body_limit, streamed=self._streamed)
        except BodyLimit as error:
            self.failed(error)
            raise
        finally:
            self.phase = "body"

    def body(self, data: bytes) -> None:
        assert self._content is not None
        self._content.feed(data, self._read_at if self.reads_seen else self.now())

    @property
    def framed(self) -> bool:
        """The body says itself where it ends; else its end is that of the connection, whoever made it."""
        http1 = self.conditions.get("http_version", "").startswith("HTTP/1")
        return not http1 or not {"content-length", "transfer-encoding"}.isdisjoint(self.headers)

    def whole(self) -> None:
        """The body's own framing said that it is over."""
        self._complete = True

    def failed(self, error: BaseException, *, phase: str | None = None) -> None:
        """The first failure stands: what a layer above makes of it is the same failure again."""
        if isinstance(error, asyncio.CancelledError) and self.phase == "body" and phase is None:
            return  # a client's own early close, such as 0.1 s after the end marker (openai/_streaming_cleanup.py)
        if self.error is None:
            kind, text = classify(error)
            if kind in {"reset", "closed", "oversize"} and self.foreign:
                kind = "protocol"
            where = phase or self._where()
            if kind == "lost" and where in {"dns", "connect", "tls"}:
                kind = "timeout"  # nothing was there yet that could get lost
            self.error = {"kind": kind, "phase": where, "text": text}

    def _where(self) -> str:
        return "connect" if self.asked_for_tunnel else self.phase

    def ended(self, why: str | None) -> None:
        """`why`: `deadline` or `interrupted` when we ended it, which then is the error, whatever the socket said."""
        if "end" in self.marks:
            return
        self.mark("end")
        if why is not None and not self._complete:
            text = "the probe's own deadline" if why == "deadline" else "the run was interrupted"
            self.error = {
                "kind": why,
                "phase": self.error["phase"] if self.error else self._where(),
                "text": text,
            }

    def result(self) -> dict[str, Any]:
        """The exchange as a plain dict: `request`, `status`, `headers`, `timeline`, `error`, `conditions`, content."""
        self.marks.setdefault("end", self.now())
        complete = False if self.error and self.phase == "body" else self._complete
        content = self._content or Content("", "", self._body_limit)
        seen = content.result(complete=complete)
        marks = {**self.marks, **content.facts.marks}
        if content.first is not None:
            marks |= {"first_byte": content.first, "last_byte": content.last or content.first}
        return {
            "request": self._request(),
            "status": self.status,
            "headers": self.headers,
            "timeline": marks,
            "error": self.error,
            "conditions": self.conditions,
            **seen,
        }

    def _request(self) -> dict[str, Any]:
        first, *lines = bytes(self._sent_head).decode("latin-1").split("\r\n")
        pairs = [line.partition(":") for line in lines if line]
        return {
            "method": first.partition(" ")[0],
            "url": self.url,
            "headers": [(name, value.strip()) for name, _, value in pairs],
            "body_bytes": self._sent_body,
            "body_digest": f"sha256:{self._sent_digest.hexdigest()}" if self._sent_body else None,
        }


def classify(error: BaseException) -> tuple[str, str]:
    """(`dns · connect · tls · reset · closed · timeout · lost · limit · protocol · oversize · proxy`, text) of a transport
    error.

    The library's own class says what it was doing, the OSError below it says what the system said. `timeout` is a limit of
    the library's own, `lost` the system's: what it sent was not acknowledged.
    """
    chain = [error]
    while (below := chain[-1].__cause__ or chain[-1].__context__) is not None and below not in chain:
        chain.append(below)
    text = next((said for e in reversed(chain) if (said := _said(e))), type(error).__name__)
    if _OVERSIZE.search(text):
        return "oversize", text
    if any(isinstance(found, OSError) and found.errno == errno.ETIMEDOUT for found in chain):
        return "lost", text
    for found in reversed(chain):
        for kinds, kind in _BY_TYPE:
            if isinstance(found, kinds):
                return kind, text
        for part, kind in _OF_AIOHTTP:
            if part in type(found).__name__:
                return kind, text
    name = type(error).__name__
    if "RemoteProtocolError" in name:
        return ("closed" if "disconnected" in text or "closed" in text else "protocol"), text
    return next((kind for part, kind in _BY_NAME if part in name), "protocol"), text


def _said(error: BaseException) -> str:
    """One line; aiohttp's errors say their `message` best, and one of a proxy also its answer's status."""
    message = getattr(error, "message", None)
    if not isinstance(message, str):
        return str(error)
    status = f"{getattr(error, 'status', '')} " if "HttpProxy" in type(error).__name__ else ""
    return " ".join(f"{status}{message}".split())


# Of a response's head: h11 0.16 above 100 KiB as httpcore sets it, aiohttp 3.14 above 8,190 bytes a line or 128 lines.
_OVERSIZE = re.compile(
    r"^(?:Receive buffer too long|Too many headers received|Got more than \d+ bytes when reading)"
)
_BY_TYPE: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    ((BodyLimit, Refused), "limit"),
    (socket.gaierror, "dns"),
    (ssl.SSLError, "tls"),
    ((ConnectionRefusedError,), "connect"),
    ((ConnectionResetError, BrokenPipeError, ConnectionAbortedError), "reset"),
    (TimeoutError, "timeout"),
)
_OF_AIOHTTP = (
    ("ServerDisconnectedError", "closed"),
    ("ContentLengthError", "closed"),
    ("TransferEncodingError", "closed"),
    ("ClientHttpProxyError", "proxy"),
)
"""Looked for below what an SDK makes of them: openai 3.57 calls a closed connection a time-out."""
_BY_NAME = (
    ("Timeout", "timeout"),
    ("ProxyError", "proxy"),
    ("ConnectError", "connect"),
    ("ReadError", "reset"),
    ("WriteError", "reset"),
)
