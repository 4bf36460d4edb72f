"""How old was a stream when it ended, how long had it been silent, and may a timer be what ended it?"""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from probes import timers
from probes.kinds.length.clock import LIBRARIES, matches, products_of
from probes.kinds.length.spans import survived, waited
from probes.kinds.words import duration
from probes.sampling import alike, figure, sampled
from probes.streams import is_whole, logical_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Exchange, Figure, Finding

ENDED = frozenset({"stream.truncated", "stream.masked", "stream.error_event"})
SUSPECT_FROM = 5.0
"""Seconds: what ended earlier was hardly a timer's."""
_SILENT = 20
"""Times the pause between two chunks: a silence that long before an end is what ended it."""
_JITTER = 0.1
_NAMED = 3
_HOW = {
    "reset": "by a reset",
    "closed": "by a close without the end of its framing",
    "protocol": "in the middle of its framing",
    "lost": "unacknowledged",
}
_FRAMED = ("content-length", "transfer-encoding")
_OF_THE_WAY = re.compile(
    r"time[d-]?[\s_-]?out|deadline|reset|disconnect|clos(?:ed|ure)|broken pipe|incomplete|upstream|connection|\bEOF\b|\bpeer\b",
    re.IGNORECASE,
)
"""What a gateway says when a timer behind it has ended its own stream."""
_STATUS_OF_THE_WAY = frozenset({408, 502, 504})


def figures(finding: Finding, calls: Sequence[Call]) -> dict[str, Figure]:
    """How old a stream was when it ended, and how long it had been silent, in seconds."""
    kept, _ = alike(call for call in calls if call.last is not None)
    ends = [(call, _ended(call.last)) for call in kept if call.last is not None]
    if finding.code not in ENDED or not ends:
        return {}
    return {
        "age": figure([sampled(call, end.age) for call, end in ends]),
        "silence": figure([sampled(call, end.silence) for call, end in ends]),
    }


class _End(NamedTuple):
    """Seconds from the request to a stream's end, and those of them without a token before it; `idle`: that silence is
    what ended it, since none as long was survived before.
    """

    age: float
    silence: float
    idle: bool


def _ended(exchange: Exchange) -> _End:
    """Who ends a stream with words of his own, an error or a marker, ends it then."""
    line = exchange.timeline
    words = exchange.facts.get("errors") or exchange.facts.get("terminal")
    end = line.last_byte if words and exchange.error is None else line.end
    heard = line.last_token if words else line.last_byte
    heard = heard if heard is not None else line.headers
    age = waited(exchange, end) or 0.0
    silence = max(age - (waited(exchange, heard) or 0.0), 0.0)
    long = silence >= max(SUSPECT_FROM, _SILENT * (_pace(exchange) or 0.0))
    return _End(age, silence, long and silence > survived(exchange, heard or 0.0) + _JITTER)


def how(exchange: Exchange) -> str:
    facts = exchange.facts
    if exchange.error is not None:
        how = _HOW.get(exchange.error.kind, exchange.error.text)
    elif facts.get("terminal"):
        how = f"tidily, with {facts['terminal']}"
    elif facts.get("complete") and not _framed(exchange):
        how = "by a close, which is all that ends a body without framing, and without its end marker"
    elif facts.get("complete"):
        how = "tidily, without its end marker"
    else:
        how = "with an error event, at which the client closed"
    end = _ended(exchange)
    when = f"{how}, {duration(end.age)} after the request"
    if end.silence >= max(SUSPECT_FROM, _SILENT * (_pace(exchange) or 0.0)):
        return f"{when} and after {duration(end.silence)} of silence"
    if not facts.get("tokens"):
        return f"{when}, before any token"
    return when if is_whole(facts) else f"{when}, while chunks were coming"


def _framed(exchange: Exchange) -> bool:
    """HTTP/1 says where a body ends, or leaves that to the end of the connection."""
    http1 = str(exchange.conditions.get("http_version") or "").startswith("HTTP/1")
    return not http1 or any(exchange.header(name) is not None for name in _FRAMED)


def _pace(exchange: Exchange) -> float | None:
    """Seconds between two chunks with tokens."""
    line, chunks = exchange.timeline, int(exchange.facts.get("tokens") or 0)
    if chunks < 2 or line.first_token is None or line.last_token is None:
        return None
    return (line.last_token - line.first_token) / (chunks - 1)


def by_clock(exchanges: Sequence[Exchange]) -> list[tuple[str, str]]:
    """Known timers that a measured age or silence may be, where it is the same each time."""
    ends = [_ended(exchange) for exchange in exchanges]
    idle = all(end.idle for end in ends)
    values = [end.silence if idle else end.age for end in ends]
    took, apart = median(values), max(values) - min(values)
    if took < SUSPECT_FROM or (any(end.idle for end in ends) and not idle):
        return []
    if apart > max(1.0, 0.02 * took):
        return []  # not one clock: of times far apart some known timer is always near
    same = len(exchanges) > 1 and not idle and same_chunk(exchanges) is not None
    if not idle and any(
        says_why(exchange) or (same and exchange.facts.get("terminal")) for exchange in exchanges
    ):
        return []  # streams of one prompt that end by themselves are of one age, too
    unsure = max(_JITTER, apart) + (0.0 if idle else _pace(exchanges[-1]) or 0.0)
    known = timers.match(took, "idle" if idle else "total", None, unsure)
    products = products_of(exchanges)
    suspects = sorted(
        (timer for timer in known if timer.product not in LIBRARIES), key=lambda t: t.product not in products
    )[:_NAMED]
    found = [matches(suspects, took, products)] if suspects else []
    if len(values) > 1:
        what = "after the same silence" if idle else "at the same age"
        also = (
            f", or that of what fails with {same_chunk(exchanges)} chunks, which each had come to"
            if same
            else ""
        )
        found.append(("each time", f"{len(values)} streams ended {what}: a timer's doing{also}"))
    return found


def same_chunk(exchanges: Sequence[Exchange]) -> int | None:
    """The number of chunks with tokens that every one of them had come to; `None` where they differ."""
    counts = {int(exchange.facts.get("tokens") or 0) for exchange in exchanges}
    return counts.pop() if len(counts) == 1 else None


def says_why(exchange: Exchange) -> str:
    """What of a stream's own words explains its end without any timer; empty where nothing does."""
    facts = exchange.facts
    if reason := facts.get("finish_reason"):
        return f"a finish reason ({reason}) came"
    if facts.get("dialect") == "openai.chat" and facts.get("usages") == 1 and facts.get("usage"):
        return "its usage came, which comes last"
    for error in (facts.get("errors") or ())[:1]:
        said = str(error.get("message") or error) if isinstance(error, dict) else str(error)
        if logical_status(error) not in _STATUS_OF_THE_WAY and not _OF_THE_WAY.search(said):
            return f"it says that it failed ({said[:80]!r})"
    return ""
