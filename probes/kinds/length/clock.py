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
    from collections.abc import Collection, Iterable, Sequence

    from probes.kinds.length.side import Ending, Side
    from probes.model import Exchange

_GATEWAY = frozenset({408, 499, 502, 503, 504})
NEAR = 1.0
_SAME = 0.25
"""Seconds."""
_PART = 0.01
"""Of the time: as far as the ends of one clock may be from their middle, or `NEAR` where that is more."""
LIBRARIES = frozenset({"OpenAI SDK", "Anthropic SDK", "undici", "aiohttp", "httpx", "OkHttp", "LangChain"})
"""Whose timers run on the client's side: no suspects for an end that came from the other one."""
_TIMED_OUT = re.compile(r"\btime[ds]?[ -]?out\b|\bdeadline exceeded\b", re.IGNORECASE)
_SPOKEN = re.compile(
    r"(?:time[ds]?[ -]?out|timeout|deadline|within|after|limit|waited)[^<>{}\n]{0,60}?\b(\d{1,7}(?:\.\d+)?)\s?(ms|milliseconds?|s|secs?|seconds?|min|minutes?)\b",
    re.IGNORECASE,
)
_KINDS = {"first_byte": ("first_byte", "total", "upload"), "idle": ("idle",), "total": ("total",)}


def is_clock(side: Side, ending: Ending) -> bool:
    """A time-out by its own words, a close or reset before any answer, or another end at the time of a known timer; of a
    page or an error under 200 or 500 the time of one end proves nothing.
    """
    exchange = side.sent
    made = exchange.attribution
    if made is not None and made.code.startswith("timeout."):
        return True
    if exchange.error is not None and not ending.spoke and (exchange.status is None or not side.streamed):
        return True
    worded = exchange.error is None and not ending.spoke and ending.at >= REFUSED_WITHIN
    if worded and _TIMED_OUT.search(Response.of(exchange).text):
        return True
    known = bool(_suspects(ending.seconds, ending.timer, proven(exchange), NEAR))
    if exchange.status is not None and exchange.status < 400:
        return ending.timer == "idle" or (known and not _costume(side))
    return exchange.status in _GATEWAY and known


def _costume(side: Side) -> bool:
    """A page, an error or nothing at all, where an answer should be: whole, under 200."""
    made = side.sent.attribution
    return side.sent.error is None and made is not None and made.code.startswith("body.")


def same_time(ended: Sequence[tuple[Side, Ending]]) -> bool:
    """Ended after the same wait each time is a clock's, too, whatever it says and whether it is known."""
    if len(ended) < REPEATS or not all(_may_be(side.sent.status) for side, _ in ended):
        return False
    times = [ending.seconds for _, ending in ended]
    return max(times) - min(times) <= max(2 * ended[-1][0].uncertainty, _SAME)


def _may_be(status: int | None) -> bool:
    return status is None or status < 300 or status >= 500 or status in _GATEWAY


def at_any_time(ended: Sequence[tuple[Side, Ending]]) -> bool:
    """So far from each other that no one clock ended them, whatever each of them says."""
    times = [ending.seconds for _, ending in ended]
    middle, off = sum(times) / len(times), max(side.uncertainty for side, _ in ended)
    kinds = {ending.timer for _, ending in ended}
    return len(kinds) > 1 or (max(times) - min(times)) / 2 > max(NEAR, _PART * middle) + off


def code_of(side: Side, ending: Ending, *, outlived: bool = False) -> str:
    """As the answer says, where it says more than that time passed. `outlived`: the other side was not ended at this
    age, so that no limit on the whole was met.
    """
    made = side.sent.attribution
    said = made.code if made is not None and made.code.startswith("timeout.") else f"timeout.{ending.timer}"
    return f"timeout.{ending.timer}" if outlived and said == "timeout.total" else said


def known_timers(seconds: float, code: str, exchange: Exchange, off: float) -> tuple[Timer, ...]:
    """Those that fire then: of the kind that was met, else of others that look the same from outside; where the layer
    that answered is known, its own alone.
    """
    product, kind = proven(exchange), code.partition(".")[2]
    tried = (_suspects(seconds, each, product, off) for each in _KINDS.get(kind, (kind,)))
    return next((timers for timers in tried if timers), ())


def _suspects(seconds: float, kind: str, product: str | None, off: float) -> tuple[Timer, ...]:
    return tuple(
        timer
        for timer in match(seconds, kind, product, off)
        if (timer.product == product if product is not None else timer.product not in LIBRARIES)
    )


def proven(exchange: Exchange) -> str | None:
    """Who answered; of a connection that ended without an answer nobody knows."""
    made = exchange.attribution
    return made.product if made is not None and exchange.status is not None else None


def in_words(timers: Sequence[Timer], seconds: float, product: str | None = None) -> str:
    """`product`: who is known to have answered, where none of its timers is among them."""
    known = [f"{timer.product} {timer.timer} ({timer.seconds:g} s)" for timer in timers]
    unknown = (
        "unknown timer: none that is listed"
        if product is None
        else f"unknown timer of {product}: none of its listed ones"
    )
    return " or ".join(dict.fromkeys(known)) or f"{unknown} fires at {seconds:.1f} s"


def products_of(exchanges: Iterable[Exchange]) -> frozenset[str]:
    """The products that answers show: who made them, and those that they passed."""
    made = [
        each.attribution for each in exchanges if each.attribution is not None and each.status is not None
    ]
    return frozenset(name for each in made for name in (*each.transit, each.product) if name is not None)


def matches(
    timers: Sequence[Timer], seconds: float, products: Collection[str], product: str | None = None
) -> tuple[str, str]:
    """The timers that it may be: those of products that were seen; what is known of others names nobody."""
    own = [timer for timer in timers if timer.product in products]
    if own or not timers:
        return "matches", in_words(own, seconds, product)
    return (
        "no match",
        f"of no product that was seen; elsewhere known at that length: {in_words(timers, seconds)}",
    )


def spoken(exchange: Exchange, seconds: float, off: float) -> tuple[tuple[str, str], ...]:
    """What an error's text says of the time, where the clock says otherwise."""
    if exchange.status is None or exchange.status < 400:
        return ()
    said = [_seconds(*found) for found in _SPOKEN.findall(Response.of(exchange).text)]
    other = [value for value in said if abs(value - seconds) > max(NEAR, off)]
    if not other or len(other) < len(said):
        return ()
    return (("it says", f"its own text speaks of {other[0]:g} s; the clock is trusted"),)


def _seconds(number: str, unit: str) -> float:
    unit = unit.lower()
    return float(number) * (
        0.001 if unit.startswith(("ms", "milli")) else 60 if unit.startswith("min") else 1
    )
