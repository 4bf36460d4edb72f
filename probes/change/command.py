"""What does `edgeprobe compare` do, and what does `--baseline` add to a run and a plan?"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from probes import outputs
from probes.change import ahead
from probes.change.compare import compare
from probes.change.gate import gate
from probes.change.sides import Only, sides
from probes.errors import UsageError
from probes.model import Verdict
from probes.reporters import comparison as reporter
from probes.stored import Archive

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from probes.change.gate import Gate
    from probes.model import Case, Target

_CODES = {Verdict.FAIL: 1, Verdict.INCONCLUSIVE: 3}


def run(arguments: Namespace) -> int:
    """1 where something got worse, 3 where that is not told or nothing was compared, else 0."""
    outputs.check(arguments)
    with Archive(arguments.db) as archive:
        only = Only(arguments.target, arguments.vantage)
        before, after = sides(arguments.a, arguments.b, archive, archive.now(_now()), only)
        marks = archive.marks()
    compared = compare(before, after, slower=arguments.slower, marks=marks)
    out = outputs.person(arguments)
    with outputs.without_commands(out):
        reporter.report(compared, out)
    if arguments.json is not None:
        outputs.write_json(reporter.json_text(compared), arguments.json)
    if arguments.markdown is not None:
        text = io.StringIO()
        reporter.markdown(compared, text)
        try:
            Path(arguments.markdown).write_text(text.getvalue(), "utf-8")
        except OSError as fault:
            raise UsageError(f"--markdown {arguments.markdown}: {fault.strerror}") from None
    return _CODES.get(compared.verdict, 0)


def baseline(arguments: Namespace, target: Target) -> Gate:
    """The one that `--baseline` names, found before anything is sent."""
    from probes.suite import load_suite  # noqa: PLC0415 - a comparison of stored runs needs none

    with Archive(arguments.db) as archive:
        return gate(
            arguments.baseline,
            archive,
            _now(),
            target,
            [load_suite(name).name for name in arguments.suites],
            time_scale=arguments.time_scale,
            slower=arguments.slower,
        )


def foretell(held: Gate, cases: Sequence[Case], out: TextIO) -> None:
    """What the samples of a plan would show beside its baseline."""
    out.write(f"against  {held.label}\n")
    out.writelines(
        f"shows    {where}: {said}\n" for where, said in ahead.foretold(held.runs, cases, held.slower)
    )


def _now() -> datetime:
    """In this machine's zone, in which a person says a time."""
    return datetime.now(UTC).astimezone()
