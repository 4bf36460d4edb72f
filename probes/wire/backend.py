"""What do the sockets of a pool do?

The lower of the recorder's two seams: it stands in for a pool's network backend, hands every operation on to it, and
notes on the tape of the request in progress when it was done and which bytes passed.
"""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING, Any

from .call import CallRecord, Ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tape import Tape

_PATIENCE = 1.0  # machine seconds after the deadline that an abandoned connect may still take


class Stream:
    """One connection. HTTP/1.1 carries one exchange at a time, so bytes read belong to whoever wrote last."""

    def __init__(
        self, inner: Any, current: Callable[[], tuple[CallRecord, Tape] | None], *, used: bool = False
    ) -> None:
        self._inner = inner
        self._current = current
        self._tape: Tape | None = None
        self._used = used

    def _bind(self) -> Tape | None:
        found = self._current()
        if found is None:
            self._tape, self._used = None, True
            return None
        call, tape = found
        if tape is not self._tape:
            tape.conditions["connection"] = "reused" if self._used else "new"
            if self._used:
                call.watch(self._inner.get_extra_info("socket"))
            self._note_peer(tape)
            self._tape, self._used = tape, True
        return tape

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        tape = self._bind()
        if tape is None:
            self._inner.write(buffer, timeout)
            return
        started = tape.now()
        try:
            self._inner.write(buffer, timeout)
        except Exception as error:
            tape.failed(error, phase="upload")
            raise
        tape.wrote(buffer, started)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        tape = self._tape
        try:
            data: bytes = self._inner.read(max_bytes, timeout)
        except Exception as error:
            if tape is not None:
                tape.failed(error)
            raise
        if tape is not None and data:
            tape.read(data)
        return data

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        found = self._current()
        try:
            inner = self._inner.start_tls(ssl_context, server_hostname, timeout)
        except Exception as error:
            if found is not None:
                found[1].failed(error, phase="tls")
            raise
        if found is not None:
            tape = found[1]
            tape.mark("tls")
            if self._tape is tape:  # a proxy was asked for a tunnel first
                tape.tunnelled()
        return Stream(inner, self._current)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def _note_peer(self, tape: Tape) -> None:
        sock = self._inner.get_extra_info("socket")
        try:
            host, port = sock.getpeername()[:2]
        except (OSError, ValueError, AttributeError):
            return
        tape.conditions["peer"] = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if hasattr(sock, "getpeercert"):
            issuer = dict(pair for part in (sock.getpeercert() or {}).get("issuer", ()) for pair in part)
            tape.conditions["tls"] = {
                "version": sock.version(),
                "alpn": sock.selected_alpn_protocol(),
                "issuer": issuer.get("organizationName") or issuer.get("commonName"),
            }


class Backend:
    """Resolves first and then connects to each address in order, so that both are seen; else as the one it wraps."""

    def __init__(self, inner: Any, core: Any, current: Callable[[], tuple[CallRecord, Tape] | None]) -> None:
        self._inner = inner
        self._core = core
        self._current = current

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> Any:
        found = self._current()
        if found is None:
            inner = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
            return Stream(inner, self._current)
        call, tape = found
        host, port = call.settings.get("connect_to") or (host, port)
        failure: Exception | None = None
        for address in self._resolve(host, port, call, tape):
            bound = self._bound(call, timeout)
            work = partial(self._inner.connect_tcp, address, port, bound, local_address, socket_options)
            try:
                inner = call.beside(work, discard=lambda stream: stream.close())
            except Exception as error:  # noqa: BLE001 - the last one is raised below, as the system's own loop does
                failure = error
                continue
            tape.mark("connect")
            call.watch(inner.get_extra_info("socket"))
            return Stream(inner, self._current)
        assert failure is not None
        tape.failed(failure, phase="connect")
        raise failure if not isinstance(failure, Ended) else self._core.ConnectError("ended") from failure

    def connect_unix_socket(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.connect_unix_socket(*args, **kwargs)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)

    def _bound(self, call: CallRecord, timeout: float | None) -> float | None:
        """Machine seconds a connect may take: the caller's, or somewhat more than is left until the deadline."""
        if call.ends is None:
            return timeout
        left: float = max((call.ends - call.now()) * call.settings["scale"], 0.0) + _PATIENCE
        return left if timeout is None else min(timeout, left)

    def _resolve(self, host: str, port: int, call: CallRecord, tape: Tape) -> list[str]:
        """Addresses in the system's order."""
        if _is_address(host):
            return [host]
        try:
            found = call.beside(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError, Ended) as error:
            tape.failed(error, phase="dns")
            raise self._core.ConnectError(str(error)) from error
        tape.mark("dns")
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return True
    return False
