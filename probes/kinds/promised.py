"""Are streams as fast as the target's users were promised?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude, is_good
from probes.kinds.words import duration
from probes.model import Confidence, Figure, Observed
from probes.samples import counted, tpot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange, Finding

_WORDS = {"ttft": "the first token", "tpot": "each token after it"}
_UNITS = {"ttft": "s", "tpot": "s/token"}


def missed(case: Case, calls: Sequence[Call], concurrency: int) -> list[Finding]:
    """One finding for each promise whose median over the good streams is broken by more than our clock may be off."""
    good = [call for call in calls if is_good(call)]
    found: list[Finding] = []
    for name, limit in (("ttft", case.target.slo.ttft), ("tpot", case.target.slo.tpot)):
        seen = [(took, call) for call in good if call.last and (took := _took(name, call.last)) is not None]
        if limit is None or not seen:
            continue
        off = max(float(call.conditions.get("resolution", 0.0)) for _, call in seen)
        if median(took for took, _ in seen) - off > limit:
            timed = [(took, call.last) for took, call in seen if call.last]
            found.append(_missed(case, name, limit, timed, concurrency))
    return found


def _took(name: str, exchange: Exchange) -> float | None:
    """TTFT from the first byte of the request sent; TPOT by the server's own count of tokens."""
    if name == "tpot":
        return tpot(exchange, counted(exchange))
    first = exchange.timeline.first_token
    return None if first is None else round(first - (exchange.timeline.upload_start or 0.0), 6)


def _missed(
    case: Case, name: str, limit: float, seen: Sequence[tuple[float, Exchange]], concurrency: int
) -> Finding:
    times = [took for took, _ in seen]
    figure = Figure(median(times), _UNITS[name], len(times), min(times), max(times))
    last = seen[-1][1]
    conditions: dict[str, Any] = {"client": "cold", "cache": "unknown", "concurrency": concurrency}
    said = f"{duration(figure.value)} for {_WORDS[name]}, the median of {len(times)}, where {duration(limit)} was promised"
    return conclude(
        case,
        "slo.missed",
        last,
        observed=Observed(sum(took > limit for took in times), len(times)),
        title=f"{name.upper()} is {duration(figure.value)}, {duration(limit)} was promised",
        detail=(("seen", said),),
        figures={name: figure},
        conditions={**last.conditions, **conditions},
        confidence=Confidence.MEDIUM if len(times) > 1 else Confidence.LOW,
        evidence=tuple(exchange.id for _, exchange in seen),
    )
