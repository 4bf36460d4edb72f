"""Over which instances were the requests of a run spread, as its answers tell in passing?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.instances import Spread, spreads
from probes.kinds.conclude import is_good
from probes.model import Confidence, Figure, Finding, Layer, Observed, Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call

ROUTING = "routing"
"""Of the findings that speak of a run as a whole; they ask for nothing."""
_P = 0.01
"""Below which a spread is called uneven: every kind of instance of every run is tested."""
_SHOWN = 8


def routed(calls: Sequence[Call], suite: str) -> list[Finding]:
    """One finding for each kind of thing of which the good answers name several; none where they name none."""
    good = [call.last for call in calls if call.last is not None and is_good(call)]
    return [_finding(spread, suite, [exchange.id for exchange in good]) for spread in spreads(good)]


def _finding(spread: Spread, suite: str, ids: Sequence[str]) -> Finding:
    total = sum(spread.counts.values())
    skewed = spread.balanced and spread.p is not None and spread.p < _P
    row = vocabulary()["routed.uneven" if skewed else "ok"]
    shares = [f"{name} {count / total:.0%} ({count})" for name, count in list(spread.counts.items())[:_SHOWN]]
    more = len(spread.counts) - _SHOWN
    rest = f" and {more} more" if more > 0 else ""
    return Finding(
        code="routed.uneven" if skewed else "ok",
        verdict=Verdict.WARN if skewed else Verdict.PASS,
        case=f"{suite}/{ROUTING}/by={spread.by.replace(' ', '_')}",
        kind=ROUTING,
        layer=Layer.GATEWAY if skewed else Layer.UNKNOWN,
        title=row.title if skewed else f"Answers came from {len(spread.counts)} of the kind {spread.by}",
        observed=Observed(0, total) if not skewed else None,
        detail=(
            (
                "seen",
                f"{spread.by}: {', '.join(shares)}{rest}; the busiest {spread.ratio:.1f} times the idlest",
            ),
            ("chance", _chance(spread)),
        ),
        figures={
            "instances": Figure(len(spread.counts), "instances", total),
            "max_to_min": Figure(spread.ratio, "times", total),
            **({"p": Figure(spread.p, "probability", total)} if spread.p is not None else {}),
        },
        conditions={"answers": total},
        confidence=Confidence.MEDIUM,
        who_acts=row.who_acts,
        retryable=row.retryable,
        advice=row.advice,
        next_test="the same suite with prompts that have nothing in common: is the spread still uneven?"
        if skewed
        else None,
        evidence=tuple(ids[:_SHOWN]),
    )


def _chance(spread: Spread) -> str:
    if not spread.balanced:
        return "not asked: which of them answers is decided by where the network enters, not by load"
    if spread.p is None:
        return "too few answers to tell an uneven spread from chance"
    said = "more uneven than" if spread.p < _P else "no more uneven than"
    return f"{said} equal shares have it by chance (chi-squared, p = {spread.p:.2g})"
