"""Which addresses and host names of the inside does a response show?"""

from __future__ import annotations

import ipaddress
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Exchange

_V4 = re.compile(
    r"(?<![\w.-])(?<!\w/)\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)|(?<=_addr_)\d{1,3}(?:\.\d{1,3}){3}"
)
_V6 = re.compile(
    r"(?<![\w:.])\[?((?:f[cd][0-9a-f]{2}|fe80)(?::[0-9a-f]{0,4}){2,7})\]?(?![\w:])", re.IGNORECASE
)
# Top-level names that no public DNS has, or that clouds and clusters keep for themselves.
_HOST = re.compile(
    r"(?<![\w.@-])(?:[a-z0-9](?:[a-z0-9-]{0,62})\.){1,8}"
    r"(?:internal|local|localdomain|lan|intranet|corp|consul|svc|home\.arpa)(?![\w-]|\.[a-z0-9])",
    re.IGNORECASE,
)
_SHARED = ipaddress.ip_network("100.64.0.0/10")
_INNER = tuple(
    ipaddress.ip_network(net)
    for net in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",
        "127.0.0.0/8",
        "fc00::/7",
        "fe80::/10",
    )
)
_OF_THE_ASKER = frozenset(
    {"x-forwarded-for", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip", "x-forwarded-host"}
)
"""What a server repeats there came from the client's side."""
_ASKED_FOR = "/cdn-cgi/trace"
_SPOKEN = frozenset(
    {
        "content", "text", "reasoning", "reasoning_content", "refusal", "arguments", "partial_json", "thinking",
        "logprobs", "annotations", "citations",
        "instructions", "input", "tools",
    }
)  # fmt: skip
"""Members that hold what a model said, which may speak of any address, or what the request did."""
_LINE_END, _BLOCK_END = re.compile(r"\r\n|\r|\n"), re.compile(r"(?:\r\n|\r(?!\n)|\n){2,}")


def inner_names(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """Where (`header x`, `the body`, `the id`), and the name or address; none that the request itself was sent to."""
    if exchange.status is None or exchange.request.url.endswith(_ASKED_FOR):
        return
    known = _own(exchange)
    for name, values in exchange.headers.items():
        if name not in _OF_THE_ASKER:
            yield from ((f"header {name}", found) for value in values for found in _in(value, known))
    for where, text in _texts(exchange):
        yield from ((where, found) for found in _in(text, known))


def _own(exchange: Exchange) -> frozenset[str]:
    """The hosts that the request was sent to, and this machine where that is what was asked."""
    peer = str(exchange.conditions.get("peer") or exchange.conditions.get("address") or "")
    hosts = {urlsplit(exchange.request.url).hostname or "", peer.rpartition(":")[0].strip("[]"), peer}
    return frozenset(host.lower() for host in hosts if host)


def _in(text: str, known: frozenset[str]) -> Iterator[str]:
    for match in (*_V4.finditer(text), *_V6.finditer(text)):
        said = match[1] if match.re is _V6 else match[0]
        try:
            address = ipaddress.ip_address(said)
        except ValueError:
            continue
        here = any(_loopback(host) for host in known)
        if said.lower() not in known and _inner(address) and not (address.is_loopback and here):
            yield said
    yield from (match[0] for match in _HOST.finditer(text) if match[0].lower() not in known)


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _inner(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return any(address in net for net in (*_INNER, _SHARED) if net.version == address.version)


def _texts(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """An error's body whole; of an answer all but what the model said."""
    if exchange.facts.get("stream"):
        yield from _streamed(exchange)
        return
    text = exchange.body_head.decode("utf-8", "replace")
    one = _parsed(text)
    if (exchange.status or 0) >= 400 or not isinstance(one, dict):
        yield "the body", text
        return
    yield from _answer(one)


def _answer(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "the id of the answer", str(one.get("id") or "")
    yield "the body", "\n".join(_said({**one, "id": ""}))


def _streamed(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """The events that were kept, and of those in the middle of a long stream the errors, and the first that is no JSON."""
    head, tail = (kept.decode("utf-8", "replace") for kept in (exchange.body_head, exchange.body_tail))
    whole_tail = _BLOCK_END.split(tail)[1:]  # it begins anywhere
    for block in filter(_names, [*_BLOCK_END.split(head), *whole_tail]):
        lines = _LINE_END.split(block)
        for line in lines:
            if line.startswith((":", "event:", "id:", "retry:")):
                yield "a line of the stream that is no data", line
        yield from _event("\n".join(line[5:] for line in lines if line.startswith("data:")))
    for error in exchange.facts.get("errors") or ():
        yield "an error in the stream", "\n".join(_said(error))
    yield from _event(str(exchange.facts.get("malformed") or ""))


def _names(text: str) -> bool:
    """Whether it is worth a parser: most of a stream names nobody."""
    return next(_in(text, frozenset()), None) is not None


def _event(data: str) -> Iterator[tuple[str, str]]:
    """What begins as JSON and is none was cut, perhaps within what a model said."""
    one = _parsed(data)
    if isinstance(one, dict):
        yield from _answer(one)
    elif not data.lstrip().startswith("{"):
        yield "an event that is no JSON", data


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _said(tree: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif depth < 20 and isinstance(tree, dict):
        for key, value in tree.items():
            if key not in _SPOKEN and not (key == "delta" and isinstance(value, str)):
                yield from _said(value, depth + 1)
    elif depth < 20 and isinstance(tree, list):
        for value in tree:
            yield from _said(value, depth + 1)
