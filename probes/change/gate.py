"""Is a run as good as its baseline?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.change.compare import alike, compare
from probes.change.part import finding, of_case
from probes.change.sides import Only, side
from probes.comparison import Side
from probes.document import span_in_words
from probes.errors import UsageError
from probes.model import Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from probes.canary import Mark
    from probes.change.sides import Archive
    from probes.model import Finding, Run, Target


@dataclass(frozen=True, slots=True)
class Gate:
    """What a run is held against, found before anything is sent."""

    side: Side
    runs: Sequence[Run]
    slower: float
    marks: Sequence[Mark] = ()

    def __call__(self, run: Run) -> list[Finding]:
        """What the run is worth beside its baseline, as findings of the case `SUITE/baseline`."""
        case = f"{run.suites[0]}/baseline"
        now = Side(run.id, (run.id,), run.started, run.finished, run.target.name, run.vantage, run.time_scale)
        compared = compare(
            (self.side, self.runs), (now, [run]), slower=self.slower, case=case, marks=self.marks
        )
        said = ("against", self.label)
        told = [replace(one, detail=(*one.detail, said)) for one in compared.findings]
        if not compared.rows:
            told.append(_nothing(case, said))
        if told and compared.left_out:
            left = tuple(("left out", each) for each in compared.left_out)
            told[-1] = replace(told[-1], detail=(*told[-1].detail, *left))
        return told

    @property
    def label(self) -> str:
        span = span_in_words(self.runs[0].started, self.runs[-1].started)
        return f"{self.side.label}, {f'{len(self.runs)} runs, ' if len(self.runs) > 1 else ''}{span}"


def _nothing(case: str, said: tuple[str, str]) -> Finding:
    nothing = finding(
        "not_measured",
        Verdict.INCONCLUSIVE,
        title="Nothing of this run can be compared with the baseline",
        reason=Reason.TOO_FEW,
        detail=(said,),
        advice="Take a baseline with the same suite, clients and parameters.",
    )
    return of_case([nothing], case)[0]


def gate(
    name: str,
    archive: Archive,
    now: datetime,
    target: Target,
    suites: Sequence[str],
    *,
    time_scale: float,
    slower: float,
) -> Gate:
    """Against the baseline of that name, or a run by its id or file.

    Of a baseline with runs from several vantages, or at several speeds of a lab's time, those count that are as this run.
    Raises UsageError for one that is not there, or that runs of this target cannot be compared with.
    """
    told, runs = side(name, archive, now, Only(target.name))
    mine = [run for run in runs if set(run.suites) & set(suites)]
    if not mine:
        asked = ", ".join(sorted({suite for run in runs for suite in run.suites}))
        raise UsageError(f"--baseline {name}: its runs asked {asked}, not {', '.join(suites)}")
    like = replace(mine[0], id="this run", target=target, vantage=target.vantage, time_scale=time_scale)
    mine = [run for run in mine if (run.vantage, run.time_scale) == (like.vantage, like.time_scale)] or mine
    alike([*mine, like])
    return Gate(replace(told, runs=tuple(run.id for run in mine)), mine, slower, archive.marks())
