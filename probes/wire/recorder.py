"""How is a genuine client observed without being changed?

`attach` wraps the transports of an httpx-family client (sync or async, any version, any fork: nothing is imported, what
is needed is found from the client given) and the network backends of their pools; of transports that ride on aiohttp,
the sessions they make. `recording` collects what passes in one call.

The private attributes of these libraries that are touched stand here and nowhere else: `Client._transport`,
`Client._mounts`, an SDK's `_client`, `HTTPTransport._pool`, `ConnectionPool._network_backend`.
"""

from __future__ import annotations

import importlib
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from .aiohttp_session import observe_sessions
from .async_backend import AsyncBackend
from .backend import Backend
from .call import CallRecord, current, under_way
from .lag import LAG
from .transport import AiohttpTransport, AsyncTransport, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@contextmanager
def recording(
    now: Callable[[], float],
    *,
    scale: float = 1.0,
    deadline: float | None = None,
    body_limit: int = 32 * 1024 * 1024,
    streamed: bool = False,
    connect_to: tuple[str, int] | None = None,
    family: int | None = None,
    edits: Mapping[str, str | None] | None = None,
    order: Sequence[str] = (),
    on_start: Callable[[CallRecord], None] | None = None,
    on_request: Callable[[], str | None] = lambda: None,
) -> Iterator[CallRecord]:
    """Collect the exchanges that attached clients make in this context.

    `now` in real-world seconds, `deadline` seconds from now, `scale` machine seconds per real-world second.
    `family`: 4 or 6, where only addresses of one IP family may be used.
    `streamed`: the client will read the body as a stream of events, whatever the server calls it.
    `edits`: header → value, or `None` to drop it (`x-*` drops by prefix), applied to the finished request.
    `order`: lower-case header names as they are to stand on the wire, whatever the library makes of it.
    `on_start` is given the record before anything is sent, to be able to `stop` it. `on_request` is asked before each
    request after the first, as redirects and retries bring them; what it returns is why that one is not sent.
    """
    settings = {
        "scale": scale,
        "deadline": deadline,
        "body_limit": body_limit,
        "streamed": streamed,
        "connect_to": connect_to,
        "family": family,
        "edits": dict(edits or {}),
        "on_request": on_request,
        "order": tuple(order),
    }
    call = CallRecord(now, settings)
    if on_start is not None:
        on_start(call)
    timer = threading.Timer(deadline * scale, call.stop, ("deadline",)) if deadline is not None else None
    token = under_way.set(call)
    try:
        if timer is not None:
            timer.daemon = True
            timer.start()
        with LAG.watched() if streamed else nullcontext():
            yield call
    finally:
        under_way.reset(token)
        if timer is not None:
            timer.cancel()
        call.close()


def http_client_of(sdk: Any) -> Any:
    """What an SDK of the httpx family has made for itself."""
    return sdk._client


def attach(client: Any, *, proxies: bool = True) -> None:
    """Observe `client`, an httpx-family `Client` or `AsyncClient`; `proxies=False` also takes its proxies away."""
    bases = {cls.__name__: cls.__module__.partition(".")[0] for cls in type(client).__mro__}
    family = importlib.import_module(bases.get("Client") or bases["AsyncClient"])
    client._transport = _observed(client._transport, family)
    if not proxies:
        client._mounts = {}
    client._mounts = {
        pattern: None if transport is None else _observed(transport, family, proxy=True)
        for pattern, transport in client._mounts.items()
    }


def _observed(transport: Any, family: Any, *, proxy: bool = False) -> Any:
    if hasattr(transport, "get_client"):
        observe_sessions(transport)
        return AiohttpTransport(transport, family, proxy=proxy)
    pool = transport._pool
    if hasattr(pool, "aclose"):
        pool._network_backend = AsyncBackend(pool._network_backend, current)
        return AsyncTransport(transport, family, proxy=proxy)
    core = importlib.import_module(type(pool).__module__.partition(".")[0])
    pool._network_backend = Backend(pool._network_backend, core, current)
    return Transport(transport, family, proxy=proxy)
