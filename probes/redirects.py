"""What did a client make of a redirect?"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Exchange, WireRequest

_REDIRECTS = range(300, 400)
_KEYS = frozenset({"authorization", "x-api-key"})


def redirect(call: Call) -> Exchange | None:
    """The redirect that the call met first; `None` where it met none."""
    first = call.exchanges[0] if call.exchanges else None
    return (
        first
        if first is not None and (first.status or 0) in _REDIRECTS and first.header("location")
        else None
    )


def followed(call: Call) -> bool:
    return redirect(call) is not None and len(call.exchanges) > 1


def circle(call: Call) -> tuple[Exchange, ...]:
    """The hops of a circle, its first place again at the end; empty where none was walked. A redirect to the same place
    that was not followed proves none: it may go with a cookie, or change the method.
    """
    hops = [e for e in call.exchanges if (e.status or 0) in _REDIRECTS]
    places = [(hop.request.method, hop.request.url) for hop in hops]
    for end, place in enumerate(places):
        if place in places[:end]:
            return tuple(hops[places.index(place) : end + 1])
    return ()


def unending(call: Call) -> bool:
    """It went in a circle, or on and on until the probe stopped it."""
    error = call.last.error if call.last is not None and followed(call) else None
    return bool(circle(call)) or (error is not None and error.kind == "limit" and "redirects" in error.text)


def told_by_outcome(calls: Sequence[Call]) -> list[Call]:
    """Without those of which the redirect itself is told, and says all there is: what came after it proves nothing more.
    Where one client finds no end, those that don't follow met the same.
    """
    round_ = any(map(unending, calls))
    return [call for call in calls if lost(call) is None and not (round_ and redirect(call) is not None)]


def lost(call: Call) -> str | None:
    """What a client that followed left behind, in words; `None` where it repeated the request as it was."""
    if not followed(call):
        return None
    first, last = call.exchanges[0].request, call.exchanges[-1].request
    if not last.method:
        return None  # it got no further than the connection
    if last.method != first.method:
        return f"the {first.method} is repeated as {last.method}, without its body"
    return "the key is left behind" if _holds_key(first) and not _holds_key(last) else None


def in_clear(call: Call) -> bool:
    """The customer's key went over plain http before the redirect asked for https."""
    met = redirect(call)
    if met is None or getattr(call.trial.request, "key", None) != "target":
        return False
    schemes = urlsplit(met.request.url).scheme, urlsplit(met.header("location") or "").scheme
    return schemes == ("http", "https") and _holds_key(met.request)


def _holds_key(request: WireRequest) -> bool:
    return any(name.lower() in _KEYS for name, _ in request.headers)
