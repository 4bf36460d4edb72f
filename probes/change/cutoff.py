"""Are long answers cut earlier than before?"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from probes.change.answers import worded
from probes.change.part import Part, finding
from probes.comparison import Row
from probes.model import Figure, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Finding, Run

_KIND = "length"
_UNTOLD = 0.05
"""Of a cutoff, by which it may be off where its own measurement does not say."""
_SHOWN = 6
"""Exchanges that a finding names."""

Where = tuple[str, str, str]


def compare(before: Sequence[Run], after: Sequence[Run]) -> Part:
    """Of what both sides measured: when an answer is cut, or for how long one was held that nothing cut."""
    old, new = _measured(before), _measured(after)
    rows: list[Row] = []
    findings: list[Finding] = []
    left: list[str] = []
    for where in sorted(old.keys() | new.keys()):
        if where not in old or where not in new:
            side = "before" if where in old else "after"
            left.append(f"cutoff, measured {side} only: {worded(where)}")
        elif (why := _untold(old[where], new[where])) is not None:
            left.append(f"cutoff, {why}: {worded(where)}")
        else:
            row, told = _compared(where, old[where], new[where])
            rows.append(row)
            findings.append(told)
    return Part(tuple(rows), tuple(findings), tuple(left))


class _Cutoff(NamedTuple):
    """`ends`: what was found, once for each run. `held`: nothing cut it, for so long."""

    figure: Figure
    ends: Sequence[Finding]
    held: bool

    @property
    def low(self) -> float:
        return self.figure.value if self.figure.low is None else self.figure.low

    @property
    def high(self) -> float:
        if self.held:
            return math.inf
        return self.figure.value if self.figure.high is None else self.figure.high

    def __str__(self) -> str:
        seconds = f"{self.figure.value:.1f}"
        return f"none below {seconds} s" if self.held else f"{seconds} ± {(self.high - self.low) / 2:.1f} s"


def _measured(runs: Sequence[Run]) -> dict[Where, _Cutoff]:
    """By client, all runs of a side together: the middle of the cutoffs, and between which bounds they all lie; the longest
    hold where there is none.
    """
    found: dict[Where, list[Finding]] = {}
    for run in runs:
        routes = {case.id: case.route for case in run.cases}
        for one in run.findings:
            if one.kind == _KIND and one.case in routes and one.figures.keys() & {"cutoff", "held"}:
                where = (one.case, one.client or "", one.route or routes[one.case])
                found.setdefault(where, []).append(one)
    return {where: side for where, ends in found.items() if (side := _side(ends)) is not None}


def _side(ends: Sequence[Finding]) -> _Cutoff | None:
    """What was held says nothing beside a cut, of another run or of the other kind of answer, nor in a failure."""
    cut = [one for one in ends if "cutoff" in one.figures]
    if cut:
        return _Cutoff(_together([one.figures["cutoff"] for one in cut]), cut, held=False)
    held = [one for one in ends if one.verdict is not Verdict.FAIL]
    if not held:
        return None
    return _Cutoff(
        max((one.figures["held"] for one in held), key=lambda figure: figure.value), held, held=True
    )


def _together(figures: Sequence[Figure]) -> Figure:
    low = min(f.value * (1 - _UNTOLD) if f.low is None else f.low for f in figures)
    high = max(f.value * (1 + _UNTOLD) if f.high is None else f.high for f in figures)
    return Figure(median(f.value for f in figures), "s", sum(f.n for f in figures), low, high)


def _untold(before: _Cutoff, after: _Cutoff) -> str | None:
    """Beyond what one side held nothing is known of it."""
    then, now = before.figure.value, after.figure.value
    if after.held and (now < (1 - _UNTOLD) * then if before.held else now <= before.high):
        return f"held for {now:.1f} s only now ({before} before)"
    if before.held and not after.held and after.high >= then:
        return f"held for {then:.1f} s only before ({after} now)"
    return None


def _compared(where: Where, before: _Cutoff, after: _Cutoff) -> tuple[Row, Finding]:
    then, now = before.figure, after.figure
    earlier = after.high < (then.value if before.held else before.low)
    later = not before.held and after.low > before.high
    verdict = Verdict.FAIL if earlier else Verdict.PASS
    why = _why(before, after, earlier=earlier, later=later)
    both_cut = not (before.held or after.held)
    ratio = Figure(now.value / then.value, "times", min(then.n, now.n)) if both_cut else None
    row = Row("cutoff", worded(where), str(before), str(after), verdict, why, ratio, better=later)
    instead = f", and nothing cut them below {then.value:.1f} s" if before.held else f" instead of {before}"
    told = finding(
        "regression.cutoff" if earlier else "ok",
        verdict,
        client=where[1] or None,
        route=where[2],
        title=f"Long answers of {row.where} are cut after {after}{instead}"
        if earlier
        else f"The cutoff of {row.where} is {why}: {after}",
        detail=(("before", str(before)), ("after", str(after))),
        figures={"before": then, "held" if after.held else "cutoff": now},
        conditions=_shared([*before.ends, *after.ends]),
        evidence=tuple(name for end in after.ends for name in end.evidence)[:_SHOWN],
        **(_whose(after.ends) if earlier else {}),
    )
    return row, told


def _shared(ends: Sequence[Finding]) -> dict[str, Any]:
    """The conditions that both sides have in common."""
    first, *others = ends
    return {
        name: value
        for name, value in first.conditions.items()
        if all(one.conditions.get(name) == value for one in others)
    }


def _why(before: _Cutoff, after: _Cutoff, *, earlier: bool, later: bool) -> str:
    if earlier:
        return "within what was held before" if before.held else "earlier, beyond the tolerance of both"
    if before.held:
        return "met on neither side"
    return "gone" if after.held else "later" if later else "where it was"


def _whose(ends: Sequence[Finding]) -> dict[str, Any]:
    """Who cuts, where each run says the same."""
    made = {(end.layer, end.product, end.vendor_code) for end in ends}
    return dict(zip(("layer", "product", "vendor_code"), *made, strict=True)) if len(made) == 1 else {}
