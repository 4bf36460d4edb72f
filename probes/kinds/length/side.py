"""What became of one long request: was it answered or ended, by whom, and after how many seconds?"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

from probes.attribution import is_api_answer, is_refusal
from probes.kinds.by_us import by_us
from probes.kinds.conclude import outcome_code
from probes.model import Ask

if TYPE_CHECKING:
    from probes.model import Call, Exchange

REFUSED_WITHIN = 5.0
"""Seconds: what ends later than this was not turned away at the door."""
_JITTER = 0.05
"""Seconds: what scheduling and one read cost at the least."""
_SILENT = 20
"""Times the pause between two tokens: a silence that long before an end is what ended it."""
_TIMERS_OWN = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT})
_LENGTH = frozenset({"length", "max_tokens", "max_output_tokens", "incomplete"})
"""Words of the dialects for an answer that ended at its cap."""
_SUCCESS = range(200, 300)


@dataclass(frozen=True, slots=True)
class Ending:
    """`timer`: of what kind the clock was; `at`: seconds since the request was sent whole; `seconds`: what such a clock
    had counted by then, of an `idle` one the silence alone. `spoke`: a token had come.
    """

    timer: Literal["first_byte", "idle", "total", "upload"]
    at: float
    seconds: float
    spoke: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    call: Call

    @property
    def last(self) -> Exchange | None:
        return self.call.last

    @property
    def sent(self) -> Exchange:
        """Of a side that is known to have been sent."""
        assert self.call.last is not None
        return self.call.last

    @property
    def client(self) -> str:
        return self.call.trial.client

    @property
    def streamed(self) -> bool:
        return isinstance(self.call.trial.request, Ask) and self.call.trial.request.stream

    @property
    def name(self) -> str:
        return "streamed" if self.streamed else "not streamed"

    @property
    def cap(self) -> int:
        """As it was sent at last: the server's 400 may have changed the one that was asked for."""
        return self.call.trial.request.cap if isinstance(self.call.trial.request, Ask) else 0

    @property
    def good(self) -> bool:
        return self.last is not None and outcome_code(self.last) == "ok"

    @property
    def turned_away(self) -> bool:
        """At the door: a close or reset after a wait is a timer's, not a refusal."""
        if self.last is None or not is_refusal(self.last):
            return False
        ending = self.ending
        return ending is None or ending.at < REFUSED_WITHIN

    @property
    def ending(self) -> Ending | None:
        """How something other than us, its client and the API itself ended it before it was whole."""
        last = self.last
        if last is None or self.good or by_us(last) or _by_client(last) or _answered_by_api(last):
            return None
        line, error = last.timeline, last.error
        if error is not None and error.phase == "upload":
            at = None if line.end is None else line.end - (line.upload_start or 0.0)
            return None if at is None else Ending("upload", at, at)
        if last.status not in _SUCCESS:
            at = waited(last, line.headers if error is None else line.end)
            late = outcome_code(last) == "timeout.upload"
            return None if at is None else Ending("upload" if late else "first_byte", at, at)
        return self._midway(last)

    def _midway(self, last: Exchange) -> Ending | None:
        """After the status: by a silence, or while something still came. An error event is what ends it, not a sign of life."""
        line = last.timeline
        at = waited(last, line.last_byte if last.facts.get("errors") else line.end)
        heard = line.last_token if last.facts.get("errors") else line.last_byte
        since = waited(last, heard if heard is not None else line.headers)
        if at is None or since is None:
            return None
        silence, spoke = at - since, line.first_token is not None
        idle = silence >= max(REFUSED_WITHIN, _SILENT * (self.tpot or 0.0))
        return Ending("idle", at, silence, spoke) if idle else Ending("total", at, at, spoke)

    @property
    def lived(self) -> float | None:
        """Seconds for which it is known not to have been ended; `None` where the API itself refused it."""
        if self.last is None:
            return None
        if (ending := self.ending) is not None:
            return ending.at
        if self.good:
            return self.answered
        return waited(self.last, self.last.timeline.end) if by_us(self.last) else None

    @property
    def answered(self) -> float | None:
        """Seconds until the answer was there; what came before it, such as blanks or comments, is no answer."""
        return waited(self.sent, self.sent.timeline.last_byte or self.sent.timeline.headers)

    @property
    def early(self) -> bool:
        """Status and headers, perhaps with blanks, came long before the answer, and of no stream."""
        headers, whole = waited(self.sent, self.sent.timeline.headers), self.answered
        if self.streamed or not self.good or headers is None or whole is None:
            return False
        return whole - headers > 1.0 and headers < whole / 2

    @property
    def ttft(self) -> float | None:
        return waited(self.sent, self.sent.timeline.first_token)

    @property
    def tokens(self) -> int | None:
        """By the server's own count; where it counts nothing and stopped at the cap, the cap."""
        if self.last is None:
            return None
        at_cap = self.last.facts.get("finish_reason") in _LENGTH
        return counted(self.last) or (self.cap if at_cap and not self.last.facts.get("usage") else None)

    @property
    def tpot(self) -> float | None:
        return tpot(self.last, self.tokens) if self.last is not None else None

    @property
    def uncertainty(self) -> float:
        """The way there and back (when the timer's owner began to count, when its answer arrived), and our own clock."""
        connect = self.last.timeline.connect if self.last is not None else None
        return max(2 * (connect or 0.0), _JITTER) + float(self.call.conditions.get("resolution", 0.0))


def waited(exchange: Exchange, until: float | None) -> float | None:
    """Seconds since the request was sent whole: that is when an edge's first-byte timer starts."""
    since = exchange.timeline.upload_end
    return None if until is None or since is None else until - since


def counted(exchange: Exchange) -> int | None:
    """Output tokens in the server's usage."""
    usage = exchange.facts.get("usage") or {}
    tokens = usage.get("completion_tokens", usage.get("output_tokens"))
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None


def tpot(exchange: Exchange, tokens: int | None) -> float | None:
    """Seconds per output token of a stream of `tokens`: a chunk is not one."""
    line = exchange.timeline
    if tokens is None or tokens < 2 or line.first_token is None or line.last_token is None:
        return None
    return (line.last_token - line.first_token) / (tokens - 1)


def _by_client(exchange: Exchange) -> bool:
    """A time-out of the client's own."""
    return exchange.error is not None and exchange.error.kind == "timeout"


def _answered_by_api(exchange: Exchange) -> bool:
    """408 and 504 are a clock's, whoever says them."""
    return exchange.error is None and is_api_answer(exchange) and exchange.status not in _TIMERS_OWN
