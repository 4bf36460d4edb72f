"""What changed between two sides, as a whole?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.change import cached, cutoff, latency, look, outcomes
from probes.change.part import Part, of_case, worst
from probes.comparison import Comparison, Row
from probes.errors import UsageError
from probes.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.canary import Mark
    from probes.comparison import Side
    from probes.model import Run

CASE = "compare/baseline"


def compare(
    before: tuple[Side, Sequence[Run]],
    after: tuple[Side, Sequence[Run]],
    *,
    slower: float = latency.SLOWER,
    case: str = CASE,
    marks: Sequence[Mark] = (),
) -> Comparison:
    """`slower`: by which part of the time before something counts as slower. `case`: that its findings are of. `marks`:
    of whatever time; those of other targets count for nothing.

    Raises UsageError where what differs may not be the service: target, vantage, lab time.
    """
    old, new = before[1], after[1]
    alike([*old, *new])
    of_target = [mark for mark in marks if mark.target in {None, after[0].target}]
    parts = [
        outcomes.compare(old, new),
        latency.compare(old, new, slower),
        cutoff.compare(old, new),
        cached.compare(old, new),
    ]
    looks = look.compare(old, new, case, of_target)
    measured = tuple(row for part in (*parts, looks) for row in part.rows)
    verdict, differing = worst(measured), asked(old, new)
    whole = Part(
        (*differing, *measured),
        (*of_case([one for part in parts for one in part.findings], case), *looks.findings),
        tuple(dict.fromkeys(said for part in (*parts, looks) for said in part.left_out)),
    )
    return Comparison(
        before=before[0],
        after=after[0],
        rows=whole.rows,
        findings=whole.findings,
        verdict=Verdict.WARN if differing and verdict is Verdict.PASS else verdict,
        marks=tuple(mark for mark in of_target if before[0].until <= mark.at <= after[0].until),
        left_out=whole.left_out,
    )


def alike(runs: Sequence[Run]) -> None:
    """Raises UsageError where runs are not of one target, from one vantage and at one speed of time."""
    told = {
        "target": {run.id: run.target.name for run in runs},
        "vantage": {run.id: run.vantage or "none" for run in runs},
        "time scale": {run.id: f"{run.time_scale:g}" for run in runs},
    }
    why = {
        "target": "they are not one service (--target NAME takes those of one)",
        "vantage": "a difference may be the network's (--vantage NAME takes those of one)",
        "time scale": "a lab's time is not the clock's",
    }
    for what, by_run in told.items():
        values = dict.fromkeys(by_run.values())
        if len(values) > 1:
            said = ", ".join(
                f"{value} in {next(i for i, v in by_run.items() if v == value)}" for value in values
            )
            raise UsageError(f"runs of different {what} can't be compared, {why[what]}: {said}")


def asked(before: Sequence[Run], after: Sequence[Run]) -> tuple[Row, ...]:
    """Where the target itself, or a client, is not what it was: that may be the change, or why there is one."""
    old, new = _said_of(before), _said_of(after)
    return tuple(
        Row(what, where, old[what, where], new[what, where], Verdict.WARN, f"the {what} itself differs")
        for what, where in old
        if (what, where) in new and old[what, where] != new[what, where]
    )


def _said_of(runs: Sequence[Run]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], list[str]] = {}
    for target in (run.target for run in runs):
        found.setdefault(("model", ""), []).append(target.model)
        for name, route in target.routes.items():
            at = f" at {route.connect_to}" if route.connect_to else ""
            found.setdefault(("route", name), []).append(f"{route.base_url}{at}")
    for run in runs:
        for client in {client.name for case in run.cases for client in case.clients} & run.versions.keys():
            found.setdefault(("version", client), []).append(run.versions[client])
    return {where: ", ".join(dict.fromkeys(said)) for where, said in found.items()}
