"""Did it go away by itself while it was looked at?

The order in time says so: where every failure came before every pass of what is alike, and chance gives no such order.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.reproduction.evidence import SILENT, Tally
from probes.kinds.reproduction.outcome import CANNOT, OUTCOME
from probes.kinds.reproduction.rows import evidence, times
from probes.kinds.reproduction.study import FEW
from probes.kinds.words import named, shown
from probes.model import Confidence, Finding, Observed, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Sequence

    from probes.kinds.reproduction.opening import Opening
    from probes.kinds.reproduction.study import Study
    from probes.model import Call, Trial

_LUCK = 0.01
"""Chance of that order among answers that come as they please."""
_ENOUGH = 20
"""Answers after which a failure that was the first and the only one is over, or too seldom to be looked into."""
ADVICE = "Ask again later; look in the edge's log of changes and events at these times for what ended it."


def went_away(
    study: Study, found: Opening, question: Hashable
) -> Generator[Sequence[Trial], list[Call], bool]:
    """Asked again until chance explains the order no longer, or it fails once more."""
    assert study.failure is not None
    while (seen := _in_order(study)) is not None:
        if 1 / comb(seen.n, seen.k) <= _LUCK or seen.n >= _ENOUGH:
            return True
        if study.evidence.left <= 0 or study.evidence.of(question).silent >= SILENT:
            return False
        call = yield from study.ask(question)
        if call.not_sent is not None:
            found.why = call.not_sent
            return False
        study.count(question, study.failure.says(call))
    return False


def gone_at_once(study: Study, found: Opening) -> Generator[Sequence[Trial], list[Call], bool]:
    """Whether it went away before anything was asked beside it; `went_away` needs one pass of its own."""
    assert study.failure is not None
    for _ in range(FEW - 1):
        call = yield from study.ask(found.told)
        if call.not_sent is not None:
            found.why = call.not_sent
            return False
        study.count(found.told, study.failure.says(call))
    return (yield from went_away(study, found, found.told))


def _in_order(study: Study) -> Tally | None:
    """Of all that was asked in a way that failed; `None` where nothing passed since, or something failed after that."""
    alike = {id(call) for calls in study.calls.values() if any(map(study.says, calls)) for call in calls}
    said = [one for call in study.every if id(call) in alike and (one := study.says(call)) is not None]
    first = said.count(True)
    return Tally(first, len(said)) if first < len(said) and all(said[:first]) else None


def gone(study: Study) -> Finding:
    """Of what `went_away`."""
    seen = _in_order(study)
    assert seen is not None
    failed = next(call.last for call in study.every if study.says(call))
    assert failed is not None
    often = "once" if seen.k == 1 else f"the first {seen.k} times"
    said = f"it failed {often}, and then passed {seen.n - seen.k} times running"
    rows = (
        (OUTCOME, f"{CANNOT}: it went away by itself: {said}"),
        ("seen", f"as told: {shown(failed)}; of {seen.n} that were asked alike every failure came before every pass"),
        *named(failed),
        *times(study),
    )  # fmt: skip
    return conclude(
        study.case, outcome_code(failed), failed, verdict=Verdict.INCONCLUSIVE, reason=Reason.DRIFT, detail=rows,
        title="It failed, and went away by itself while it was looked at", advice=ADVICE,
        observed=Observed(seen.k, seen.n), confidence=Confidence.LOW, evidence=evidence(study),
    )  # fmt: skip
