"""What is told where an SDK fails, and the same bytes sent without it pass?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.reproduction.outcome import OUTCOME, REPRODUCED
from probes.kinds.reproduction.rows import evidence
from probes.kinds.reproduction.words import score
from probes.kinds.words import named, shown
from probes.model import Confidence, Factor, Observed, Verdict

if TYPE_CHECKING:
    from probes.kinds.reproduction.opening import Opening
    from probes.kinds.reproduction.study import Study
    from probes.model import Finding


def below_sdk(study: Study, found: Opening) -> Finding:
    """No header and no byte of the body: what is left is how the SDK's stack connects and writes."""
    failed = study.failed(found.told)
    assert failed is not None
    tally = study.evidence.of(found.told)
    said = "the very bytes that the SDK sent, sent by a plain client, did not fail"
    rows = (
        (OUTCOME, f"{REPRODUCED} {score(tally)}"),
        ("seen", f"through {found.told.draft.client}: {shown(failed)}"),
        (
            "because",
            f"not a header and not the body: {said}; left are its TLS, and how it connects and writes",
        ),
        *named(failed),
    )
    return conclude(
        study.case, outcome_code(failed), failed, verdict=Verdict.FAIL, detail=rows,
        title=f"Reproduced through {found.told.draft.client} alone: it is the client's own stack",
        factor=Factor.CLIENT, confidence=Confidence.LOW, observed=Observed(tally.k, tally.n),
        next_test="the same header bytes over another TLS stack", evidence=evidence(study),
    )  # fmt: skip
