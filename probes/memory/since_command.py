"""What does `edgeprobe report --since` do?"""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from probes import outputs, store
from probes.errors import UsageError, did_you_mean
from probes.marks.times import moment
from probes.memory import Memory
from probes.reporters.span import page, text
from probes.runner import exit_code_of
from probes.stored import names_of_files

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from probes.model import Run
    from probes.span import Span

_LEAST, _MOST = timedelta(minutes=1), timedelta(days=3660)
_OF_A_RUN = ("json", "junit", "rejudge", "fired", "zone", "token_env")


def run(arguments: Namespace) -> int:
    """That of what is wrong now, as of a run; UsageError where nothing is kept, or nothing of that target."""
    for flag in _OF_A_RUN:
        if getattr(arguments, flag):
            raise UsageError(f"--{flag.replace('_', '-')}: goes with a RUN")
    now = datetime.now(UTC)
    since = moment(arguments.since, now, "--since")
    if not _LEAST <= now - since <= _MOST:
        raise UsageError(f"--since {arguments.since}: shorter than a minute, or longer than ten years")
    span = _span(arguments, since, now)
    with outputs.without_commands(sys.stdout):
        text.report(span, sys.stdout)
    for flag, report in (("markdown", text.markdown), ("html", page.report)):
        if (name := getattr(arguments, flag)) is not None:
            written = io.StringIO()
            report(span, written)
            outputs.write(flag, name, written.getvalue())
    return exit_code_of(span.verdict)


def _span(arguments: Namespace, since: datetime, now: datetime) -> Span:
    with _memory(arguments.db) as memory:
        newest = memory.stats().newest or now
        until = newest + _LEAST if newest > now else now  # a canary in the lab's time is ahead of the clock
        others = list(_in_files(since, until, memory))
        known = sorted({*memory.targets(), *(run.target.name for run in others)})
        if arguments.target is not None and arguments.target not in known:
            raise UsageError(
                f"--target {arguments.target}: no run of it is stored{did_you_mean(arguments.target, known)}"
            )
        return memory.span(since, until, arguments.target, others)


@contextmanager
def _memory(url: str | None) -> Iterator[Memory]:
    """The canary's, or an empty one where there are only runs in files."""
    if url is not None or store.database_file().is_file():
        with Memory.open(url, make=False) as memory:
            yield memory
        return
    if not store.newest_first():
        raise UsageError(
            f"--since: nothing is kept in {store.reports_dir()}: edgeprobe run keeps a file there, edgeprobe watch and "
            "edgeprobe mark a database"
        )
    with (
        TemporaryDirectory(prefix="edgeprobe-") as folder,
        Memory.open(f"sqlite:///{folder}/none.db") as memory,
    ):
        yield memory


def _in_files(since: datetime, until: datetime, memory: Memory) -> Iterator[Run]:
    """Those that the database does not have, too."""
    for name in sorted(names_of_files(since, until).keys() - memory.runs(since - _LEAST, until).keys()):
        try:
            run = store.load(name)
        except UsageError as fault:
            sys.stderr.write(f"edgeprobe: left out: {fault}\n")
        else:
            if since <= run.started < until:
                yield run
