"""Can a request that was recorded be written again?"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from probes.clients import dialect
from probes.complaint import Told, reference
from probes.credentials import PLACEHOLDER, made_up_key
from probes.model import Ask, Dial, Raw
from probes.redact import REDACTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Call, Case, Exchange

_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "expect"})
_KEYS = frozenset({"authorization", "x-api-key", "api-key"})


def of_exchange(exchange: Exchange, call: Call, case: Case) -> Told | None:
    """`None` of a connection without a request, and where the body was not kept as it was.

    The target's key, what its route adds and what was asked for by a variable are named by their variables; what was
    asked for and is not known any more, by a variable of its own. Another header whose value was taken out, such as a
    cookie that a server set, is left out, and `notes` says so.
    """
    sent, asked = exchange.request, call.trial.request
    route = case.target.routes.get(call.trial.route)
    if isinstance(asked, Dial) or not sent.method or route is None:
        return None
    url = dialect.raw_url(route, asked) if isinstance(asked, Raw) and asked.secrets else sent.url
    body = _body(exchange, call, case)
    if body is None or REDACTED in url or not _is_url(url):
        return None
    headers: list[tuple[str, str]] = []
    notes: list[str] = []
    more: list[str] = []
    given = _given(asked)
    for name, value in sent.headers:
        if name.lower() in _FRAMING or name.startswith(":") or _is_of_the_url(name, value, url):
            continue
        was = next(given[name.lower()], None) if name.lower() in given else None
        said = _said(name, value, was, call, case)
        if said is None and was is not None:
            more.append(_variable(name, len(more)))
            said = reference(more[-1])
        if said is None:
            notes.append(f"header {name}: its value was taken out, and the header is left out")
        else:
            headers.append((name, said))
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    if isinstance(asked, Ask) and sent.body_digest not in {None, digest} and body:
        notes.append("body: the same JSON, spelt another way than it was sent")
    return Told(
        sent.method,
        url,
        tuple(headers),
        body,
        "bundle",
        client=call.trial.client,
        http_version=_version(exchange),
        family=route.family,
        connect_to=route.connect_to,
        proxy=route.proxy,
        secrets=(*_variables(call, case), *more),
        notes=tuple(notes),
    )


def _body(exchange: Exchange, call: Call, case: Case) -> bytes | None:
    """Also of one that was never sent, for want of a connection; a redirect may have made it a GET without a body."""
    asked, method = call.trial.request, exchange.request.method
    if isinstance(asked, Raw):
        kept = None if REDACTED.encode() in asked.body else asked.body
        return kept if method == asked.method else b""
    assert isinstance(asked, Ask)
    return dialect.encoded(case.target, asked, call.trial.salt) if method == "POST" else b""


def _given(asked: Ask | Raw) -> dict[str, Iterator[str]]:
    """The values of headers as they were asked for, in their order."""
    pairs = (
        asked.headers if isinstance(asked, Raw) else [(n, v) for n, v in asked.edits.items() if v is not None]
    )
    names = {name.lower() for name, _ in pairs}
    return {low: iter([value for name, value in pairs if name.lower() == low]) for low in names}


def _variable(name: str, number: int) -> str:
    """Of a header whose value nobody kept."""
    return re.sub(r"[^A-Z0-9]", "_", f"TAKEN_OUT_{name.upper()}") + (f"_{number + 1}" if number else "")


def _said(name: str, value: str, given: str | None, call: Call, case: Case) -> str | None:
    """What stands there, or stood where a value was taken out: a variable, a key that was made up, no key."""
    asked, low = call.trial.request, name.lower()
    if isinstance(asked, Raw) and given is not None:
        named = any(reference(one) in given for one in asked.secrets)
        said = given if named or REDACTED in value else value
        return said if REDACTED not in said else None
    if REDACTED not in value:
        return value
    route = case.target.routes[call.trial.route]
    ref = next((ref for header, ref in route.headers.items() if header.lower() == low), None)
    if ref is not None:
        return reference(ref.env)
    if low not in _KEYS or isinstance(asked, Dial):
        return None
    if asked.key == "made_up":
        return value.replace(REDACTED, made_up_key(case.target.api))
    own = case.target.key_env
    return value.replace(REDACTED, PLACEHOLDER if own is None else reference(own))


def _variables(call: Call, case: Case) -> tuple[str, ...]:
    asked, route = call.trial.request, case.target.routes[call.trial.route]
    own = [case.target.key_env] if case.target.key_env else []
    given = asked.secrets if isinstance(asked, Raw) else ()
    return tuple(dict.fromkeys([*given, *own, *(ref.env for ref in route.headers.values())]))


def _is_url(url: str) -> bool:
    """A redirect may have named anything."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_of_the_url(name: str, value: str, url: str) -> bool:
    return name.lower() == "host" and value == urlsplit(url).netloc.rpartition("@")[2]


def _version(exchange: Exchange) -> Literal["1.1", "2"] | None:
    said = str(exchange.conditions.get("http_version", ""))
    if said.startswith("HTTP/2"):
        return "2"
    return "1.1" if said.startswith("HTTP/1") else None
