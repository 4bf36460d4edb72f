"""What does `edgeprobe report --since` do?"""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from probes import outputs
from probes.errors import UsageError, did_you_mean
from probes.marks.times import moment
from probes.memory import Memory
from probes.reporters.span import page, text

if TYPE_CHECKING:
    from argparse import Namespace

_LEAST, _MOST = timedelta(minutes=1), timedelta(days=3660)
_OF_A_RUN = ("json", "junit", "rejudge", "fired", "zone", "token_env")


def run(arguments: Namespace) -> int:
    """0, as `report RUN`; UsageError where there is no database, or nothing of that target."""
    for flag in _OF_A_RUN:
        if getattr(arguments, flag):
            raise UsageError(f"--{flag.replace('_', '-')}: goes with a RUN")
    now = datetime.now(UTC)
    since = moment(arguments.since, now, "--since")
    if not _LEAST <= now - since <= _MOST:
        raise UsageError(f"--since {arguments.since}: shorter than a minute, or longer than ten years")
    with Memory.open(arguments.db, make=False) as memory:
        if arguments.target is not None and arguments.target not in (known := memory.targets()):
            raise UsageError(
                f"--target {arguments.target}: no run of it is stored{did_you_mean(arguments.target, known)}"
            )
        newest = memory.stats().newest or now
        until = newest + _LEAST if newest > now else now  # a canary in the lab's time is ahead of the clock
        span = memory.span(since, until, arguments.target)
    with outputs.without_commands(sys.stdout):
        text.report(span, sys.stdout)
    for flag, report in (("markdown", text.markdown), ("html", page.report)):
        if (name := getattr(arguments, flag)) is not None:
            written = io.StringIO()
            report(span, written)
            outputs.write(flag, name, written.getvalue())
    return 0
