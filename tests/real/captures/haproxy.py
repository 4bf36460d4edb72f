"""HAProxy: its own pages, and what it passes on, which bears no mark of it."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from servers import haproxy

from captures.asked import Case, Product, passed_on, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RULES = """
timeout http-request 1s
  option http-buffer-request
  http-request auth realm inner if { path /password }
  http-request deny if { path /denied }
  http-request deny deny_status 413 if { path /denied-413 }
  http-request deny deny_status 429 if { path /denied-429 }
"""


@contextmanager
def _running(ports: Mapping[str, int]) -> Iterator[dict[str, Case]]:
    chosen = "".join(f"  use_backend {name} if {{ path /{name} }}\n" for name in ports)
    backends = "".join(
        f"backend {name}\n  timeout server 1s\n  server one 127.0.0.1:{port}\n"
        for name, port in ports.items()
    )
    requests = {
        "request line": b"nothing of HTTP\r\n\r\n",
        "http-request deny": post("/denied"),
        "http-request auth": post("/password"),
        "deny_status 413": post("/denied-413"),
        "deny_status 429": post("/denied-429"),
        "upstream closes": post("/closing"),
        "upstream sends a bad header": post("/garbled"),
        "upstream header too large": post("/fat"),
        "no server takes the connection": post("/refused"),
        "upstream silent": post("/silent"),
        "body never finished": post("/silent", size=100),
    }
    refused = f"127.0.0.1:{ports['refused']}"
    with (
        tempfile.TemporaryDirectory() as folder,
        haproxy(Path(folder), refused, _RULES + chosen, behind=f"\n{backends}backend none") as url,
    ):
        port = urlsplit(url).port or 0
        own = {name: Case(port, request) for name, request in requests.items()}
        yield {**own, **passed_on(port)}


PRODUCT = Product("haproxy", lambda: told_by("haproxy", "-v"), _running)
