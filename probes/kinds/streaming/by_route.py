"""Is a stream that breaks on the way customers take whole on the route that bypasses the edge?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.kinds.by_us import by_us
from probes.kinds.completion import ANSWER_PATIENCE
from probes.kinds.conclude import is_good, outcome_code
from probes.kinds.streaming.silences import stands_still
from probes.kinds.streaming.usage import doubled
from probes.model import Confidence, Factor, Layer, NotSent, Verdict, WhoActs
from probes.twins import REPEATS, confounders, twin

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Finding, Trial
    from probes.twins import Outcome, Twin

ORIGIN = "origin"
MOST_PAIRS = 2 * REPEATS
_STALLED = "stream.stalled"
_BROKEN = frozenset(
    {
        "stream.truncated", "stream.masked", "stream.error_event", "stream.corrupted", "stream.malformed", "stream.no_end",
        "stream.content_type", "body.encoding", "timeout.idle",
    }
)  # fmt: skip
_WHY_NOT = {
    NotSent.BUDGET: "the budget did not allow for it",
    NotSent.INTERRUPTED: "the run was interrupted",
    NotSent.NOT_RECORDED: "the stored run does not hold it",
}


def by_route(
    case: Case, calls: Sequence[Call], found: Sequence[Finding]
) -> Generator[Sequence[Trial], list[Call], list[Finding]]:
    """The findings, the worst broken stream's told by its twin on the origin route, where there is one."""
    broken = _worst(case, calls, found)
    if broken is None:
        return list(found)
    finding, call = broken
    control, variant = (
        replace(call.trial, label=f"{call.trial.label}/route/{route}", route=route, start=0.0)
        for route in (ORIGIN, case.route)
    )
    pair = yield from twin(control, variant, _outcome(case, finding.code), more=MOST_PAIRS)
    return [_told(each, pair, call) if each.code == finding.code else each for each in found]


def pairs(case: Case) -> int:
    """At the most."""
    return MOST_PAIRS if _forks(case) else 0


def _forks(case: Case) -> bool:
    return ORIGIN in case.target.routes and case.route != ORIGIN


def _worst(case: Case, calls: Sequence[Call], found: Sequence[Finding]) -> tuple[Finding, Call] | None:
    """Of what nobody was proven to have done, with a call of it that did not take longer than the case has patience for."""
    if not _forks(case):
        return None
    patience = float(case.params.get("patience", ANSWER_PATIENCE))
    for finding in sorted(found, key=lambda each: each.verdict is not Verdict.FAIL):
        known = finding.layer is not Layer.UNKNOWN or finding.verdict not in {Verdict.FAIL, Verdict.WARN}
        if known or finding.code not in {*_BROKEN, _STALLED}:
            continue
        own = [call for call in calls if call.last is not None and call.last.id in finding.evidence]
        for call in own:
            if call.last is not None and (call.last.timeline.end or 0.0) <= patience:
                return finding, call
    return None


def _outcome(case: Case, code: str) -> Outcome:
    """A stream that is broken in another way is broken, too; an answer that is none of them says nothing of the way."""

    def broken(call: Call) -> bool | None:
        last = call.last
        if last is None or by_us(last):
            return None
        if code == _STALLED:
            return stands_still(case, call) if is_good(call) else None
        return outcome_code(last) in _BROKEN or bool(doubled(last)) or (None if not is_good(call) else False)

    return broken


def _told(finding: Finding, pair: Twin, call: Call) -> Finding:
    control, variant = pair.control, pair.variant
    through = f"through {call.trial.client}"
    if (why := pair.unsent) is not None:
        said = f"not told apart: {_WHY_NOT.get(why, 'a request was not sent')}"
        return replace(finding, detail=(*finding.detail, ("by route", said)))
    counts = f"{control.k} of {control.n} straight to the origin, {variant.k} of {variant.n} over {call.trial.route}"
    seen = replace(finding, evidence=(*finding.evidence, *filter(None, (control.evidence, variant.evidence))))
    if pair.claimed:
        return _on_the_way(seen, pair, f"broken {counts}, {through}")
    if control.failed and variant.failed and min(control.n, variant.n) >= REPEATS:
        row = (
            "by route",
            f"broken {counts}, {through}: so it is not the edge that breaks it",
        )
        seen = _advised(
            seen,
            "Look at the origin and what stands in front of it behind the edge: it breaks without the edge, too.",
        )
        return replace(
            seen, layer=Layer.ORIGIN, confidence=Confidence.MEDIUM, next_test=None, detail=(*seen.detail, row),
            control=control.evidence, variant=variant.evidence,
        )  # fmt: skip
    row = ("by route", f"broken {counts}, {through}: that does not tell who breaks it")
    return replace(seen, detail=(*seen.detail, row))


def _advised(finding: Finding, advice: str) -> Finding:
    """In the place of the advice to do what has just been done."""
    return replace(finding, advice=advice) if "origin route" in finding.advice else finding


def _on_the_way(finding: Finding, pair: Twin, said: str) -> Finding:
    control = next(call.last for call in reversed(pair.control.calls) if call.last is not None)
    variant = next(call.last for call in reversed(pair.variant.calls) if call.last is not None)
    return replace(
        _advised(
            finding,
            "Look at the timers, limits and rewriting of each layer that the origin route does not have.",
        ),
        layer=Layer.EDGE,
        factor=Factor.ROUTE,
        control=control.id,
        variant=variant.id,
        confounders=confounders(control, variant, ("host",)),
        confidence=Confidence.HIGH,
        next_test=None,
        who_acts=WhoActs.OPERATOR if finding.who_acts is WhoActs.PROVIDER else finding.who_acts,
        detail=(*finding.detail, ("by route", f"{said}: broken on the way")),
    )
