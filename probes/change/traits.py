"""What does one answer tell of the way that it took?

Each reading is a value of one trait: names and values that every answer of one configuration has alike. The moment, ids,
ages and the machine that happened to answer are left out; the data centre is a trait of its own that nothing is
concluded from.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.api_paths import endpoint
from probes.attribution import is_api_answer, is_refusal
from probes.change.looks import cache_status, looks, shown
from probes.instances import COLO as _COLO
from probes.instances import instances
from probes.model import Layer
from probes.response import ABSENT, Response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Attribution, Call, Exchange

ANSWERS = "answers"
"""How many there were to read a header from: the ones without it count."""
HEADER = "header "
COLO = "colo"
CUTOFF = "measured cutoff"
DELIVERY = "stream delivery"
CLIENT = "client"
ISSUER = "certificate issuer"
ENCODING = "content-encoding"
STREAMS = "event streams"
TO_CLIENTS = " to clients that accept "
_BEAT = 20.0
"""Seconds, by which a stream that has heartbeats has shown one; 15 is the usual interval."""
_KEYS = 12


@dataclass(frozen=True, slots=True)
class Reading:
    of: str
    where: str
    value: str
    layer: Layer = Layer.UNKNOWN
    product: str | None = None


def readings(call: Call, exchange: Exchange) -> Iterator[Reading]:
    """All of one exchange; a connection without a request tells of TLS alone."""
    yield from _secured(call, exchange)
    yield from _let_in(call, exchange)
    made = exchange.attribution
    if exchange.status is None or made is None:
        return
    form = _form(exchange, made)
    edge = made.transit[0] if made.transit else None
    yield Reading(ANSWERS, form, "")
    for name, value, layer in looks(exchange):
        yield Reading(HEADER + name, form, value, layer, edge if layer is Layer.EDGE else None)
    yield Reading("products on the way", form, " → ".join(made.transit) or "none known", Layer.EDGE, edge)
    yield Reading(ENCODING, f"{form}{TO_CLIENTS}{_accepted(exchange)}", _coding(exchange))
    if (status := cache_status(exchange)) is not None:
        yield Reading("cache status", form, status, Layer.EDGE, edge)
    for kind, which in instances(exchange):
        if kind == _COLO:
            yield Reading(COLO, "", shown(which), Layer.EDGE, edge)
    yield from _transport(call, exchange, form, edge)
    yield from _heartbeats(exchange)
    if exchange.status >= HTTPStatus.BAD_REQUEST:
        yield Reading("error shape", form, _shape(exchange, made), made.layer, made.product)


def _form(exchange: Exchange, made: Attribution) -> str:
    """Good ones by their endpoint, others by status: who made those is what is asked of them."""
    found = endpoint(exchange.request.url)
    path = found.path.strip("/") if found is not None else _path(exchange.request.url)
    if exchange.status is not None and HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES:
        if exchange.facts.get("stream"):
            return f"{STREAMS} of {path}"
        if made.code == "ok":
            return f"whole answers of {path}"
    return f"{exchange.status} answers of {path}"


def _path(url: str) -> str:
    """Without what is another in every request."""
    try:
        parts = urlsplit(url).path.strip("/").split("/")
    except ValueError:
        return "no URL"
    return shown(
        "/".join("*" if any(map(str.isdigit, part)) and len(part) > 3 else part for part in parts[-3:])
    )


def _secured(call: Call, exchange: Exchange) -> Iterator[Reading]:
    found = exchange.conditions.get("tls")
    if not isinstance(found, dict):
        return
    through = f"through {call.trial.client}"
    if found.get("version"):
        yield Reading("TLS version", through, shown(str(found["version"])), Layer.TLS)
        yield Reading("ALPN", through, shown(str(found.get("alpn") or "none")), Layer.TLS)
    if found.get("cipher"):
        yield Reading("TLS cipher", through, shown(str(found["cipher"])), Layer.TLS)
    if found.get("issuer"):
        yield Reading(ISSUER, "", shown(str(found["issuer"])), Layer.TLS)


def _let_in(call: Call, exchange: Exchange) -> Iterator[Reading]:
    """Whether the client passes; a 5xx, a limit or a time-out says nothing of that."""
    made = exchange.attribution
    if not call.trial.client or made is None or not exchange.request.method:
        return
    if is_api_answer(exchange):
        yield Reading(CLIENT, call.trial.client, "let in")
    elif is_refusal(exchange):
        how = f"with {exchange.status}" if exchange.status is not None else "without an answer"
        by = f" by {shown(made.product)}" if made.product else ""
        yield Reading(CLIENT, call.trial.client, f"refused {how}{by}", made.layer, made.product)


def _accepted(exchange: Exchange) -> str:
    """In no order, and without weights."""
    sent = [value for name, value in exchange.request.headers if name.lower() == "accept-encoding"]
    words = {part.partition(";")[0].strip().lower() for value in sent for part in value.split(",")}
    return shown(", ".join(sorted(words - {""}))) or "none"


def _coding(exchange: Exchange) -> str:
    values = ", ".join(exchange.headers.get("content-encoding", ())).strip().lower()
    return shown(values) if values and values != "identity" else "none"


def _transport(call: Call, exchange: Exchange, form: str, edge: str | None) -> Iterator[Reading]:
    version = exchange.conditions.get("http_version")
    if not version:
        return
    yield Reading("HTTP version", f"through {call.trial.client}", shown(str(version)), Layer.EDGE, edge)
    if str(version).startswith("HTTP/1"):
        names = exchange.headers
        how = (
            "chunked"
            if "transfer-encoding" in names
            else "length"
            if "content-length" in names
            else "until closed"
        )
        yield Reading("framing", form, how)


def _heartbeats(exchange: Exchange) -> Iterator[Reading]:
    """A stream too short to have one says nothing."""
    if not exchange.facts.get("stream"):
        return
    beats = sorted(map(str, exchange.facts.get("heartbeats") or {}))
    line = exchange.timeline
    lasted = (line.end or 0.0) - (line.headers or line.end or 0.0)
    if beats or lasted >= _BEAT:
        yield Reading("heartbeats", STREAMS, shown(", ".join(beats)) or "none")


def _shape(exchange: Exchange, made: Attribution) -> str:
    """Whose words an error is in, and how they are put; never the words."""
    seen = Response.of(exchange)
    if isinstance(seen.document, dict):
        inner = seen.document.get("error")
        keys = _keys(seen.document)
        body = f"JSON {keys}" + (f", error {_keys(inner)}" if isinstance(inner, dict) else "")
    elif seen.document is not ABSENT:
        body = "JSON"
    else:
        body = "empty" if seen.empty else "HTML" if seen.html else "text"
    return f"{shown(made.product or str(made.layer))}, {shown(seen.media_type) or 'no type'}, {body}"


def _keys(document: dict[str, object]) -> str:
    names = [name[:40] for name in sorted(document)]
    more = ", …" if len(names) > _KEYS else ""
    return shown(f"{{{', '.join(names[:_KEYS])}{more}}}")
