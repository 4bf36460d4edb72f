"""What does a turn's run say of the service, and what of it is our own doing?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.acceptance import FAMILY
from probes.alerts.blindness import cause
from probes.kinds import KINDS
from probes.kinds.conclude import is_good
from probes.model import Reason, Verdict
from probes.wire.lag import Lag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Exchange, Finding, Run
    from probes.wire.lag import Stall

OWN = Lag(0.05, 0.1)
"""Looks at whole runs, so seldom that it costs nothing."""
STALL = 0.5
"""Machine seconds that this process may stand still before clocks of that time are not believed."""
_BY_OUR_CLOCK = frozenset({"deadline", "timeout", "limit"})
_CLOCKED = frozenset(
    {
        "slo.missed",
        "stream.stalled",
        "stream.buffered",
        "lost_in_burst",
        "regression.latency",
        "regression.cutoff",
    }
)
_UNCLEAR = frozenset({Verdict.INCONCLUSIVE, Verdict.ERROR})


def conclusive(run: Run, findings: Sequence[Finding]) -> bool:
    """Whether it says something of the service, good or bad: that a host takes connections does not."""
    if any(finding.verdict is Verdict.FAIL for finding in findings if finding.kind != FAMILY):
        return True
    heard = {case.id for case in run.cases if KINDS[case.kind].asks_api}
    passed = any(finding.verdict is Verdict.PASS and finding.case in heard for finding in findings)
    return passed or any(is_good(call) for call in run.calls if call.case in heard)


def why_not(findings: Sequence[Finding]) -> str:
    """Why a run is not conclusive, in words that are the same each time that it is so."""
    unclear = [finding for finding in findings if finding.verdict in _UNCLEAR]
    if not unclear:
        return "nothing was measured"
    named = next((finding for finding in unclear if finding.code != "not_measured"), None)
    if named is not None:
        return cause(named)
    first = unclear[0]
    return f"not measured: {first.reason.value if first.reason is not None else first.title}"


def doubted(finding: Finding, why: str) -> Finding:
    """A failure that may be our own side's says nothing."""
    return replace(
        finding,
        verdict=Verdict.INCONCLUSIVE,
        reason=Reason.TAINTED,
        detail=(*finding.detail, ("but", why)),
    )


def longest(stalls: Sequence[Stall]) -> float:
    """Machine seconds that this process stood still at a time."""
    return max((until - since for since, until in stalls), default=0.0)


def clocked(finding: Finding, run: Run) -> bool:
    """Whether it rests on a clock of ours, so that our own lag may have made it; an answer is one however late it is
    read.
    """
    if finding.code in _CLOCKED or finding.code.partition(".")[0] == "timeout":
        return True
    seen = _exchanges(run)
    evidence = [seen[name] for name in finding.evidence if name in seen]
    return any(e.error is not None and e.error.kind in _BY_OUR_CLOCK for e in evidence)


def _exchanges(run: Run) -> dict[str, Exchange]:
    return {exchange.id: exchange for call in run.calls for exchange in call.exchanges}
