"""Was it a clock that ended a long request, and whose?

The clock is trusted over the message: timers are measured, and then compared with those that are known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.kinds.length.side import REFUSED_WITHIN
from probes.response import Response
from probes.timers import Timer, match
from probes.twins import REPEATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.length.side import Ending, Side
    from probes.model import Exchange

_GATEWAY = frozenset({408, 499, 502, 503, 504})
_NEAR = 1.0
_SAME = 0.25
"""Seconds."""
_TIMED_OUT = re.compile(r"\btime[ds]?[ -]?out\b|\bdeadline exceeded\b", re.IGNORECASE)
_SPOKEN = re.compile(
    r"(?:time[ds]?[ -]?out|timeout|deadline|within|after|limit|waited)[^<>{}\n]{0,60}?\b(\d{1,7}(?:\.\d+)?)\s?(ms|milliseconds?|s|secs?|seconds?|min|minutes?)\b",
    re.IGNORECASE,
)
_KINDS = {"first_byte": ("first_byte", "total", "upload"), "idle": ("idle",), "total": ("total",)}


def is_clock(side: Side, ending: Ending) -> bool:
    """A time-out by its own words, a close or reset after a silence, or another end at the time of a known timer."""
    exchange = side.sent
    made = exchange.attribution
    if made is not None and made.code.startswith("timeout."):
        return True
    if exchange.status is None and not ending.spoke:
        return True
    product = made.product if made is not None else None
    known = bool(match(ending.seconds, ending.timer, product, _NEAR))
    if exchange.status is not None and exchange.status < 400:
        return known or ending.timer == "idle"
    words = ending.at >= REFUSED_WITHIN and _TIMED_OUT.search(Response.of(exchange).text) is not None
    return (exchange.status in _GATEWAY and known) or words


def same_time(ended: Sequence[tuple[Side, Ending]]) -> bool:
    """Ended after the same wait each time is a clock's, too, whatever it says and whether it is known."""
    if len(ended) < REPEATS or any((side.sent.status or 502) not in {200, *_GATEWAY} for side, _ in ended):
        return False
    times = [ending.seconds for _, ending in ended]
    return max(times) - min(times) <= max(2 * ended[-1][0].uncertainty, _SAME)


def code_of(side: Side, ending: Ending, *, outlived: bool = False) -> str:
    """As the answer says, where it says more than that time passed. `outlived`: the other side was not ended at this
    age, so that no limit on the whole was met.
    """
    made = side.sent.attribution
    said = made.code if made is not None and made.code.startswith("timeout.") else f"timeout.{ending.timer}"
    return f"timeout.{ending.timer}" if outlived and said == "timeout.total" else said


def known_timers(seconds: float, code: str, exchange: Exchange, off: float) -> tuple[Timer, ...]:
    """Those that fire then: of the kind that was met, else of others that look the same from outside; where the layer
    that answered is known and has such a timer, its own alone.
    """
    made = exchange.attribution
    product = made.product if made is not None and exchange.status is not None else None
    kind = code.partition(".")[2]
    tried = (match(seconds, each, product, off) for each in _KINDS.get(kind, (kind,)))
    found = next((timers for timers in tried if timers), ())
    return tuple(timer for timer in found if timer.product == product) or found


def in_words(timers: Sequence[Timer], seconds: float) -> str:
    known = [f"{timer.product} {timer.timer} ({timer.seconds:g} s)" for timer in timers]
    return " or ".join(dict.fromkeys(known)) or f"unknown timer: none that is listed fires at {seconds:.1f} s"


def spoken(exchange: Exchange, seconds: float, off: float) -> tuple[tuple[str, str], ...]:
    """What an error's text says of the time, where the clock says otherwise."""
    if exchange.status is None or exchange.status < 400:
        return ()
    said = [_seconds(*found) for found in _SPOKEN.findall(Response.of(exchange).text)]
    other = [value for value in said if abs(value - seconds) > max(_NEAR, off)]
    if not other or len(other) < len(said):
        return ()
    return (("it says", f"its own text speaks of {other[0]:g} s; the clock is trusted"),)


def _seconds(number: str, unit: str) -> float:
    unit = unit.lower()
    return float(number) * (
        0.001 if unit.startswith(("ms", "milli")) else 60 if unit.startswith("min") else 1
    )
