"""When was what asked, beside the command, and did it get an answer?"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from probes.during.plan import STREAMS
from probes.kinds.conclude import outcome_code
from probes.kinds.length.side import Side
from probes.kinds.lifetimes import lived, was_cut
from probes.model import Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from probes.during.child import Line
    from probes.model import Call

_ENDED_BY_US = frozenset({"interrupted", "limit"})
_OURS_ALONE = ("ratelimited", "quota")
"""Families of codes that speak of our own key."""
_NOTICED = 2.0
"""Seconds that a request was held back for."""
_LONGEST = 120
_AS_IT_BEGAN = 0.05


@dataclass(frozen=True, slots=True)
class Command:
    """Seconds since the measuring began. `code` as a shell tells it, and `ended`, are `None` where it was not begun,
    `fault` then says why, if it was not interrupted. `more`: lines beyond those that were kept. `waited`:
    seconds for which nothing was asked since the server asked for it.
    """

    words: tuple[str, ...]
    began: float
    ended: float | None = None
    code: int | None = None
    lines: tuple[Line, ...] = ()
    more: int = 0
    fault: str | None = None
    interrupted: bool = False
    waited: float = 0.0

    def in_words(self, redact: Callable[[str], str]) -> str:
        said = redact(shlex.join(self.words))
        said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
        if self.ended is None:
            return f"{said} did not begin"
        return f"{said} ended with {self.code} after {self.ended - self.began:.1f} s"


def when(at: float, command: Command) -> str:
    apart = at - command.began
    if abs(apart) < _AS_IT_BEGAN:
        return "as the command began"
    return f"{abs(apart):.1f} s {'after' if apart >= 0 else 'before'} the command began"


class Request(NamedTuple):
    """`good`: a stream that began is, whatever became of it; `None` says nothing of the service. `held_back`: seconds for
    which it was not sent though it was due.
    """

    at: float
    ended: float
    good: bool | None
    stream: bool
    held_back: float
    call: Call


def requests(calls: Sequence[Call]) -> list[Request]:
    """Those that were sent, in the order in which they were."""
    sent = [
        call for call in calls if call.not_sent is None and call.trial.label.startswith(("knock", "stream/"))
    ]
    return sorted(map(_request, sent), key=lambda each: each.at)


def _request(call: Call) -> Request:
    lag, line = call.own_lag or 0.0, call.last.timeline if call.last is not None else None
    at = call.trial.start + lag
    stream = call.case.endswith(STREAMS)
    late = lag if lag > _NOTICED else 0.0
    return Request(
        at,
        at + ((line.end or 0.0) if line is not None else 0.0),
        _good(call, stream=stream),
        stream,
        late,
        call,
    )


def _good(call: Call, *, stream: bool) -> bool | None:
    last = call.last
    if last is None:
        return False
    if stream and (was_cut(Side(call)) or lived_on(Side(call))):
        return True
    if last.error is not None and last.error.kind in _ENDED_BY_US:
        return None
    code = outcome_code(last)
    if code.startswith(_OURS_ALONE):
        return None
    return vocabulary()[code].verdict in {Verdict.PASS, Verdict.WARN}


def lived_on(side: Side) -> bool:
    """To its own end, or until we ended it."""
    error = side.sent.error
    ours = error is not None and error.kind == "interrupted" and side.sent.timeline.first_token is not None
    return ours or lived(side)
