"""What do the sockets of a pool do?

The lower of the recorder's two seams: it stands in for a pool's network backend, hands every operation on to it, and
notes on the tape of the request in progress when it was done and which bytes passed.
"""

from __future__ import annotations

import os
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

from .call import CallRecord, Ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tape import Tape

FAMILIES = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}
_PATIENCE = 1.0  # machine seconds after the deadline that an abandoned connect may still take


class Connection:
    """HTTP/1.1 carries one exchange at a time, so bytes read belong to whoever wrote last."""

    def __init__(
        self, inner: Any, current: Callable[[], tuple[CallRecord, Tape] | None], *, used: bool = False
    ) -> None:
        self.inner = inner
        self.current = current
        self.tape: Tape | None = None
        self.used = used

    def bind(self) -> Tape | None:
        """The tape of the exchange that is about to write."""
        found = self.current()
        if found is None:
            self.tape, self.used = None, True
            return None
        call, tape = found
        if tape is not self.tape:
            tape.conditions["connection"] = "reused" if self.used else "new"
            if self.used:
                self.taken_up(call)
            self._note_peer(tape)
            self.tape, self.used = tape, True
        return tape

    def taken_up(self, call: CallRecord) -> None:
        """The call goes on with a connection that it did not make."""

    def secured(self, tape: Tape) -> None:
        """TLS stands."""
        tape.mark("tls")
        if self.tape is tape:  # a proxy was asked for a tunnel first
            tape.tunnelled()

    def get_extra_info(self, info: str) -> Any:
        found = self.inner.get_extra_info(info)
        if info == "is_readable" and found and self.used and (now := self.current()) is not None:
            # So asks a pool before it takes up an idle connection; one that has something to say is let go.
            now[1].conditions["idle_end"] = _last_words(self.inner.get_extra_info("socket"))
        return found

    def _note_peer(self, tape: Tape) -> None:
        try:
            host, port = self.inner.get_extra_info("socket").getpeername()[:2]
        except (OSError, ValueError, AttributeError):
            return
        tape.conditions["peer"] = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if (secured := self.inner.get_extra_info("ssl_object")) is not None:
            tape.note_tls(secured)


def _last_words(sock: Any) -> str:
    """`closed`, `reset`, or `data` where the peer said something first, such as a 408 or TLS's own good-bye."""
    try:
        with socket.socket(fileno=os.dup(sock.fileno())) as twin:  # an SSLSocket can't peek
            return "data" if twin.recv(1, socket.MSG_PEEK) else "closed"
    except ConnectionResetError:
        return "reset"
    except OSError:
        return "closed"


class Stream(Connection):
    def taken_up(self, call: CallRecord) -> None:
        call.watch(self.inner.get_extra_info("socket"))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        tape = self.bind()
        if tape is None:
            self.inner.write(buffer, timeout)
            return
        buffer = self._in_order(buffer, tape)
        started = tape.now()
        try:
            self.inner.write(buffer, timeout)
        except Exception as error:
            tape.failed(error, phase="upload")
            raise
        tape.wrote(buffer, started)

    def _in_order(self, buffer: bytes, tape: Tape) -> bytes:
        """A header block in the order that the call asks for; the library writes it in one piece."""
        found = self.current()
        order = found[0].settings["order"] if found is not None else ()
        if not order or tape.head_sent or buffer.startswith(b"CONNECT "):
            return buffer
        head, end, body = buffer.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        places = {name.encode("latin-1"): place for place, name in enumerate(order)}
        lines.sort(key=lambda line: places.get(line.partition(b":")[0].lower(), len(places)))
        return b"\r\n".join([first, *lines]) + end + body

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        tape = self.tape
        if tape is not None:
            tape.unread.asked(tape.now())
        try:
            data: bytes = self.inner.read(max_bytes, timeout)
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
        found = self.current()
        try:
            inner = self.inner.start_tls(ssl_context, server_hostname, timeout)
        except Exception as error:
            if found is not None:
                found[1].failed(error, phase="tls")
            raise
        if found is not None:
            self.secured(found[1])
        return Stream(inner, self.current)

    def close(self) -> None:
        self.inner.close()


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
        family = FAMILIES[call.settings["family"]]
        try:
            found = call.beside(partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM))
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
