"""Are streams as fast as the target's users were promised?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, is_good
from probes.kinds.words import duration, median_of
from probes.model import Confidence, Observed
from probes.samples import counted, tpot
from probes.sampling import alike, figure, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange, Figure, Finding

_WORDS = {"ttft": "the first token", "tpot": "each token after it"}
_UNITS = {"ttft": "s", "tpot": "s/token"}


def missed(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """One finding for each promise whose median over the good streams of the commonest conditions is broken by more than our
    clock may be off.
    """
    good, _ = alike(call for call in calls if is_good(call))
    found: list[Finding] = []
    for name, limit in (("ttft", case.target.slo.ttft), ("tpot", case.target.slo.tpot)):
        seen = [(call, took) for call in good if call.last and (took := _took(name, call.last)) is not None]
        if limit is None or not seen:
            continue
        off = max(float(call.conditions.get("resolution", 0.0)) for call, _ in seen)
        middle = figure([sampled(call, took) for call, took in seen], _UNITS[name])
        if middle.value - off > limit:
            found.append(_missed(case, name, limit, middle, seen))
    return found


def _took(name: str, exchange: Exchange) -> float | None:
    """TTFT from the first byte of the request sent; TPOT by the server's own count of tokens."""
    if name == "tpot":
        return tpot(exchange, counted(exchange))
    first = exchange.timeline.first_token
    return None if first is None else round(first - (exchange.timeline.upload_start or 0.0), 6)


def _missed(
    case: Case, name: str, limit: float, middle: Figure, seen: Sequence[tuple[Call, float]]
) -> Finding:
    last = seen[-1][0].last
    assert last is not None
    said = f"{median_of(middle)} for {_WORDS[name]}, the median, where {duration(limit)} was promised"
    return conclude(
        case,
        "slo.missed",
        last,
        observed=Observed(sum(took > limit for _, took in seen), len(seen)),
        title=f"{name.upper()} is {duration(middle.value)}, {duration(limit)} was promised",
        detail=(("seen", said),),
        figures={name: middle},
        conditions={**last.conditions, **middle.conditions},
        confidence=Confidence.MEDIUM if len(seen) > 1 else Confidence.LOW,
        evidence=tuple(call.last.id for call, _ in seen if call.last is not None),
    )
