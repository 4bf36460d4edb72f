"""What became of one long request: was it answered or ended, by whom, and after how many seconds?"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

from probes.attribution import is_api_answer, is_refusal
from probes.kinds.by_us import by_us
from probes.kinds.conclude import outcome_code
from probes.kinds.length.spans import survived, waited
from probes.model import Ask
from probes.samples import counted, tpot

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
COUNTED_APART = 16
"""Tokens by which a gateway that counts with another tokenizer may differ from the cap that was kept."""
_SUCCESS = range(200, 300)
_AT_ONCE = 1.0
"""Seconds after the headers: what is whole by then came with them."""
_COSTUMES = frozenset(
    {
        "body.html",
        "body.empty",
        "body.not_json",
        "body.error_in_200",
        "stream.truncated",
        "stream.masked",
        "stream.error_event",
    }
)
"""What a 200 is that somebody ended; any other that came whole, such as JSON for a stream, is wrong by itself."""


@dataclass(frozen=True, slots=True)
class Ending:
    """`timer`: of what kind the clock was; `at`: seconds since the request was sent whole; `seconds`: what such a clock
    had counted by then, of an `idle` one the silence alone. `spoke`: a token had come, or the beginning of an answer.
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
        if (
            last is None
            or self.good
            or by_us(last)
            or _by_client(last)
            or _refused_by_api(last)
            or self.whole
        ):
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

    @property
    def whole(self) -> bool:
        """Under 200 to its last byte, though perhaps not what was asked for: nobody ended it."""
        last = self.last
        if last is None or last.status not in _SUCCESS:
            return False
        code = outcome_code(last)
        if last.error is not None:
            return code == "stream.no_end"
        return code not in _COSTUMES and (self.streamed or code != "body.shape")

    def _midway(self, last: Exchange) -> Ending | None:
        """After the status: by a silence, or while something still came. An error event is what ends it, not a sign of life."""
        line = last.timeline
        at = waited(last, line.last_byte if last.facts.get("errors") else line.end)
        opened, whole = waited(last, line.headers), self.answered
        if (
            last.error is None
            and outcome_code(last).startswith("body.")
            and opened is not None
            and whole is not None
        ):
            at_once = whole - opened < _AT_ONCE
            return Ending("first_byte", opened, opened) if at_once else Ending("total", whole, whole)
        heard = line.last_token if last.facts.get("errors") else line.last_byte
        heard = heard if heard is not None else line.headers
        if at is None or heard is None:
            return None
        silence = at - (waited(last, heard) or 0.0)
        spoke = line.first_token is not None or (not self.streamed and bool(last.body_head.strip()))
        idle = silence >= max(REFUSED_WITHIN, _SILENT * (self.tpot or 0.0))
        if idle and silence > survived(last, heard) + self.uncertainty:
            return Ending("idle", at, silence, spoke)
        return Ending("total", at, at, spoke)

    @property
    def lived(self) -> float | None:
        """Seconds for which it is known not to have been ended; `None` where the API itself refused it."""
        if self.last is None:
            return None
        if (ending := self.ending) is not None:
            return ending.at
        if self.good or self.whole:
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
        """By the server's own count; the cap, where it stopped there and counts nothing or fewer than its chunks were."""
        if self.last is None:
            return None
        made = counted(self.last)
        if self.at_cap and not self.last.facts.get("usage"):
            return self.cap
        if made is not None and self.disagrees and int(self.last.facts.get("tokens") or 0) > made:
            return self.cap
        return made or None

    @property
    def at_cap(self) -> bool:
        """By its finish reason, which no count overrules."""
        return self.last is not None and self.last.facts.get("finish_reason") in _LENGTH

    @property
    def disagrees(self) -> bool:
        """Its finish reason says that the cap was reached, its usage that fewer tokens were made."""
        made = counted(self.last) if self.last is not None else None
        return self.at_cap and made is not None and made < self.cap - COUNTED_APART

    @property
    def tpot(self) -> float | None:
        return tpot(self.last, self.tokens) if self.last is not None else None

    @property
    def uncertainty(self) -> float:
        """The way there and back (when the timer's owner began to count, when its answer arrived), and our own clock."""
        connect = self.last.timeline.connect if self.last is not None else None
        return max(2 * (connect or 0.0), _JITTER) + float(self.call.conditions.get("resolution", 0.0))


def _by_client(exchange: Exchange) -> bool:
    """A time-out of the client's own."""
    return exchange.error is not None and exchange.error.kind == "timeout"


def _refused_by_api(exchange: Exchange) -> bool:
    """408 and 504 are a clock's, whoever says them, and what comes under 200 may be."""
    refused = exchange.status is not None and exchange.status >= HTTPStatus.BAD_REQUEST
    return (
        refused and exchange.error is None and is_api_answer(exchange) and exchange.status not in _TIMERS_OWN
    )
