"""What does `edgeprobe report --rejudge` do with a stored run?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from probes import outputs
from probes.own_signatures import catalogue_for
from probes.rejudge import REJUDGED, rejudge
from probes.rejudge.changes import changes
from probes.reporters.changes import Changes, Row
from probes.runner import exit_code

if TYPE_CHECKING:
    from argparse import Namespace

    from probes.model import Run


def again(stored: Run, arguments: Namespace) -> int:
    """The exit code of the run as it is judged today; what is stored stays as it is."""
    judged = rejudge(stored, catalogue_for(stored.target.name), datetime.now(UTC))
    differ = changes(stored, judged)
    answers = sum(len(call.exchanges) for call in stored.calls)
    same = (
        f"{_counted(len(judged.findings), 'finding')} and {_counted(answers, 'answer')}, all judged as before"
    )
    outputs.show(
        judged, arguments, Changes(judged.versions[REJUDGED], same, [Row(*change) for change in differ])
    )
    return exit_code(judged)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
