"""Squid as a forward proxy: its own pages, and what it passes on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from servers import squid

from captures.asked import PASSED_ON, Case, Product, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RULES = """
err_page_stylesheet none
read_timeout 1 second
request_body_max_size 1 MB
acl denied urlpath_regex ^/denied
http_access deny denied
"""


@contextmanager
def _running(ports: Mapping[str, int]) -> Iterator[dict[str, Case]]:
    def through(name: str, path: str = "/v1/chat/completions", **more: int) -> bytes:
        return post(path, **more).replace(b"POST ", f"POST http://127.0.0.1:{ports[name]}".encode(), 1)

    requests = {
        "http_access deny": through("healthy", "/denied"),
        "request line": b"nothing of HTTP\r\n\r\n",
        "body over request_body_max_size": through("healthy", size=2 * 1024 * 1024),
        "host refuses": through("refused"),
        "host closes": through("closing"),
        "host sends a bad header": through("garbled"),
        "host's header too large": through("fat"),
        "host silent": through("silent"),
    }
    with squid(_RULES) as proxy:
        port = urlsplit(proxy.url).port or 0
        yield {
            **{name: Case(port, request) for name, request in requests.items()},
            **{name: Case(port, through(origin), passed_on=True) for name, origin in PASSED_ON.items()},
        }


PRODUCT = Product("squid", lambda: told_by("squid", "-v"), _running)
