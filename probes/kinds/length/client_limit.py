"""Was a long answer given up by the client's own library, so that no edge is to blame?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.length.clock import in_words
from probes.kinds.length.limits import conditions
from probes.kinds.length.spans import waited
from probes.kinds.words import shown
from probes.model import Figure, Observed
from probes.timers import match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.length.side import Side
    from probes.model import Case, Exchange, Finding


def client_gave_up(case: Case, sides: Sequence[Side]) -> Finding | None:
    """`None` where one of those that failed did so otherwise: that says more."""
    failed = [side for side in sides if not side.good]
    if any(outcome_code(side.sent) != "client.timeout" for side in failed):
        return None
    side = failed[0]
    last, raised = side.sent, side.call.raised
    silent, off = _silence(last), side.uncertainty
    return conclude(
        case,
        "client.timeout",
        last,
        client=side.client,
        observed=Observed(len(failed), len(sides)),
        title=f"{side.client} itself gives up after {silent:.1f} s without a byte",
        detail=(
            ("seen", "; ".join(f"{each.name}: {shown(each.sent)}" for each in sides)),
            ("matches", _timers(last, silent, off)),
            *((("caller", f"{raised.type}: {raised.text[:200]}"),) if raised is not None else ()),
        ),
        figures={"gave_up": Figure(silent, "s", len(failed), silent - off, silent + off)},
        conditions=conditions(case, side.client, last, side.call.trial.deadline),
        advice="Stream, or raise the client's own limit, including that of its HTTP library; no edge ended this request.",
        evidence=tuple(each.sent.id for each in sides),
    )


def _silence(exchange: Exchange) -> float:
    """Seconds without a byte that the client's limit ended: it starts anew with each."""
    line = exchange.timeline
    since = line.last_byte if line.last_byte is not None else line.headers
    if since is None:
        return waited(exchange, line.end) or line.end or 0.0
    return (line.end or since) - since


def _timers(exchange: Exchange, seconds: float, off: float) -> str:
    """Of the library that gave up alone: who else has such a timer is no suspect."""
    product = exchange.attribution.product if exchange.attribution is not None else None
    begun = exchange.timeline.headers is not None
    own = [
        timer
        for timer in match(seconds, "idle" if begun else "first_byte", product, off)
        if timer.product == product
    ]
    return in_words(own, seconds) if own else "none of its known limits: another was set"
