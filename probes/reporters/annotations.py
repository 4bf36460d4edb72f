"""A run as annotations of GitHub Actions, on the page of the job and of the pull request.

How a workflow command is escaped: actions/toolkit, packages/core/src/command.ts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from probes.model import Verdict
from probes.reporters.console import ascii_text
from probes.reporters.words import nothing_measured, rows, tagged, told_once

if TYPE_CHECKING:
    from probes.model import Finding, Run

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def report(run: Run, out: TextIO) -> None:
    """An error for each fail and error, a warning for what is inconclusive or a warning; nothing for the rest."""
    findings = [f for f in told_once(run.findings) if not f.accepted and f.verdict is not Verdict.PASS]
    for finding in findings:
        level = "error" if finding.verdict in {Verdict.FAIL, Verdict.ERROR} else "warning"
        out.write(f"::{level} title={_title(finding)}::{_message(finding)}\n")
    if nothing_measured(run):
        out.write("::error title=edgeprobe::nothing measured\n")


def mistake(said: str) -> str:
    """The annotation of a command that could not be obeyed."""
    return f"::error title=edgeprobe::{ascii_text(said).translate(_DATA)}\n"


def _title(finding: Finding) -> str:
    return ascii_text(f"edgeprobe {finding.verdict}: {finding.title}").translate(_PROPERTY)


def _message(finding: Finding) -> str:
    told = [f"{finding.case}: {tagged(finding)}", *(f"{word}: {text}" for word, text in rows(finding))]
    return "\n".join(ascii_text(line) for text in told for line in text.split("\n")).translate(_DATA)
