"""What is asked once a request fails and another passes, and what came of it?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from probes.kinds.reproduction.evidence import LIKELY, SURE, Halted
from probes.kinds.reproduction.refine import Refined, refine
from probes.kinds.reproduction.search import Result, causes

if TYPE_CHECKING:
    from probes.kinds.reproduction.evidence import Asking, Evidence
    from probes.kinds.reproduction.study import Study

_RATED = 12
"""How often what does not always fail is asked, for its rate."""


@dataclass
class Found:
    """`gone`: at the end the request as told passes; `spread`: the control failed, too."""

    result: Result = field(default_factory=Result)
    refined: list[Refined] = field(default_factory=list)
    gone: bool = False
    spread: bool = False

    @property
    def proven(self) -> bool:
        return self.result.whole and not (self.gone or self.spread)


def experiment(study: Study) -> Asking[Found]:
    """Never raises: what was not found for lack of budget is in it."""
    assert study.composer is not None
    evidence, names = study.evidence, study.composer.names
    every, control = frozenset(names), frozenset[str]()
    found = Found((yield from isolating(evidence, names)))
    if evidence.of(control).k:
        found.spread = True
        return found
    for cause in found.result.causes:
        found.refined.append((yield from refine(study, cause)))
    try:
        # Where the search met it, it need not be proven once more.
        drifts = LIKELY if found.result.halted == "drift" else SURE
        found.gone = not (yield from evidence.still_fails(every, drifts))
        if not found.gone and not (yield from evidence.fails_now(control)) and evidence.intermittent:
            yield from evidence.surely_passes(control)
    except Halted as halted:
        # What was proven before stands; that it still holds is not known.
        found.result.halted = found.result.halted or (None if found.result.causes else halted.why)
        if not evidence.held(control):
            found.result, found.refined = Result(suspects=tuple(names), halted=halted.why), []
    found.spread = evidence.of(control).k > 0
    return found


def isolating(evidence: Evidence, names: list[str]) -> Asking[Result]:
    """The causes, once the control is known to pass by more than luck; none where that was not asked to its end."""
    every, control = frozenset(names), frozenset[str]()
    nothing = Result(suspects=tuple(names))
    try:
        knew = evidence.intermittent
        if knew:
            yield from evidence.measure(every, _RATED)
            if not (yield from evidence.holds(control)):
                return nothing
        result = yield from causes(evidence, names)
        if not knew and not (yield from evidence.holds(control)):
            return nothing
    except Halted as halted:
        nothing.halted = halted.why
        return nothing
    return result
