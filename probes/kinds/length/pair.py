"""What became of one long pair: the same request at the same time, streamed and not?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer, is_refusal
from probes.kinds.by_us import by_us
from probes.kinds.conclude import outcome_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Exchange

REFUSED_WITHIN = 5.0
"""Seconds: what ends later than this was not turned away at the door."""
_JITTER = 0.05
"""Seconds: what scheduling and one read cost at the least."""


@dataclass(frozen=True, slots=True)
class Pair:
    stream: Call
    plain: Call

    @property
    def refused(self) -> bool:
        """One side did not get past the door, so this client says nothing of long answers."""
        return any(
            call.last is not None and is_refusal(call.last) and _at_once(call.last)
            for call in (self.stream, self.plain)
        )

    @property
    def cut(self) -> float | None:
        """Seconds from the request sent to the answer, close or reset that ended the plain side in the stream's life."""
        plain, stream = self.plain.last, self.stream.last
        if plain is None or stream is None or not good(stream):
            return None
        lived, ended = waited(stream, stream.timeline.last_byte), _ended(plain)
        return ended if ended is not None and lived is not None and lived > ended else None

    @property
    def same_age(self) -> float | None:
        """Seconds after which both sides were ended, where that is the same for both within the clocks' error."""
        plain, stream = self.plain.last, self.stream.last
        if plain is None or stream is None or _ended(plain) is None or _ended(stream) is None:
            return None
        first, second = sorted((_ended(plain) or 0.0, _ended(stream) or 0.0))
        near = second - first <= uncertainty(self.plain) + uncertainty(self.stream)
        return second if near and first >= REFUSED_WITHIN else None


def last_of(pairs: Sequence[Pair]) -> tuple[Exchange, Exchange]:
    """(streamed, plain) of the last pair; both were sent."""
    stream, plain = pairs[-1].stream.last, pairs[-1].plain.last
    assert stream is not None
    assert plain is not None
    return stream, plain


def evidence(pairs: Sequence[Pair]) -> tuple[str, ...]:
    calls = [call for pair in pairs for call in (pair.stream, pair.plain)]
    return tuple(call.last.id for call in calls if call.last is not None)


def _ended(exchange: Exchange) -> float | None:
    """Seconds after which something other than us ended a side that was not good."""
    if good(exchange) or by_us(exchange) or (exchange.error is None and is_api_answer(exchange)):
        return None
    timeline = exchange.timeline
    return waited(exchange, timeline.end if exchange.error is not None else timeline.headers)


def _at_once(exchange: Exchange) -> bool:
    """A close or reset after a wait is a timer's, not a refusal."""
    ended = _ended(exchange)
    return ended is None or ended < REFUSED_WITHIN


def good(exchange: Exchange) -> bool:
    return outcome_code(exchange) == "ok"


def waited(exchange: Exchange, until: float | None) -> float | None:
    """Seconds since the request was sent whole: that is when an edge's first-byte timer starts."""
    since = exchange.timeline.upload_end
    return None if until is None or since is None else until - since


def uncertainty(call: Call) -> float:
    """The way there and back (when the timer's owner began to count, when its answer arrived), and our own clock."""
    connect = call.last.timeline.connect if call.last is not None else None
    return max(2 * (connect or 0.0), _JITTER) + float(call.conditions.get("resolution", 0.0))


def tpot(stream: Exchange) -> float | None:
    """Seconds per output token, by the server's own count: a chunk is not a token."""
    usage, timeline = stream.facts.get("usage") or {}, stream.timeline
    tokens = usage.get("completion_tokens", usage.get("output_tokens"))
    if (
        not isinstance(tokens, int)
        or tokens < 2
        or timeline.first_token is None
        or timeline.last_token is None
    ):
        return None
    return (timeline.last_token - timeline.first_token) / (tokens - 1)
