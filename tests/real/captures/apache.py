"""Apache's mod_proxy: its own pages, and what it passes on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from servers import apache

from captures.asked import Case, Product, passed_on, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RULES = """
ProxyTimeout 1
RequestReadTimeout body=1
RewriteEngine On
RewriteCond expr "%{HTTP:Content-Length} -gt 1000"
RewriteRule ^ - [R=413]
RewriteRule ^/denied - [F]
RewriteRule ^/nothing - [R=404]
RewriteRule ^/reading - [R=405]
<Location /password>
  AuthType Basic
  AuthName inner
  AuthUserFile /dev/null
  Require valid-user
</Location>
"""


def in_front_of(ports: Mapping[str, int]) -> str:
    """`/name` goes to the origin of that name."""
    return "\n".join(f"ProxyPass /{name} http://127.0.0.1:{port}/" for name, port in ports.items())


@contextmanager
def _running(ports: Mapping[str, int]) -> Iterator[dict[str, Case]]:
    requests = {
        "RewriteRule with F": post("/denied"),
        "Require valid-user": post("/password"),
        "RewriteRule with R=404": post("/nothing"),
        "RewriteRule with R=405": post("/reading"),
        "RewriteRule with R=413": post("/refused", body=b"{}".ljust(2000)),
        "request line": b"nothing of HTTP\r\n\r\n",
        "upstream closes": post("/closing"),
        "upstream sends a bad header": post("/garbled"),
        "upstream header too large": post("/fat"),
        "upstream refuses": post("/refused"),
        "upstream silent": post("/silent"),
        "body never finished": post("/silent", size=100),
    }
    with apache(f"127.0.0.1:{ports['refused']}", _RULES + in_front_of(ports)) as url:
        port = urlsplit(url).port or 0
        own = {name: Case(port, request) for name, request in requests.items()}
        yield {**own, **passed_on(port)}


PRODUCT = Product("apache", lambda: told_by("apache2", "-v"), _running)
