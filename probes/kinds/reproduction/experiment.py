"""What is asked once a request fails and another passes, and what came of it?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from probes.kinds.reproduction.evidence import Halted
from probes.kinds.reproduction.refine import Refined, refine
from probes.kinds.reproduction.search import Result, causes

if TYPE_CHECKING:
    from probes.kinds.reproduction.evidence import Asking
    from probes.kinds.reproduction.study import Study

_RATED = 12
"""How often what does not always fail is asked, for its rate."""


@dataclass
class Found:
    """`gone`: at the end the request as told passes; `spread`: at the end the control fails."""

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
    found, evidence, names = Found(), study.evidence, study.composer.names
    every = frozenset(names)
    try:
        if evidence.intermittent:
            yield from evidence.measure(every, _RATED)
    except Halted as halted:
        found.result = Result(suspects=tuple(names), halted=halted.why)
        return found
    found.result = yield from causes(evidence, names)
    for cause in found.result.causes:
        found.refined.append((yield from refine(study, cause)))
    try:
        found.gone = not (yield from evidence.still_fails(every))
        if not found.gone:
            plain = evidence.of(frozenset())
            found.spread = (yield from evidence.measure(frozenset(), plain.n + 1)).k > 0
    except Halted:
        # What was proven before stands; that it still holds is not known.
        found.result.halted = found.result.halted or (None if found.result.causes else "budget")
    return found
