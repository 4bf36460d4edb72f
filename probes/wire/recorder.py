"""How is a genuine client observed without being changed?

`attach` wraps the transports of an httpx-family client (any version, any fork: nothing is imported, what is needed is
found from the client given) and the network backends of their pools. `recording` collects what passes in one call.

The private attributes of these libraries that are touched stand here and nowhere else: `Client._transport`,
`Client._mounts`, `HTTPTransport._pool`, `ConnectionPool._network_backend`.
"""

from __future__ import annotations

import importlib
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from .backend import Backend
from .call import CallRecord
from .content import BodyLimit
from .tape import Refused, Tape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_call: ContextVar[CallRecord | None] = ContextVar("edgeprobe_call", default=None)
_tape: ContextVar[Tape | None] = ContextVar("edgeprobe_tape", default=None)


@contextmanager
def recording(
    now: Callable[[], float],
    *,
    scale: float = 1.0,
    deadline: float | None = None,
    body_limit: int = 32 * 1024 * 1024,
    connect_to: tuple[str, int] | None = None,
    edits: Mapping[str, str | None] | None = None,
    on_start: Callable[[CallRecord], None] | None = None,
    on_request: Callable[[], str | None] = lambda: None,
) -> Iterator[CallRecord]:
    """Collect the exchanges that attached clients make in this context.

    `now` in real-world seconds, `deadline` seconds from now, `scale` machine seconds per real-world second.
    `edits`: header → value, or `None` to drop it (`x-*` drops by prefix), applied to the finished request.
    `on_start` is given the record before anything is sent, to be able to `stop` it. `on_request` is asked before each
    request after the first, as redirects bring them; what it returns is why that one is not sent.
    """
    settings = {
        "scale": scale,
        "deadline": deadline,
        "body_limit": body_limit,
        "connect_to": connect_to,
        "edits": dict(edits or {}),
        "on_request": on_request,
    }
    call = CallRecord(now, settings)
    if on_start is not None:
        on_start(call)
    timer = threading.Timer(deadline * scale, call.stop, ("deadline",)) if deadline is not None else None
    token = _call.set(call)
    try:
        if timer is not None:
            timer.daemon = True
            timer.start()
        yield call
    finally:
        _call.reset(token)
        if timer is not None:
            timer.cancel()
        call.close()


def attach(client: Any, *, proxies: bool = True) -> None:
    """Observe `client`, an httpx-family `Client`; `proxies=False` also takes its proxies away."""
    root = next(cls.__module__.partition(".")[0] for cls in type(client).__mro__ if cls.__name__ == "Client")
    family = importlib.import_module(root)
    client._transport = _observed(client._transport, family)
    if not proxies:
        client._mounts = {}
    client._mounts = {
        pattern: None if transport is None else _observed(transport, family, proxy=True)
        for pattern, transport in client._mounts.items()
    }


def _observed(transport: Any, family: Any, *, proxy: bool = False) -> Transport:
    pool = transport._pool
    core = importlib.import_module(type(pool).__module__.partition(".")[0])
    pool._network_backend = Backend(pool._network_backend, core, _current)
    return Transport(transport, family, proxy=proxy)


def _current() -> tuple[CallRecord, Tape] | None:
    call, tape = _call.get(), _tape.get()
    return (call, tape) if call is not None and tape is not None else None


class Transport:
    """The upper seam: ties the bytes below to one request, and sees the body without its transfer coding."""

    def __init__(self, inner: Any, family: Any, *, proxy: bool = False) -> None:
        self._inner = inner
        self._family = family
        self._proxy = proxy

    def handle_request(self, request: Any) -> Any:
        call = _call.get()
        if call is None:
            return self._inner.handle_request(request)
        if call.settings["edits"]:
            request.headers = self._family.Headers(_edited(request.headers.raw, call.settings["edits"]))
        refused = call.settings["on_request"]() if call.tapes else None
        tape = call.begin()
        tape.url = str(request.url)
        if refused is not None:
            error = Refused(refused)
            tape.failed(error, phase="connect")
            tape.ended(None)
            raise error
        tape.conditions["proxy"] = self._proxy
        token = _tape.set(tape)
        try:
            response = self._inner.handle_request(request)
        except BaseException as error:
            tape.failed(error)
            tape.ended(call.stopped)
            raise
        finally:
            _tape.reset(token)
        version = response.extensions.get("http_version", b"HTTP/1.1").decode("ascii", "replace")
        try:
            tape.head(response.status_code, response.headers.raw, version)
        except BodyLimit:
            response.stream.close()
            tape.ended(call.stopped)
            raise
        response.stream = _body_class(self._family)(response.stream, tape, call)
        return response

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._inner.__exit__(*exc_info)


def _edited(raw: list[tuple[bytes, bytes]], edits: Mapping[str, str | None]) -> list[tuple[bytes, bytes]]:
    """The same headers in the same order and case, but for the edited ones."""
    given = {name.lower(): None if value is None else value.encode() for name, value in edits.items()}
    prefixes = tuple(name.removesuffix("*") for name in given if name.endswith("*"))
    out = []
    for name, value in raw:
        key = name.decode("latin-1").lower()
        if key in given:
            if (replaced := given.pop(key)) is not None:
                out.append((name, replaced))
        elif not (prefixes and key.startswith(prefixes)):
            out.append((name, value))
    out += [(key.encode(), value) for key, value in given.items() if value is not None]
    return out


_body_classes: dict[str, Any] = {}


def _body_class(family: Any) -> Any:
    """The family asserts that a response's stream is its own `SyncByteStream`, so the observer is made one."""
    if family.__name__ in _body_classes:
        return _body_classes[family.__name__]

    class Body(family.SyncByteStream):  # type: ignore[misc]
        def __init__(self, inner: Any, tape: Tape, call: CallRecord) -> None:
            self._inner = inner
            self._tape = tape
            self._call = call

        def __iter__(self) -> Iterator[bytes]:
            tape = self._tape
            try:
                for part in self._inner:
                    tape.body(part)
                    yield part
            except GeneratorExit:
                raise
            except BaseException as error:
                tape.failed(error)
                raise
            tape.whole()

        def close(self) -> None:
            try:
                self._inner.close()
            finally:
                self._tape.ended(self._call.stopped)

    _body_classes[family.__name__] = Body
    return Body
