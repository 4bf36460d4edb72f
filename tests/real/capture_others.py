"""What do real HAProxy, Apache, Varnish and Squid answer in their own name?

`python tests/real/capture_others.py` prints each answer as a sample for `configs/signatures/<product>.yaml`; the test
beside it records them again and compares.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from capture_nginx import Answer, answer_of, free_ports, upstreams
from servers import apache, haproxy, program, squid, varnish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

_HAPROXY = """
http-request auth realm inner if { path /password }
  http-request deny if { path /denied }
  http-request deny deny_status 413 if { path /denied-413 }
  http-request deny deny_status 429 if { path /denied-429 }
  use_backend closing if { path /closed }
  use_backend silent if { path /slow }
"""
_HAPROXY_BEHIND = """
backend closing
  server one 127.0.0.1:{closing}
backend silent
  timeout server 1s
  server one 127.0.0.1:{silent}
backend none
"""
_APACHE = """
ProxyTimeout 1
RewriteEngine On
RewriteCond expr "%{{HTTP:Content-Length}} -gt 1000"
RewriteRule ^ - [R=413]
RewriteRule ^/denied - [F]
<Location /password>
  AuthType Basic
  AuthName inner
  AuthUserFile /dev/null
  Require valid-user
</Location>
ProxyPass /closed http://127.0.0.1:{closing}/
ProxyPass /slow http://127.0.0.1:{silent}/
"""
_VARNISH = 'sub vcl_recv { if (req.url == "/denied") { return (synth(403)); } }'
_SQUID = """
err_page_stylesheet none
read_timeout 1 second
acl denied urlpath_regex ^/denied
http_access deny denied
"""


def _post(path: str, *, size: int = 2) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: test\r\nAccept: */*\r\n"
        f"Content-Type: application/json\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + b"{}".ljust(size)


def _via_proxy(path: str) -> bytes:
    return _post(path).replace(b"POST ", b"POST http://127.0.0.1:", 1)


Cases = dict[str, bytes]


@contextmanager
def _haproxy(ports: Mapping[str, int]) -> Iterator[tuple[str, Cases]]:
    cases = {
        "request line": b"nothing of HTTP\r\n\r\n",
        "http-request deny": _post("/denied"),
        "http-request auth": _post("/password"),
        "deny_status 413": _post("/denied-413"),
        "deny_status 429": _post("/denied-429"),
        "upstream closes": _post("/closed"),
        "no server takes the connection": _post("/refused"),
        "upstream silent": _post("/slow"),
    }
    with tempfile.TemporaryDirectory() as folder:
        behind = f"server none 127.0.0.1:{ports['refused']}{_HAPROXY_BEHIND.format(**ports)}"
        with haproxy(Path(folder), f"127.0.0.1:{ports['refused']}", _HAPROXY, behind=behind) as url:
            yield url, cases


@contextmanager
def _apache(ports: Mapping[str, int]) -> Iterator[tuple[str, Cases]]:
    cases = {
        "RewriteRule with F": _post("/denied"),
        "Require valid-user": _post("/password"),
        "RewriteRule with R=413": _post("/refused", size=2000),
        "upstream closes": _post("/closed"),
        "upstream refuses": _post("/refused"),
        "upstream silent": _post("/slow"),
    }
    with apache(f"127.0.0.1:{ports['refused']}", _APACHE.format(**ports)) as url:
        yield url, cases


@contextmanager
def _varnish(ports: Mapping[str, int]) -> Iterator[tuple[str, Cases]]:
    with varnish(f"127.0.0.1:{ports['refused']}", _VARNISH) as url:
        yield url, {"synth 403": _post("/denied"), "backend refuses": _post("/refused")}


@contextmanager
def _squid(ports: Mapping[str, int]) -> Iterator[tuple[str, Cases]]:
    cases = {
        "http_access deny": _via_proxy(f"{ports['healthy']}/denied"),
        "host refuses": _via_proxy(f"{ports['refused']}/v1/chat/completions"),
        "host closes": _via_proxy(f"{ports['closing']}/v1/chat/completions"),
        "host silent": _via_proxy(f"{ports['silent']}/v1/chat/completions"),
    }
    with squid(_SQUID) as running:
        yield running.url, cases


_PRODUCTS: Mapping[str, Callable[[Mapping[str, int]], AbstractContextManager[tuple[str, Cases]]]] = {
    "haproxy": _haproxy,
    "apache": _apache,
    "varnish": _varnish,
    "squid": _squid,
}
_VERSIONS = {
    "haproxy": ("haproxy", "-v"),
    "apache": ("apache2", "-v"),
    "varnish": ("varnishd", "-V"),
    "squid": ("squid", "-v"),
}


def record(product: str) -> dict[str, Answer | None]:
    """The product's answer to each case; None where it hung up without one."""
    with upstreams() as ports, _PRODUCTS[product]({**ports, "refused": free_ports(1)[0]}) as (url, cases):
        port = urlsplit(url).port
        assert port is not None
        return {name: answer_of(request, port) for name, request in cases.items()}


def version(product: str) -> str:
    """Such as `haproxy/2.6.12`."""
    name, flag = _VERSIONS[product]
    told = subprocess.run([program(name), flag], capture_output=True, text=True, check=True)
    found = re.search(r"\d+\.\d+(?:\.\d+)?", told.stdout + told.stderr)
    assert found is not None
    return f"{product}/{found[0]}"


def _main() -> None:
    for product in _PRODUCTS:
        for name, answer in record(product).items():
            if answer is None:
                print(f"# {name}: closed without an answer")
                continue
            headers = ", ".join(f"{key}: {json.dumps(value)}" for key, value in answer.headers.items())
            source = json.dumps(f"{version(product)}, {name}")
            print(
                f"      - {{status: {answer.status}, origin: capture, source: {source}, "
                f"headers: {{{headers}}}, body: {json.dumps(answer.body)}}}"
            )


if __name__ == "__main__":
    _main()
