"""Was a long answer given up by the client's own library, so that no edge is to blame?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.length.pair import uncertainty, waited
from probes.kinds.words import shown
from probes.model import Figure, Observed
from probes.timers import match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange, Finding

_KINDS = ("first_byte", "idle")


def client_gave_up(case: Case, calls: Sequence[Call], failed: Sequence[Call]) -> Finding | None:
    """`None` where one of those that failed did so otherwise: that says more."""
    if not all(call.last is not None and by_its_client(call.last) for call in failed):
        return None
    call = failed[0]
    last = call.last
    assert last is not None
    silent = silence(last)
    others = [other.last for other in calls if other is not call and other.last is not None]
    beside = (("beside", "; ".join(map(shown, others))),) if others else ()
    caller = (("caller", f"{call.raised.type}: {call.raised.text[:200]}"),) if call.raised else ()
    off = uncertainty(call)
    return conclude(
        case,
        "client.timeout",
        last,
        client=call.trial.client,
        observed=Observed(len(failed), len(calls)),
        title=f"{call.trial.client} itself gives up after {silent:.1f} s without a byte",
        detail=(("seen", shown(last)), *beside, ("matches", _timers(last, silent, off)), *caller),
        figures={"gave_up": Figure(silent, "s", len(failed), silent - off, silent + off)},
        conditions={**last.conditions, "client": "cold", "cache": "unknown"},
        advice="Stream, or raise the client's own limit, including that of its HTTP library; no edge ended this request.",
        evidence=tuple(c.last.id for c in calls if c.last is not None),
    )


def by_its_client(exchange: Exchange) -> bool:
    return outcome_code(exchange) == "client.timeout"


def silence(exchange: Exchange) -> float:
    """Seconds without a byte that the client's limit ended: a limit of its own starts anew with each."""
    timeline = exchange.timeline
    if timeline.last_byte is None:
        return waited(exchange, timeline.end) or timeline.end or 0.0
    return (timeline.end or timeline.last_byte) - timeline.last_byte


def _timers(exchange: Exchange, seconds: float, off: float) -> str:
    product = exchange.attribution.product if exchange.attribution is not None else None
    kind = _KINDS[exchange.timeline.last_byte is not None]
    known = [timer for timer in match(seconds, kind, product, off) if timer.product == product]
    named = [f"{timer.product} {timer.timer} ({timer.seconds:g} s)" for timer in known]
    return " or ".join(named) or "none of its known limits: somebody has set another"
