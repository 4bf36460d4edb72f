"""In which words does a reproduction end?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probes.model import Finding

KIND = "reproduction"
OUTCOME = "outcome"
"""The word of the first row of the finding that tells it: `REPRODUCED 5 of 5`."""
REPRODUCED, NOT_REPRODUCED, CANNOT = "REPRODUCED", "NOT REPRODUCED", "CANNOT"


def outcome(findings: Iterable[Finding]) -> str:
    """The sentence of that row; `CANNOT` where no finding of a reproduction has it."""
    rows = [row for finding in findings if finding.kind == KIND for row in finding.detail]
    return next((sentence for word, sentence in rows if word == OUTCOME), CANNOT)
