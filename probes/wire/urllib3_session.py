"""What does a client on requests and urllib3 do, such as openai 0.28?

`observe` puts stand-ins into the connections that urllib3 makes from then on, of this process alone: each dials as before,
and its socket shows the plain bytes. The answer is read from those, since nothing above has them as they came.
"""

from __future__ import annotations

import importlib
import io
import socket
from typing import TYPE_CHECKING, Any

from .backend import FAMILIES
from .call import under_way
from .http1 import Reader
from .reported import asked

if TYPE_CHECKING:
    from .call import CallRecord
    from .tape import Tape


def observe() -> None:
    """For the life of the process."""
    made = importlib.import_module("urllib3.connection")
    for kind in (made.HTTPConnection, made.HTTPSConnection):
        if "connect" in vars(kind):
            kind.connect = _connecting(kind.connect)
    found = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, family: int = 0, *more: Any, **named: Any) -> Any:
        call = under_way.get()
        if call is None:
            return found(host, port, family, *more, **named)
        host, port = call.settings["connect_to"] or (host, port)
        got = found(host, port, FAMILIES[call.settings["family"]] or family, *more, **named)
        if call.tapes:
            call.tapes[-1].mark("dns")
        return got

    socket.getaddrinfo = getaddrinfo


def _connecting(connect: Any) -> Any:
    def stand_in(connection: Any) -> None:
        call = under_way.get()
        if call is None or isinstance(getattr(connection, "sock", None), _Socket):
            connect(connection)
            return
        tape = _begun(call, connection)
        try:
            connect(connection)
        except BaseException as error:
            tape.failed(error, phase=_reached(tape))
            tape.ended(call.stopped)
            raise
        if not isinstance(connection.sock, _Socket):  # HTTPSConnection.connect may come here twice
            connection.sock = _Socket(connection.sock, call, tape, _scheme(connection))

    return stand_in


def _scheme(connection: Any) -> str:
    return "https" if "HTTPS" in type(connection).__name__ else "http"


def _begun(call: CallRecord, connection: Any) -> Tape:
    tape = call.begin()
    tape.url = f"{_scheme(connection)}://{connection.host}:{connection.port}"
    tape.conditions |= {"connection": "new", "proxy": getattr(connection, "proxy", None) is not None}
    return tape


def _reached(tape: Tape) -> str:
    return "connect" if "dns" in tape.marks else "dns"


class _Socket:
    """All else is the socket's own."""

    def __init__(self, inner: Any, call: CallRecord, tape: Tape, scheme: str) -> None:
        self._inner, self._call, self._tape, self._scheme = inner, call, tape, scheme
        self._asked = bytearray()
        self._reader: Reader | None = None
        tape.mark("connect")
        call.watch(inner)
        host, port = inner.getpeername()[:2]
        tape.conditions["peer"] = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if hasattr(inner, "selected_alpn_protocol"):
            tape.mark("tls")
            tape.note_tls(inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def sendall(self, data: Any, *flags: Any) -> None:
        if self._reader is not None and self._reader.done:
            self._again()
        started = self._tape.now()
        try:
            self._inner.sendall(data, *flags)
        except Exception as error:
            self._tape.failed(error, phase="upload")
            raise
        self._tape.wrote(bytes(data), started)
        if self._reader is None:
            self._asked += bytes(data)
            if b"\r\n\r\n" in self._asked:
                method, path, host = asked(bytes(self._asked))
                self._tape.url = f"{self._scheme}://{host}{path}"
                self._reader = Reader(self._tape, method)

    def _again(self) -> None:
        """Another request on the same connection."""
        self._tape.ended(None)
        known = {name: value for name, value in self._tape.conditions.items() if name != "http_version"}
        self._tape = self._call.begin()
        self._tape.conditions |= {**known, "connection": "reused"}
        self._asked.clear()
        self._reader = None

    def makefile(self, mode: str, *_: Any, **__: Any) -> Any:
        return io.BufferedReader(_Raw(self._inner.makefile(mode, buffering=0), self))

    def came(self, data: bytes) -> None:
        if self._reader is None:
            return
        if data:
            self._reader.feed(data)
        else:
            self._reader.closed()
        if self._reader.done:
            self._tape.ended(None)

    def broke(self, error: BaseException) -> None:
        self._tape.failed(error)
        self._tape.ended(self._call.stopped)


class _Raw(io.RawIOBase):
    def __init__(self, inner: Any, owner: _Socket) -> None:
        self._inner, self._owner = inner, owner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            got = int(self._inner.readinto(buffer) or 0)
        except Exception as error:
            self._owner.broke(error)
            raise
        self._owner.came(bytes(buffer[:got]))
        return got

    def close(self) -> None:
        self._inner.close()
        super().close()
