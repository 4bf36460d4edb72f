"""Was it the probe itself that ended an exchange, or asked what no customer need ask?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.words import duration, in_title, listed
from probes.model import Reason, Verdict, WhoActs
from probes.output_cap import ours_refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Case, Exchange

_BEATS = {"c": "comments", "p": "pings", "b": "blanks"}
_KEPT = 0.95
"""Of the target's deadline: one that ended an exchange earlier is the question's own, or what its case had left."""

HELD_UP = (
    "Compare with a client that is answered, and look at the edge for a rule that holds up what such a client announces "
    "of itself: bot management, a tarpit, rate shaping."
)
HELD_UP_NEXT = "the same request by curl with this client's user agent, then with its other headers"


def by_us(exchange: Exchange) -> bool:
    """Ended by a bound of the probe's own, which is no fault of the service's."""
    return exchange.error is not None and exchange.error.ours


def told_of_us(
    case: Case, exchange: Exchange, names: Sequence[str] = (), beside: Sequence[str] = ()
) -> dict[str, Any]:
    """The fields of a finding where the probe is the cause; none where it is not. `names`: the clients that met it;
    `beside`: those that were answered much sooner with the same request.
    """
    if exchange.error is not None and exchange.error.kind == "limit":
        return {
            "verdict": Verdict.INCONCLUSIVE,
            "reason": Reason.BUDGET,
            "title": f"{listed(names) if names else 'A request'}: the probe ended the exchange at a bound of its own",
            "advice": "See whether such an answer is in order; if so, raise limits.body_mib or the budget of requests.",
        }
    if exchange.error is not None and exchange.error.kind == "interrupted":
        return _interrupted(exchange)
    if by_us(exchange):
        return _waited(case, exchange, listed(names) if names else "A request") | _held(
            case, exchange, names, beside
        )
    if ours := ours_refused(exchange):
        return {
            "verdict": Verdict.INCONCLUSIVE,
            "reason": Reason.TOO_FEW,
            "who_acts": WhoActs.PROBE,
            "title": f"{' and '.join(ours)} as the probe sends it is refused; what customers send may well be taken",
            "advice": "Ask with another cap (--set cap=…), and set output_cap in the target's file to what the API takes.",
        }
    return {}


def _interrupted(exchange: Exchange) -> dict[str, Any]:
    return {
        "verdict": Verdict.INCONCLUSIVE,
        "reason": Reason.INTERRUPTED,
        "title": f"The run was interrupted while a request was under way, after {duration(exchange.timeline.end or 0.0)}",
        "advice": "Run it again and let it end.",
        "next_test": None,
    }


def worded(
    case: Case, exchange: Exchange, names: Sequence[str] = (), beside: Sequence[str] = ()
) -> dict[str, Any]:
    """The words alone, where we ended a request that had been sent: what a connection that did not open means, is told
    elsewhere.
    """
    told = told_of_us(case, exchange, names, beside) if _sent(exchange) and by_us(exchange) else {}
    return {key: told[key] for key in ("title", "advice", "next_test") if key in told}


def _waited(case: Case, exchange: Exchange, who: str) -> dict[str, Any]:
    after = exchange.timeline.end or 0.0
    silent, beats = _silent(exchange), _heartbeats(exchange)
    seen = (
        f"got nothing but heartbeats ({beats[0]}) for {beats[1]:.0f} s, up to the probe's own limit"
        if beats
        else f"got the beginning of an answer and nothing for {duration(silent)}, up to the probe's own limit"
        if silent
        else f"had no whole answer within {duration(after)}, which is the probe's own limit"
    )
    told = {
        "verdict": Verdict.INCONCLUSIVE,
        "reason": Reason.UNAVAILABLE,
        "title": f"{who} {seen}",
        "advice": "See whether such an answer may take so long; if so, raise limits.deadline of the target.",
    }
    if "deadline" in case.params:
        return told | {
            "advice": "See whether such an answer may take so long; if so, wait longer for it (--set deadline=SECONDS)."
        }
    if after < _KEPT * case.target.limits.deadline:
        told |= {
            "advice": f"Find out what holds such an answer up. The limit of {duration(after)} is this question's own, and "
            "limits.deadline does not change it.",
            "next_test": "the same request by hand, with a longer time limit",
        }
    return told


def _held(case: Case, exchange: Exchange, names: Sequence[str], beside: Sequence[str]) -> dict[str, Any]:
    """What no longer limit of ours would change: others need none of it."""
    if not (names and beside and _sent(exchange)) or exchange.status is not None:
        return {}
    get, are = "gets" if len(names) == 1 else "get", "is" if len(beside) == 1 else "are"
    return {
        "title": f"{in_title(case, names)} {get} no answer within {duration(exchange.timeline.end or 0.0)}, where "
        f"{in_title(case, beside)} {are} answered soon",
        "advice": HELD_UP,
        "next_test": HELD_UP_NEXT,
    }


def _sent(exchange: Exchange) -> bool:
    return exchange.error is not None and exchange.error.phase not in {"dns", "connect", "tls", "proxy"}


def _heartbeats(exchange: Exchange) -> tuple[str, float] | None:
    """Of which kinds, and for how many seconds until our limit nothing else came, where that was most of the wait."""
    columns = list(zip(exchange.event_times, exchange.event_kinds, strict=False))
    heard = max(
        (at for at, kind in columns if kind not in _BEATS), default=exchange.timeline.upload_end or 0.0
    )
    beats = dict.fromkeys(_BEATS[kind] for at, kind in columns if at > heard and kind in _BEATS)
    end = exchange.timeline.end or 0.0
    return (listed(list(beats)), end - heard) if beats and end - heard > end / 2 else None


def _silent(exchange: Exchange) -> float:
    """Seconds of the silence that our limit ended, where something had come before it; else 0."""
    made, line = exchange.attribution, exchange.timeline
    if made is None or made.code != "timeout.idle" or line.last_byte is None or line.end is None:
        return 0.0
    return line.end - line.last_byte
