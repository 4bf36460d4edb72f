"""What did an earlier run measure that a case asks about?

Resolved before anything is sent, so that flows stay free of I/O and a stored run is judged again as it was.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.kinds import KINDS
from probes.stored import documents

if TYPE_CHECKING:
    from probes.kinds.spec import Recall
    from probes.model import Case


def recalled(case: Case) -> Case:
    """The case with the figure that it needs, of the newest stored run of the same target that tried to measure it;
    unchanged where that found none.
    """
    wanted = KINDS[case.kind].recalls(case)
    if wanted is None:
        return case
    with closing(documents(wanted.of)) as stored:
        for document in stored:
            try:
                found = _figure(document, wanted, case)
            except (LookupError, TypeError, AttributeError):
                continue  # not a run, or one that is damaged: an older one may do
            if found is not _NOT_ASKED:
                return case if found is None else replace(case, params={**case.params, wanted.into: found})
    return case


_NOT_ASKED: Any = object()


def _figure(document: Any, wanted: Recall, case: Case) -> Any:
    """Seconds, `None` where the case ended without such a figure, `_NOT_ASKED` where it is another target or case."""
    there, here = document["target"], case.target
    same = (there["api"], there["model"]) == (here.api, here.model)
    if not same or there["routes"].get(case.route) != here.routes[case.route].base_url:
        return _NOT_ASKED
    findings = [f for f in document["findings"] if f["case"] == wanted.of]
    measured = [f for f in findings if f["verdict"] not in {"inconclusive", "error"}]
    if not measured:
        return _NOT_ASKED
    exchanges = {exchange["id"]: exchange for exchange in document["exchanges"]}
    having = [f for f in measured if wanted.figure in f["figures"] and f["route"] in {None, case.route}]
    return next((f["figures"][wanted.figure]["value"] for f in having if wanted.fits(f, exchanges)), None)
