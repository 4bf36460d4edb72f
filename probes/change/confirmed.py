"""Which changes of the edge's look does a run confirm, beside the runs before it?

It takes two runs in a row that show nothing of what any run before showed: of several machines that look differently the
others were met by then, and one that is met again is no news. Which clients are let in and whether streams flow is left
out: where that changes customers are hurt, and it is told as that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.change.differences import Outcome, compared
from probes.change.fingerprint import merged
from probes.change.traits import CLIENT, DELIVERY
from probes.model import Confidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.change.differences import Change
    from probes.comparison import Trait

KEPT = 12
"""Runs, the one that is looked at included."""
_TWO, _BEFORE = 2, 3
HURTS = frozenset({CLIENT, DELIVERY})
"""Told by findings of their own."""


def confirmed(looks: Sequence[tuple[Trait, ...]]) -> list[Change]:
    """`looks`: fingerprints of single runs, the oldest first. Every trait that both sides have, but those that changed
    without being confirmed by the last run.
    """
    if len(looks) < _BEFORE + _TWO:
        return []
    after = merged(looks[-_TWO:])
    told = [
        change
        for change in compared(merged(looks[:-_TWO]), after)
        if change.of not in HURTS and (change.outcome is not Outcome.CHANGED or sure(change))
    ]
    return [*told, *_by_a_run_between(looks, after)]


def _by_a_run_between(looks: Sequence[tuple[Trait, ...]], after: tuple[Trait, ...]) -> list[Change]:
    """What changed in the middle of a run: that showed both, and is of neither side."""
    *before, between = looks[:-_TWO]
    if len(before) < _BEFORE:
        return []
    old = merged(before)
    shown = {(c.of, c.where, c.route): set(c.before.values) for c in compared(between, after)}
    return [
        change
        for change in compared(old, after)
        if change.of not in HURTS
        and sure(change)
        and (both := shown.get((change.of, change.where, change.route), set())) & set(change.before.values)
        and both & set(change.after.values)
    ]


def sure(change: Change) -> bool:
    """Nothing is left of what was, and nothing was there of what is."""
    return change.outcome is Outcome.CHANGED and change.confidence is not Confidence.LOW
