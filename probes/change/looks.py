"""Which response headers belong to the look of an edge, and which of their values stay as they are?

Names are looked at but for those that come and go with the answer; values only where every answer of one
configuration has the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.model import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.model import Exchange

LONGEST = 120
_PASSING = frozenset(
    {
        "date", "age", "expires", "last-modified", "etag", "location", "content-length", "transfer-encoding", "connection",
        "keep-alive", "trailer", "content-encoding", "proxy-connection", "retry-after", "warning", "x-should-retry",
        "accept-ranges", "upgrade",
    }
)  # fmt: skip
"""Told by another trait, or an answer's own affair."""
_CACHES = (
    "cf-cache-status",
    "x-cache",
    "x-cache-status",
    "x-vercel-cache",
    "x-proxy-cache",
    "x-varnish-cache",
)
_WORD = re.compile(r"\s*[A-Za-z_]+")
_BY_CHANCE = re.compile(r"hit|miss|expired|stale|updating|revalidated|refresh")
_VALUED = frozenset(
    {
        "server", "via", "alt-svc", "strict-transport-security", "x-powered-by", "content-type", "cache-control", "vary",
        "allow", "referrer-policy", "access-control-allow-origin", "x-content-type-options", "x-frame-options",
        "x-xss-protection", "permissions-policy", "x-accel-buffering", "x-litellm-version", "x-cdn", "x-aspnet-version",
        "x-robots-tag",
    }
)  # fmt: skip
_EDGES = frozenset({"via", "alt-svc", "cf-ray", "x-amz-cf-id", "x-azure-ref", "x-served-by", "x-iinfo"})
"""Nobody behind the edge writes them."""
_NODES = re.compile(r"\((?:\w{3}/\w{4})\)|\b(?=[\w-]{0,64}\d)(?=[\w-]{0,64}[A-Za-z])[\w-]{8,}")
"""Names of machines in `server` and `via`: `(sac/2512)` of Edgecast, `8a7bc1d2e3f4` of CloudFront, `cache-fra123-FRA`."""


def looks(exchange: Exchange) -> Iterator[tuple[str, str, Layer]]:
    """(Header, its stable value or `there`, whose it is) for each that belongs to the look."""
    for name, values in exchange.headers.items():
        low = name.lower()
        if low in _PASSING or low in _CACHES:
            continue
        if low == "set-cookie":
            # Balancers number them: `incap_ses_1234_56`.
            cookies = {re.sub(r"\d+", "*", value.partition("=")[0].strip()[:LONGEST]) for value in values}
            yield low, shown(", ".join(sorted(cookies))), Layer.UNKNOWN
        else:
            value = stable(low, values) if low in _VALUED else "there"
            yield shown(low), value, _whose(low, value, exchange)


def stable(name: str, values: Sequence[str]) -> str:
    joined = " ".join(", ".join(values).split())
    if name in {"server", "via"}:
        joined = _NODES.sub("*", joined[: 4 * LONGEST])
    return shown(joined) or "empty"


def cache_status(exchange: Exchange) -> str | None:
    """What the first cache header says of the rule, not of this answer: whether it was kept already is chance."""
    for name in _CACHES:
        for value in exchange.headers.get(name, ()):
            word = _WORD.match(value)
            said = shown(word.group().strip().lower()) if word else "other"
            return f"{name}: {'hit or miss' if _BY_CHANCE.search(said) else said}"
    return None


def shown(text: str) -> str:
    """Short, and without what a terminal would act on."""
    if text.isprintable() and len(text) <= LONGEST:
        return text
    kept = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text[:LONGEST])
    return kept + ("…" if len(text) > LONGEST else "")


def _whose(name: str, value: str, exchange: Exchange) -> Layer:
    """An edge may pass the server header on; it is its own where it names it."""
    made = exchange.attribution
    path = made.transit if made is not None else ()
    own = name == "server" and any(product.lower().partition(" ")[0] in value.lower() for product in path)
    return Layer.EDGE if own or (name in _EDGES and path) else Layer.UNKNOWN
