"""Was it the probe itself that ended an exchange, or asked what no customer need ask?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.model import Reason, Verdict, WhoActs
from probes.output_cap import ours_refused

if TYPE_CHECKING:
    from probes.model import Exchange


def by_us(exchange: Exchange) -> bool:
    """Ended by a bound of the probe's own, which is no fault of the service's."""
    return exchange.error is not None and exchange.error.kind in {"deadline", "limit", "interrupted"}


def told_of_us(exchange: Exchange, who: str, after: str) -> dict[str, Any] | None:
    """The fields of a finding where the probe is the cause. `who` the clients and `after` the duration, in words."""
    if exchange.error is not None and exchange.error.kind == "limit":
        return {
            "verdict": Verdict.INCONCLUSIVE,
            "reason": Reason.BUDGET,
            "title": f"{who}: the probe ended the exchange at a bound of its own",
            "advice": "See whether such an answer is in order; if so, raise limits.body_mib or the budget of requests.",
        }
    if by_us(exchange):
        return {
            "verdict": Verdict.INCONCLUSIVE,
            "reason": Reason.UNAVAILABLE,
            "title": f"{who} had no whole answer within {after}, which is the probe's own limit",
            "advice": "See whether such an answer may take so long; if so, raise limits.deadline of the target.",
        }
    if ours := ours_refused(exchange):
        return {
            "verdict": Verdict.INCONCLUSIVE,
            "reason": Reason.TOO_FEW,
            "who_acts": WhoActs.PROBE,
            "title": f"{' and '.join(ours)} as the probe sends it is refused; what customers send may well be taken",
            "advice": "Ask with another cap (--set cap=…), and set output_cap in the target's file to what the API takes.",
        }
    return None
