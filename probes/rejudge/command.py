"""What does `edgeprobe report --rejudge` do with a stored run?"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from probes import outputs
from probes.bundles import SIGNATURES
from probes.errors import UsageError
from probes.own_signatures import catalogue_for, catalogue_with
from probes.rejudge import REJUDGED, rejudge
from probes.rejudge.changes import changes
from probes.reporters.changes import Changes, Row
from probes.runner import exit_code

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping

    from probes.model import Run


MOST_CPU = 120.0
"""Seconds of this machine that a stranger's signatures get: a regex can be one that never ends."""


def again(stored: Run, arguments: Namespace, brought: Mapping[str, Any] | None = None) -> int:
    """The exit code of the run as it is judged today; what is stored stays as it is. `brought`: the signatures of its bundle."""
    name = stored.target.name
    if brought:
        where = f"{arguments.run}: {SIGNATURES}"
        with _at_most(MOST_CPU, f"{where}: they take longer than {MOST_CPU:g} s to be asked"):
            judged = rejudge(stored, catalogue_with(brought, name, where), datetime.now(UTC))
    else:
        judged = rejudge(stored, catalogue_for(name), datetime.now(UTC))
    differ = changes(stored, judged)
    answers = sum(len(call.exchanges) for call in stored.calls)
    same = (
        f"{_counted(len(judged.findings), 'finding')} and {_counted(answers, 'answer')}, all judged as before"
    )
    outputs.show(
        judged, arguments, Changes(judged.versions[REJUDGED], same, [Row(*change) for change in differ])
    )
    return exit_code(judged)


class _OverError(BaseException):
    """Past a flow, which may break by any Exception."""


@contextmanager
def _at_most(seconds: float, why: str) -> Iterator[None]:
    """Of the processor's time, in the main thread; `re` hears of signals while it searches."""

    def over(*_: object) -> None:
        raise _OverError

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except _OverError:
        raise UsageError(why) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
