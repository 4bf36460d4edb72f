"""Does the edge look as before?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.change import told
from probes.change.differences import Outcome, compared
from probes.change.fingerprint import fingerprint
from probes.change.part import Part
from probes.change.traits import CLIENT, CUTOFF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.canary import Mark
    from probes.model import Run

_TOLD_ELSEWHERE = frozenset({CLIENT, CUTOFF})
"""Parts of their own speak of outcomes and cutoffs."""


def compare(before: Sequence[Run], after: Sequence[Run], case: str, marks: Sequence[Mark]) -> Part:
    """Its findings have a case of their own, `CASE/fingerprint`. Without a trait to compare it says nothing."""
    looked_at = [
        change
        for change in compared(fingerprint(before), fingerprint(after))
        if change.of not in _TOLD_ELSEWHERE
    ]
    if all(change.outcome is Outcome.UNTOLD for change in looked_at):
        return Part(
            left_out=("look of the edge: no trait has enough answers to the same questions on both sides",)
        )
    return Part(told.rows(looked_at, marks), told.findings(looked_at, case, marks))
