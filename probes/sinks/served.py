"""How do Prometheus, an orchestrator and people ask the canary how it is?

Four paths, read only: `/metrics`, `/healthz` (is it alive), `/readyz` (does it watch), and `/`, a page for people. Nothing
else is told, and of what is wrong with it no more than the words that were given.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from probes.errors import UsageError
from probes.sinks.page import Answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Self

    Pages = dict[str, Callable[[], Answer]]

_PATIENCE = 5.0
"""Seconds for one request; a reader that is slower is cut off."""
_AT_ONCE = 16
_PLAIN = "text/plain; version=0.0.4; charset=utf-8"


class Shown(Protocol):
    def text(self) -> bytes: ...


def serve(
    listen: str,
    metrics: Shown,
    ready: Callable[[], str | None],
    healthy: Callable[[], str | None],
    page: Callable[[], Answer] | None = None,
) -> Served:
    """`listen`: HOST:PORT, IPv6 in brackets; port 0 takes a free one. UsageError where it cannot be had."""
    host, port = _address(listen)
    pages: Pages = {
        "/metrics": lambda: Answer(200, metrics.text()),
        "/healthz": lambda: _told(healthy()),
        "/readyz": lambda: _told(ready()),
    }
    if page is not None:
        pages["/"] = page
    try:
        return Served(host, port, pages)
    except OSError as fault:
        raise UsageError(f"listen: {listen}: {fault.strerror or fault}") from None


def _address(listen: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{listen}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port is None or parts.netloc != listen or "@" in listen:
        raise UsageError(f"listen: {listen!r} is no HOST:PORT, such as 127.0.0.1:9469 or [::1]:9469")
    return host, port


def _told(wrong: str | None) -> Answer:
    if wrong is None:
        return Answer(200, b"ok\n")
    return Answer(503, (" ".join(wrong.split()) + "\n").encode("utf-8", "replace"))


class Served:
    """A listening endpoint on a thread of its own, until it is closed."""

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self._server = _Server(host, port, pages)
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """HOST:PORT, as it can be dialled."""
        host, port = self._server.server_address[:2]
        name = str(host)
        return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self.address_family = socket.AF_INET6 if _is_ipv6(host) else socket.AF_INET
        self.pages = pages
        self._free = BoundedSemaphore(_AT_ONCE)
        self._since: dict[Any, float] = {}
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Without the look-up of the host's name, which can hang where DNS does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - the library's signature
        """Whoever comes while so many are being served is turned away, so that no reader can use up the threads."""
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self._since[request] = time.monotonic()
        try:
            super().process_request_thread(request, client_address)
        finally:
            del self._since[request]
            self._free.release()

    def service_actions(self) -> None:
        """A byte now and then keeps a time-out of a single read from ever ending."""
        for request, since in list(self._since.items()):
            if time.monotonic() - since > _PATIENCE:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader that went away is nobody's fault; anything else is a bug of ours, and shown."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def _is_ipv6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


class _Handler(BaseHTTPRequestHandler):
    """One request a connection."""

    timeout = _PATIENCE
    server: _Server

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        self._answer(page() if page is not None else Answer(404, b"not found\n"))

    do_HEAD = do_GET  # noqa: N815 - the name that the library calls

    def send_error(self, code: int, *_said: str | None) -> None:
        """In our own words: the library's page would echo the request."""
        told = (
            Answer(405, b"only GET\n", {"Allow": "GET, HEAD"})
            if code == 501
            else Answer(code, b"bad request\n")
        )
        self._answer(told)

    def _answer(self, told: Answer) -> None:
        self.close_connection = True
        self.send_response_only(told.status)
        headers = {
            "Content-Type": _PLAIN,
            "Content-Length": str(len(told.body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            **told.headers,
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(told.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's own name
        """A scrape is no news."""
