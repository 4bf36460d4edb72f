"""Caddy: its own answers, which have no body, and what it passes on.

Debian's is of 2022 and marks what it passes on otherwise than today's, so that both are recorded.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from processes import accepts, free_port, program, running

from captures.asked import Case, Product, passed_on, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TODAYS, _DEBIAN = str(Path(sys.executable).with_name("caddy")), "/usr/bin/caddy"
_CONFIG = """
{{
  admin off
  auto_https off
  storage file_system {folder}
}}
http://:{port} {{
  bind 127.0.0.1
  respond /denied 403
  @large path /large
  request_body @large {{
    max_size 1000
  }}
  reverse_proxy /large 127.0.0.1:{healthy}
  basicauth /password {{
    somebody JDJhJDE0JFl0YW9YYUJ1ZmFFdlVNQlFwcjhnSGVKMzRZV1p1dUdpQ1RrMEdrVDFrbDNvdGVHNTRqZDR1
  }}
{origins}
}}
"""
_ORIGIN = """
  reverse_proxy /{name} 127.0.0.1:{port} {{
    transport http {{
      dial_timeout 1s
      response_header_timeout 1s
    }}
  }}
"""


@contextmanager
def _running(ports: Mapping[str, int], *, name: str) -> Iterator[dict[str, Case]]:
    port = free_port()
    requests = {
        "respond 403": post("/denied"),
        "basicauth": post("/password"),
        "body over max_size": post("/large", body=b"{}".ljust(2000)),
        "no route": post("/v1/chat/completions"),
        "request line": b"nothing of HTTP\r\n\r\n",
        "upstream refuses": post("/refused"),
        "upstream closes": post("/closing"),
        "upstream sends a bad header": post("/garbled"),
        "upstream silent": post("/silent"),
    }
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "Caddyfile"
        origins = "".join(_ORIGIN.format(name=origin, port=at) for origin, at in ports.items())
        config.write_text(_CONFIG.format(folder=folder, port=port, origins=origins, healthy=ports["healthy"]))
        command = [program(name), "run", "--config", str(config), "--adapter", "caddyfile"]
        environment = {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder}
        with running(command, Path(folder) / "caddy.log", lambda: accepts(port), environment=environment):
            # The old one leaves the bad header away and passes the rest on.
            bad = {"upstream sends a bad header"} if name == _DEBIAN else set()
            own = {one: Case(port, request, one in bad) for one, request in requests.items()}
            yield {**own, **passed_on(port)}


PRODUCT = Product("caddy", lambda: told_by(_TODAYS, "version"), partial(_running, name=_TODAYS))
DEBIAN = Product("caddy", lambda: told_by(_DEBIAN, "version"), partial(_running, name=_DEBIAN))
