"""How is one call through an httpx-family client recorded?"""

from __future__ import annotations

import importlib
import os
import traceback
from concurrent.futures import CancelledError
from contextvars import copy_context
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from probes.clients import Outcome, SendLimits, Setting, to_exchange, uses_env_proxy
from probes.model import Ask, Raised, Request, Route
from probes.wire.call import Ended, under_way
from probes.wire.recorder import attach, recording

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Sequence

_TEXT = 300
Certificate = tuple[str, str | None]
"""The paths of a PEM certificate and of its key, which may stand in the same file."""


def http_client(
    family_client: Any,
    family: str,
    route: Route,
    cert: Certificate | None = None,
    mode: str = "sync",
    **more: Any,
) -> Any:
    """The SDK's own default client, untouched but for a shared TLS context, observed.

    `family_client` is its class, `family` the name of the HTTP library it comes from. The context is the one the
    library would make itself; making it takes most of the time that a client costs. `cert`: the client's own. `more`:
    options of the class.
    """
    options: dict[str, Any] = {"verify": tls_context(family, cert, mode), **more}
    if route.proxy:
        options["proxy"] = route.proxy
    client = family_client(**options)
    attach(client, proxies=bool(route.proxy) or uses_env_proxy(route))
    return client


def tls_context(family: str, cert: Certificate | None = None, mode: str = "sync") -> ssl.SSLContext:
    """Not shared between modes: httpx writes ALPN into the one it is given, aiohttp sends none."""
    names = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return _tls_context(family, mode, *names, cert)


@lru_cache
def _tls_context(
    family: str, _mode: str, _file: str | None, _dir: str | None, cert: Certificate | None
) -> ssl.SSLContext:
    """Cached for as long as the environment names the same certificates."""
    context: ssl.SSLContext = importlib.import_module(family).create_ssl_context()
    if cert is not None:
        context.load_cert_chain(*cert)
    return context


def observe(
    setting: Setting,
    route: Route,
    request: Request,
    limits: SendLimits,
    call: Callable[[], str],
    order: Sequence[str] = (),
) -> Outcome:
    """Run `call` under the recorder; whatever the client under test raises is data. `order` as in `recording`."""
    raised: Raised | None = None
    returned: str | None = None
    with recording(
        setting.clock.now,
        scale=setting.clock.scale,
        deadline=limits.deadline,
        body_limit=limits.body_bytes,
        streamed=isinstance(request, Ask) and request.stream,
        connect_to=address(route.connect_to),
        family=route.family,
        edits=request.edits if isinstance(request, Ask) else None,
        order=order,
        on_start=lambda record: limits.on_stop(record.stop),
        on_request=limits.may_go_on,
    ) as record:
        try:
            returned = call()
        except CancelledError:
            raised = Raised("asyncio.CancelledError", f"cancelled: {record.stopped}")
        except Ended:
            raised = Raised("probes.Ended", f"left waiting: {record.stopped}")
        except Exception as error:  # noqa: BLE001 - seam 1 of 3: what the client raises is what its user meets
            raised = Raised(f"{type(error).__module__.partition('.')[0]}.{type(error).__name__}", str(error))
            _let_go(error)
    stream = request.stream if isinstance(request, Ask) else None
    return Outcome(tuple(to_exchange(tape, stream=stream) for tape in record.results()), returned, raised)


def left_waiting(call: Callable[[], str]) -> str:
    """What `call` returns or raises, or Ended as soon as the recording is stopped: the pause that a client makes before
    it tries again can't be interrupted, and may be as long as a server likes.
    """
    record = under_way.get()
    assert record is not None
    said: str = record.beside(partial(copy_context().run, call))
    return said


def _let_go(error: BaseException | None) -> None:
    """Frees the body, as far as the client had it: an error and the frames that it passed through hold each other, and
    32 MiB a call until the next garbage collection is more than a run may take.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def address(connect_to: str | None) -> tuple[str, int] | None:
    if connect_to is None:
        return None
    parts = urlsplit(f"//{connect_to}")
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def shown(value: object) -> str:
    """What the caller got, as `type: the first characters`."""
    return f"{type(value).__name__}: {str(value)[:_TEXT]}"


class Joined:
    """The text of a stream as its caller consumes it, bounded; `str` shows it."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._size = self._chunks = 0

    def add(self, text: str) -> None:
        self._chunks += 1
        if self._size < _TEXT:
            self._kept.append(text)
            self._size += len(text)

    def __str__(self) -> str:
        return f"{self._chunks} chunks: {''.join(self._kept)[:_TEXT]}"
