"""Did an answer that is private to its asker come from a shared cache?"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probes.model import Exchange

_HIT = re.compile(r"(?:tcp_)?(?:hit|stale|updating|revalidated)\b", re.IGNORECASE)
_SAYING = ("cf-cache-status", "x-cache", "x-cache-status", "x-vercel-cache", "x-proxy-cache")
_KEYS = frozenset({"authorization", "x-api-key"})


def is_private(exchange: Exchange) -> bool:
    """The answer is to this request alone: a POST, or one that carries a key."""
    names = {name.lower() for name, _ in exchange.request.headers}
    return exchange.request.method == "POST" or bool(names & _KEYS)


def kept_by(exchange: Exchange) -> str | None:
    """The header by which a cache says that it kept the answer before this request was made."""
    for name in _SAYING:
        for value in exchange.headers.get(name, ()):
            if _HIT.match(value.strip()):
                return f"{name}: {value}"
    for value in exchange.headers.get("x-varnish", ()):
        if len(value.split()) > 1:  # this request, and the one that filled the cache
            return f"x-varnish: {value}"
    age = (exchange.header("age") or "").strip()
    return f"age: {age}" if age.isascii() and age.isdigit() and int(age[:9]) > _own_wait(exchange) else None


def _own_wait(exchange: Exchange) -> float:
    """Seconds, as Age counts them: what a cache passes on after it had it whole is as old as that took, and nobody else's
    (Varnish with beresp.do_stream false).
    """
    waited = exchange.timeline.headers
    return math.ceil(waited) if waited is not None else 0.0
