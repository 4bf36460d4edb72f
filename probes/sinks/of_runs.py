"""Which figures of a run are fit for a metric?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from probes.model import Ask, Verdict
from probes.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.model import Call, Exchange, Run, Target
    from probes.samples import Sample

Result = Literal["good", "bad", "unknown"]
_TIMED_OUT = frozenset({"timeout", "deadline"})
_OUR_LIMITS = frozenset({"limit", "interrupted"})
_HOUR = 3600.0
_DAY = 24 * _HOUR


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call gives. `wire`: a word for each request on the wire. `result`, `slo` and `sample` are set for plain
    requests alone, `sample` of good answers.
    """

    route: str
    client: str
    kind: str
    stream: str
    wire: tuple[str, ...]
    result: Result | None = None
    slo: str | None = None
    sample: Sample | None = None


def outcomes(run: Run, codes: Mapping[str, Verdict]) -> Iterator[Outcome]:
    """Of every call that was sent."""
    kinds = {case.id: case.kind for case in run.cases}
    for call in run.calls:
        asked = [exchange for exchange in call.exchanges if exchange.request.method]
        if call.last is None or not asked:
            continue
        ask = call.trial.request
        stream = isinstance(ask, Ask) and ask.stream
        result = _result(call, run.target, codes) if _plain(call) else None
        seen = sample(call.last) if result == "good" else None
        yield Outcome(
            route=call.trial.route,
            client=call.trial.client,
            kind=kinds.get(call.case, "other"),
            stream="yes" if stream else "no",
            wire=tuple(_wire(exchange) for exchange in asked),
            result=result,
            slo=_slo(run.target, result, seen) if stream and result is not None else None,
            sample=seen,
        )


def _plain(call: Call) -> bool:
    """Asked as a customer of this client asks, so that a good answer is due: nothing made up, edited or invalid."""
    ask = call.trial.request
    return (
        isinstance(ask, Ask)
        and ask.recipe != "invalid"
        and ask.key == "target"
        and ask.model is None
        and not (ask.edits or ask.gzipped or ask.filler)
    )


def _result(call: Call, target: Target, codes: Mapping[str, Verdict]) -> Result:
    """For the customer: a client that cannot read a good answer has none. What fails by default is bad, and nothing else."""
    last = call.last
    if last is None or last.attribution is None or call.cut_short(target.limits.deadline):
        return "unknown"
    verdict = codes.get(last.attribution.code)
    if verdict is Verdict.PASS:
        return "good" if call.raised is None else "bad"
    return "bad" if verdict is Verdict.FAIL else "unknown"


def _slo(target: Target, result: Result, seen: Sample | None) -> str | None:
    """Met is every limit that there is; one that was not measured leaves it open, one that was missed does not."""
    limits = {"ttft": target.slo.ttft, "tpot": target.slo.tpot}
    wanted = {name: limit for name, limit in limits.items() if limit is not None}
    if not wanted:
        return None
    if seen is None:
        return "missed" if result == "bad" else "unknown"
    took = {name: getattr(seen, name) for name in wanted}
    if any(value is not None and value > wanted[name] for name, value in took.items()):
        return "missed"
    return "unknown" if None in took.values() else "met"


def _wire(exchange: Exchange) -> str:
    """How one request on the wire ended; a time-out also where an answer had begun."""
    kind = None if exchange.error is None else exchange.error.kind
    if kind in _TIMED_OUT:
        return "timeout"
    if kind in _OUR_LIMITS:
        return "stopped"
    if exchange.status is None:
        return "no_answer"
    if kind is not None:
        return "broken"
    if exchange.status in {429, 503}:
        return str(exchange.status)
    return f"{exchange.status // 100}xx" if 100 <= exchange.status < 600 else "broken"


def certificates(run: Run) -> dict[str, float]:
    """Route → when the first of the certificates shown expires, to the hour, as a time stamp."""
    found: dict[str, float] = {}
    for call in run.calls:
        for exchange in call.exchanges:
            left = (exchange.conditions.get("tls") or {}).get("days_left")
            refused = exchange.error is not None and exchange.error.kind == "tls"
            if isinstance(left, int | float) and not refused:
                at = round((run.started.timestamp() + left * _DAY) / _HOUR) * _HOUR
                found[call.trial.route] = min(at, found.get(call.trial.route, math.inf))
    return found


def cutoffs(run: Run) -> dict[tuple[str, str], float | None]:
    """(route, kind) → the shortest cutoff that was measured; `None` where a case passed without meeting one."""
    found: dict[tuple[str, str], float | None] = {}
    for finding in run.findings:
        figure = finding.figures.get("cutoff")
        where = (finding.route or "", finding.kind)
        if figure is not None and math.isfinite(figure.value):
            before = found.get(where)
            found[where] = figure.value if before is None else min(before, figure.value)
        elif finding.verdict is Verdict.PASS:
            found.setdefault(where, None)
    return found
