"""What do the sockets of another program say of its exchanges?

`node/sockets.js` reports them: one JSON object an event, with the socket's number, the machine seconds since the program
began, and the plain bytes that passed.
"""

from __future__ import annotations

import base64
import time
from typing import Any

from .content import BodyLimit
from .http1 import Reader
from .tape import Tape

_DAY = 86_400
# Node's names of what a socket met → how the transport ended.
_KINDS = {
    "ENOTFOUND": "dns", "EAI_AGAIN": "dns", "EAI_FAIL": "dns", "ENODATA": "dns", "ECONNREFUSED": "connect",
    "EHOSTUNREACH": "connect", "ENETUNREACH": "connect", "EADDRNOTAVAIL": "connect", "ECONNRESET": "reset",
    "EPIPE": "reset", "ECONNABORTED": "reset", "ETIMEDOUT": "lost", "EPROTO": "tls",
}  # fmt: skip
_OF_TLS = ("ERR_SSL", "ERR_TLS", "CERT_", "UNABLE_TO_", "DEPTH_ZERO_", "SELF_SIGNED_", "HOSTNAME_")
_IN_HANDSHAKE = "before secure TLS connection"
_PHASES = {"dns": "dns", "connect": "connect", "tls": "tls"}


class Reported:
    """Feed each event; `results` are the exchanges so far, in the order in which they began.

    `url`: what was to be asked, for an exchange that came to no request. `scale`: machine seconds per real-world second.
    """

    def __init__(self, url: str, *, body_limit: int, scale: float = 1.0, streamed: bool = False) -> None:
        self._url = url
        self._scale = scale
        self._limit = body_limit
        self._streamed = streamed
        self._time = 0.0
        self._sockets: dict[int, _Socket] = {}
        self._tapes: list[Tape] = []
        self.over_limit = False

    def event(self, said: dict[str, Any]) -> None:
        if "s" not in said:
            return
        self._time = max(self._time, float(said["t"]) / self._scale)
        if said["e"] == "dial":
            self._sockets[said["s"]] = _Socket(self, self.begin(), secure=bool(said.get("tls")))
        elif (socket := self._sockets.get(said["s"])) is not None:
            try:
                socket.event(said)
            except BodyLimit as limit:
                socket.tape.failed(limit)
                self.over_limit = True

    def begin(self) -> Tape:
        tape = Tape(lambda: self._time, self._limit, streamed=self._streamed)
        tape.url = self._url
        tape.conditions |= {"connection": "new", "proxy": False}
        self._tapes.append(tape)
        return tape

    @property
    def whole(self) -> bool:
        """There is an exchange, and each of them has its response."""
        sockets = self._sockets.values()
        return bool(sockets) and all(socket.done for socket in sockets)

    def results(self, stopped: str | None, elapsed: float) -> list[dict[str, Any]]:
        """`stopped`: why the probe ended the program, if it did; `elapsed`: machine seconds since it began."""
        if stopped is not None:
            self._time = max(self._time, elapsed / self._scale)
        for socket in self._sockets.values():
            socket.left(stopped)
        return [tape.result() for tape in self._tapes if tape.head_sent or tape.error is not None]


class _Socket:
    def __init__(self, told: Reported, tape: Tape, *, secure: bool) -> None:
        self._told = told
        self._secure = secure
        self._base = tape.url
        self._known: dict[str, Any] = {}
        self._take(tape)

    def _take(self, tape: Tape) -> None:
        self.tape = tape
        self._asked = bytearray()
        self._reader: Reader | None = None
        tape.conditions |= self._known

    @property
    def done(self) -> bool:
        return (self._reader is not None and self._reader.done) or self.tape.error is not None

    def event(self, said: dict[str, Any]) -> None:
        getattr(self, f"_on_{said['e']}", lambda _: None)(said)

    def left(self, stopped: str | None) -> None:
        if not self.done and stopped is not None:
            self.tape.phase = self._reached()
        self.tape.ended(None if self.done else stopped)

    def _on_lookup(self, _said: dict[str, Any]) -> None:
        self.tape.marks.setdefault("dns", self.tape.now())

    def _on_connect(self, said: dict[str, Any]) -> None:
        self.tape.mark("connect")
        if said.get("host"):
            host = f"[{said['host']}]" if ":" in said["host"] else said["host"]
            self._note("peer", f"{host}:{said['port']}")

    def _on_secure(self, said: dict[str, Any]) -> None:
        self.tape.mark("tls")
        until = said.get("until")
        days = round((until / 1000 - time.time()) / _DAY, 3) if until else None
        shown = {name: said.get(name) for name in ("version", "cipher", "alpn", "issuer")}
        self._note("tls", {**shown, "days_left": days})

    def _note(self, name: str, value: object) -> None:
        self._known[name] = self.tape.conditions[name] = value

    def _on_wrote(self, said: dict[str, Any]) -> None:
        if self.done:
            self.tape.ended(None)
            self._take(self._told.begin())
            self.tape.conditions["connection"] = "reused"
        data = base64.b64decode(said["d"])
        self.tape.wrote(data, self.tape.now())
        if self._reader is not None:
            return
        self._asked += data
        if b"\r\n\r\n" in self._asked:
            method, path, host = asked(bytes(self._asked))
            self._reader = Reader(self.tape, method)
            if host:
                self.tape.url = f"http{'s' if self._secure else ''}://{host}{path}"

    def _on_taken(self, _said: dict[str, Any]) -> None:
        if not self.done and self.tape.status is None:
            self.tape.mark("upload_end")

    def _on_read(self, said: dict[str, Any]) -> None:
        if self._reader is None or self._reader.done:
            return
        self._reader.feed(base64.b64decode(said["d"]))
        if self.done:
            self.tape.ended(None)

    def _on_end(self, _said: dict[str, Any]) -> None:
        if self._reader is not None:
            self._reader.closed()

    def _on_error(self, said: dict[str, Any]) -> None:
        if self.done:
            return
        code, text = str(said.get("code") or ""), str(said.get("text") or "")
        kind = "tls" if code.startswith(_OF_TLS) or _IN_HANDSHAKE in text else _KINDS.get(code, "protocol")
        before = self._reached() in {"dns", "connect", "tls"}
        if kind == "lost" and before:
            kind = "timeout"
        if kind in {"reset", "closed"} and self.tape.foreign:
            kind = "protocol"
        self.tape.error = {"kind": kind, "phase": _PHASES.get(kind) or self._reached(), "text": text or code}
        self.tape.ended(None)

    def _on_close(self, _said: dict[str, Any]) -> None:
        self.tape.ended(None)

    def _reached(self) -> str:
        marks = self.tape.marks
        if self.tape.status is not None:
            return "body"
        if "upload_start" in marks:
            return "headers" if self.tape.head_sent else "upload"
        if "connect" in marks:
            return "tls" if self._secure else "headers"
        return "connect" if "dns" in marks or not _named(self._base) else "dns"


def asked(sent: bytes) -> tuple[str, str, str]:
    """Method, path and host of a request."""
    first, *lines = sent.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    method, path, *_ = (*first.split(" "), "", "")
    hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
    return method, path, hosts[0] if hosts else ""


def _named(url: str) -> bool:
    """The host is a name, which has to be looked up."""
    host = url.partition("//")[2].partition("/")[0]
    return not host.startswith("[") and not host.replace(".", "").replace(":", "").isdigit()
