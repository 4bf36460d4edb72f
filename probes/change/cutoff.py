"""Are long answers cut earlier than before?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from probes.change.answers import worded
from probes.change.part import Part, finding
from probes.comparison import Row
from probes.model import Figure, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Finding, Run

_KIND, _FIGURE = "length", "cutoff"
_UNTOLD = 0.05
"""Of a cutoff, by which it may be off where its own measurement does not say."""
_SHOWN = 6
"""Exchanges that a finding names."""

Where = tuple[str, str, str]


def compare(before: Sequence[Run], after: Sequence[Run]) -> Part:
    """Of what both sides measured. That answers are cut at all where none was, or no longer, is an outcome."""
    old, new = _measured(before), _measured(after)
    rows: list[Row] = []
    findings: list[Finding] = []
    for where in old:
        if where in new:
            row, told = _compared(where, old[where], new[where])
            rows.append(row)
            findings.append(told)
    once = sorted((old.keys() | new.keys()) - (old.keys() & new.keys()))
    left = [
        f"cutoff, measured {'before' if where in old else 'after'} only: {worded(where)}" for where in once
    ]
    return Part(tuple(rows), tuple(findings), tuple(left))


class _Cutoff(NamedTuple):
    """`ends`: what was found to cut, once for each run."""

    figure: Figure
    ends: Sequence[Finding]


def _measured(runs: Sequence[Run]) -> dict[Where, _Cutoff]:
    """The cutoff by client, all runs of a side together: their middle, and between which bounds they all lie."""
    found: dict[Where, list[tuple[Figure, Finding]]] = {}
    for run in runs:
        routes = {case.id: case.route for case in run.cases}
        for one in run.findings:
            if one.kind == _KIND and one.case in routes and (figure := one.figures.get(_FIGURE)) is not None:
                where = (one.case, one.client or "", one.route or routes[one.case])
                found.setdefault(where, []).append((figure, one))
    return {
        where: _Cutoff(_together([figure for figure, _ in ends]), [end for _, end in ends])
        for where, ends in found.items()
    }


def _together(figures: Sequence[Figure]) -> Figure:
    low = min(f.value * (1 - _UNTOLD) if f.low is None else f.low for f in figures)
    high = max(f.value * (1 + _UNTOLD) if f.high is None else f.high for f in figures)
    return Figure(median(f.value for f in figures), "s", sum(f.n for f in figures), low, high)


def _compared(where: Where, before: _Cutoff, after: _Cutoff) -> tuple[Row, Finding]:
    then, now = before.figure, after.figure
    old, new = in_words(then), in_words(now)
    earlier, later = _high(now) < _low(then), _low(now) > _high(then)
    verdict = Verdict.FAIL if earlier else Verdict.PASS
    why = "earlier, beyond the tolerance of both" if earlier else "later" if later else "where it was"
    row = Row(
        "cutoff",
        worded(where),
        old,
        new,
        verdict,
        why,
        Figure(now.value / then.value, "times", min(then.n, now.n)),
        better=later,
    )
    titles = {
        True: f"Long answers of {row.where} are cut after {new} instead of {old}",
        False: f"The cutoff of {row.where} is {why}: {new}",
    }
    told = finding(
        "regression.cutoff" if earlier else "ok",
        verdict,
        client=where[1] or None,
        route=where[2],
        title=titles[earlier],
        detail=(("before", old), ("after", new)),
        figures={"before": then, "cutoff": now},
        evidence=tuple(name for end in after.ends for name in end.evidence)[:_SHOWN],
        **(_whose(after.ends) if earlier else {}),
    )
    return row, told


def _whose(ends: Sequence[Finding]) -> dict[str, Any]:
    """Who cuts, where each run says the same."""
    made = {(end.layer, end.product, end.vendor_code) for end in ends}
    return dict(zip(("layer", "product", "vendor_code"), *made, strict=True)) if len(made) == 1 else {}


def in_words(figure: Figure) -> str:
    return f"{figure.value:.1f} ± {(_high(figure) - _low(figure)) / 2:.1f} s"


def _low(figure: Figure) -> float:
    return figure.value if figure.low is None else figure.low


def _high(figure: Figure) -> float:
    return figure.value if figure.high is None else figure.high
