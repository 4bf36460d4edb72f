"""Varnish: its own pages, and what it passes on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from servers import varnish

from captures.asked import Case, Product, passed_on, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def _rules(ports: Mapping[str, int]) -> str:
    backends = "\n".join(
        f'backend {name} {{ .host = "127.0.0.1"; .port = "{port}"; .first_byte_timeout = 1s; }}'
        for name, port in ports.items()
    )
    chosen = "\n".join(f'if (req.url == "/{name}") {{ set req.backend_hint = {name}; }}' for name in ports)
    own = "\n".join(f'if (req.url == "/synth-{code}") {{ return (synth({code})); }}' for code in (403, 503))
    return f"{backends}\nsub vcl_recv {{ {own}\n{chosen}\n}}"


@contextmanager
def _running(ports: Mapping[str, int]) -> Iterator[dict[str, Case]]:
    requests = {
        "synth 403": post("/synth-403"),
        "synth 503": post("/synth-503"),
        "backend refuses": post("/refused"),
        "backend closes": post("/closing"),
        "backend sends a bad header": post("/garbled"),
        "backend header too large": post("/fat"),
        "backend silent": post("/silent"),
    }
    with varnish(f"127.0.0.1:{ports['refused']}", _rules(ports)) as url:
        port = urlsplit(url).port or 0
        own = {name: Case(port, request) for name, request in requests.items()}
        yield {**own, **passed_on(port)}


PRODUCT = Product("varnish", lambda: told_by("varnishd", "-V"), _running)
