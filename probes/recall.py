"""What did an earlier run measure that a case asks about?

Resolved before anything is sent, so that flows stay free of I/O and a stored run is judged again as it was.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.kinds import KINDS
from probes.store import newest_first

if TYPE_CHECKING:
    from probes.model import Case


def recalled(case: Case) -> Case:
    """The case with the figure that it needs, of the newest stored run of the same target that tried to measure it;
    unchanged where that found none.
    """
    wanted = KINDS[case.kind].recalls(case)
    if wanted is None:
        return case
    url = case.target.routes[case.route].base_url
    for path in newest_first():
        try:
            document = json.loads(path.read_text("utf-8"))
            found = _figure(document, wanted.of, wanted.figure, case.route, url)
        except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
            continue  # not a run, or one that is damaged: an older one may do
        if found is not _NOT_ASKED:
            return case if found is None else replace(case, params={**case.params, wanted.into: found})
    return case


_NOT_ASKED: Any = object()


def _figure(document: Any, of: str, figure: str, route: str, url: str) -> Any:
    """Seconds, `None` where the case ended without such a figure, `_NOT_ASKED` where it is another target or case."""
    if document["target"]["routes"].get(route) != url:
        return _NOT_ASKED
    findings = [finding for finding in document["findings"] if finding["case"] == of]
    measured = [finding for finding in findings if finding["verdict"] not in {"inconclusive", "error"}]
    if not measured:
        return _NOT_ASKED
    return next((f["figures"][figure]["value"] for f in measured if figure in f["figures"]), None)
