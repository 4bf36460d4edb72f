"""What does it mean when no complete response came?"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from probes.handshakes import fault
from probes.model import Attribution, Confidence, Layer, WhoActs

if TYPE_CHECKING:
    from probes.model import Exchange

_FRESH = "the same request on a fresh connection and with another client"
_BYTES = "look at the first bytes that answer, by curl --raw -v --http0.9, and what listens on that port"
_HEAD = "the same request straight to the origin: which of the headers are added on the way?"
_ISSUER = "compare the issuer of the certificate presented here with that seen from another network"
_LONGER = "the same request with a longer deadline (limits.deadline in the target's file; --set deadline=… where a case has it)"
_ITS_LIMIT = (
    "how long the call took, against the client's own time limit (600 s in the OpenAI and Anthropic SDKs, 300 s in Node's "
    "fetch, unless set); then the same prompt with stream on"
)
_CUT = "the same stream straight to the origin; compare the time of the cut and the last silence with known timers"


class _End(NamedTuple):
    code: str
    layer: Layer
    confidence: Confidence
    next_test: str
    who_acts: WhoActs | None = None


_DNS = _End("unreachable.dns", Layer.DNS, Confidence.HIGH, "resolve the name with another resolver")
_REFUSED = _End(
    "unreachable.connect", Layer.NETWORK, Confidence.HIGH, "connect to the same address from another network"
)
_TLS = _End("unreachable.tls", Layer.TLS, Confidence.HIGH, _ISSUER)
_NO_ANSWER = _End(
    "timeout.connect",
    Layer.NETWORK,
    Confidence.MEDIUM,
    "the other addresses of the name, then another network",
)
_RESET = _End("unreachable.reset", Layer.NETWORK, Confidence.LOW, _FRESH)
_HUNG_UP = "Look where this address is served for why new connections are ended unanswered: {}."
_WHY_HUNG_UP = "a process that dies or has no worker left, or a firewall that resets"
_UPLOAD = _End("timeout.upload", Layer.UNKNOWN, Confidence.LOW, "the same request with a small body")
_SILENCE = _End("timeout.first_byte", Layer.UNKNOWN, Confidence.LOW, _LONGER)
_NOT_HTTP = _End("response.malformed", Layer.UNKNOWN, Confidence.LOW, _BYTES)
_OVERSIZE = _End("response.headers_too_large", Layer.UNKNOWN, Confidence.LOW, _HEAD)
_BROKEN = _End("stream.truncated", Layer.UNKNOWN, Confidence.LOW, _CUT)
_PROXY = _End(
    "unreachable.connect",
    Layer.PROXY,
    Confidence.HIGH,
    "the same request without the proxy",
    WhoActs.CUSTOMER,
)
_GAVE_UP = _End("client.timeout", Layer.CLIENT, Confidence.HIGH, _ITS_LIMIT, WhoActs.CUSTOMER)
_LOST = _End("timeout.first_byte", Layer.NETWORK, Confidence.LOW, _FRESH)
_OURS = _End("not_measured", Layer.PROBE, Confidence.HIGH, "the same request with our own limits raised")
_OPENED = _End("ok", Layer.NETWORK, Confidence.HIGH, "a request on such a connection")
_UNSENT = _End("not_measured", Layer.PROBE, Confidence.LOW, "the same request again")

_SOFTWARE = (
    # not the names of their hosts
    (r"\b(?:Async)?OpenAI/|(?<![\w./-])openai\.", "OpenAI SDK"),
    (r"\b(?:Async)?Anthropic/|(?<![\w./-])anthropic\.", "Anthropic SDK"),
    (r"UND_ERR_|\b(?:Headers|Body) ?Timeout ?Error|^undici", "undici"),
    (r"python-httpx/|\bhttpx2?\.", "httpx"),
    (r"\bcurl: \(", "curl"),
)
SILENT = frozenset({"dns", "connect", "timeout", "lost", "deadline"})
"""Ends that mean nobody answered; a reset or a close is an answer of a kind."""
_BROKEN_OFF = frozenset({"dns", "connect", "reset", "closed"})
_AT_ONCE = 2.0

_ENDS: dict[str, dict[str, _End]] = {
    "dns": {"": _DNS},
    "connect": {"": _REFUSED},
    "tls": {"": _TLS},
    "proxy": {"": _PROXY},
    "reset": {"": _RESET, "body": _BROKEN},
    "closed": {"": _RESET, "body": _BROKEN},
    "protocol": {"": _NOT_HTTP, "connect": _PROXY, "tls": _TLS, "body": _BROKEN},
    "oversize": {"": _OVERSIZE, "connect": _PROXY, "body": _BROKEN},
    "timeout": {
        "": _GAVE_UP._replace(
            confidence=Confidence.LOW
        ),  # pasted: it may as well have been without a connection
        "dns": _DNS,
        "connect": _NO_ANSWER,
        "tls": _TLS,
        "upload": _GAVE_UP,
        "headers": _GAVE_UP,
        "body": _GAVE_UP,
    },
    "lost": {"": _LOST, "upload": _UPLOAD, "body": _BROKEN},
    "deadline": {"": _SILENCE, "dns": _DNS, "connect": _NO_ANSWER, "tls": _TLS, "upload": _UPLOAD},
    "limit": {"": _OURS},
    "interrupted": {"": _OURS},
}


def ended(exchange: Exchange) -> Attribution:
    """What is known when the transport failed; the phase in which it did is the evidence.

    A deadline of ours tells the phase, but is nobody's timer: the answer may have been on its way.
    """
    error = exchange.error
    if error is None:
        return _end(_OPENED if not exchange.request.method else _UNSENT)
    by_phase = _ENDS.get(error.kind, {})
    end = by_phase.get(error.phase) or by_phase.get("", _UNSENT)
    if exchange.conditions.get("proxy") and end in {_DNS, _REFUSED, _NO_ANSWER}:
        end = _PROXY  # what was dialled is the proxy of our own side, not the service
    answering = exchange.timeline.first_byte is not None and exchange.body_bytes
    if (error.kind, error.phase) == ("deadline", "body") and answering:
        end = _SILENCE._replace(code="timeout.idle" if _fell_silent(exchange) else "timeout.total")
    if end.next_test == _LONGER and not exchange.request.stream:
        end = end._replace(next_test=f"{_LONGER}, and with stream on")
    said = {"error": error.text[:200], "phase": error.phase}
    if end is _TLS and (why := fault(exchange)) is not None:
        end = end._replace(next_test=why.next_test, who_acts=why.who_acts)
        return replace(_end(end, said), advice=why.advice)
    if end.code == _GAVE_UP.code:
        return replace(_end(end, said), product=_software(exchange))
    if end is _RESET and exchange.conditions.get("connection") == "new":
        return _hung_up(exchange, said)
    return _end(end, said)


def _hung_up(exchange: Exchange, said: dict[str, str]) -> Attribution:
    """On a fresh connection idleness is no cause; of a plain request it may be that TLS was expected."""
    plain = exchange.request.url.startswith("http:")
    why = f"it may expect TLS; {_WHY_HUNG_UP}" if plain else _WHY_HUNG_UP
    next_test = "the same base URL with https" if plain else "the same request from another network"
    return replace(_end(_RESET._replace(next_test=next_test), said), advice=_HUNG_UP.format(why))


def _software(exchange: Exchange) -> str | None:
    """Of the client, by what it announced or by its own words."""
    agents = [value for name, value in exchange.request.headers if name.lower() == "user-agent"]
    words = " ".join([*agents, exchange.error.text if exchange.error is not None else ""])
    return next((product for pattern, product in _SOFTWARE if re.search(pattern, words)), None)


def _fell_silent(exchange: Exchange) -> bool:
    """Most of the time until our deadline nothing more came. Of a stream alone, which every client reads as it comes."""
    if not (exchange.header("content-type") or "").startswith("text/event-stream"):
        return False
    last, end = exchange.timeline.last_byte, exchange.timeline.end
    return last is not None and end is not None and end - last > end / 2


def by_itself(exchange: Exchange) -> bool:
    """A client's own trust store or its own proxy: what another client need not meet."""
    return exchange.error is not None and exchange.error.kind in {"tls", "proxy"}


def broke(exchange: Exchange) -> bool:
    """No connection, or one that ended before any answer, and at once: another may fare better a moment later."""
    error = exchange.error
    ended_early = exchange.status is None and error is not None and error.kind in _BROKEN_OFF
    return ended_early and (exchange.timeline.end or 0.0) < _AT_ONCE


def _end(end: _End, extracted: dict[str, str] | None = None) -> Attribution:
    return Attribution(
        layer=end.layer,
        code=end.code,
        confidence=end.confidence,
        next_test=end.next_test,
        who_acts=end.who_acts,
        extracted=extracted or {},
    )
