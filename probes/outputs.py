"""Where does a finished run go?"""

from __future__ import annotations

import io
import os
import secrets
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from probes.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping

    from probes.model import Run
    from probes.reporters.changes import Changes

REPORTERS = {"json": "json_report", "junit": "junit", "markdown": "markdown", "html": "html"}
"""Flag → module in `reporters`."""


def person(arguments: Namespace) -> TextIO:
    """Where people read: standard output, unless JSON goes there, or what another command prints."""
    return sys.stderr if arguments.json == "-" or getattr(arguments, "aside", False) else sys.stdout


def check(arguments: Namespace) -> None:
    """Before anything is spent: raises UsageError for a file that could not be written."""
    for flag, name in _asked(arguments):
        path = Path(name)
        if name == "-":
            raise UsageError(f"--{flag} -: only --json goes to standard output")
        if path.is_dir():
            raise UsageError(f"--{flag} {name}: is a folder")
        if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
            raise UsageError(f"--{flag} {name}: its folder is not there or cannot be written to")


def show(run: Run, arguments: Namespace, changes: Changes | None = None) -> None:
    """To whoever reads, then to the files asked for; one that cannot be written keeps no other from it.

    `changes`, of a run that was judged again, are for people alone: the console and Markdown.
    """
    from probes.reporters import console

    out = person(arguments)
    with without_commands(out):
        console.report(run, out)
        if changes is not None:
            import_module("probes.reporters.changes").report(changes, out)
    if arguments.json == "-":
        sys.stdout.write(_written("json", run))
    written = [_write(flag, name, run, changes) for flag, name in _files(arguments)]
    faults = [fault for fault in written if fault is not None]
    if faults:
        raise UsageError("; ".join(faults))


def write(flag: str, name: str, text: str) -> None:
    """To the file of a flag."""
    try:
        Path(name).write_text(text, "utf-8")
    except OSError as fault:
        raise UsageError(f"--{flag} {name}: {fault.strerror}") from None


def write_json(text: str, name: str) -> None:
    """To the file of `--json`, or standard output."""
    if name == "-":
        sys.stdout.write(text)
    else:
        write("json", name, text)


def spare(path: Path, arguments: Namespace) -> None:
    """Raises UsageError where a file asked for is `path`, which is to be kept."""
    for flag, name in _asked(arguments):
        if Path(name).exists() and Path(name).samefile(path):
            raise UsageError(f"--{flag} {name}: is the stored run, which is not overwritten")


def _asked(arguments: Namespace) -> list[tuple[str, str]]:
    """The bundle, too."""
    bundle = getattr(arguments, "bundle", None)
    return [*_files(arguments), *([("bundle", bundle)] if bundle is not None else [])]


def _files(arguments: Namespace) -> list[tuple[str, str]]:
    named = [(flag, getattr(arguments, flag, None)) for flag in REPORTERS]
    return [(flag, name) for flag, name in named if name is not None and (flag, name) != ("json", "-")]


def _written(flag: str, run: Run, changes: Changes | None = None) -> str:
    text = io.StringIO()
    more = (_month(run),) if flag == "html" else ()
    import_module(f"probes.reporters.{REPORTERS[flag]}").report(run, text, *more)
    if flag == "markdown" and changes is not None:
        import_module("probes.reporters.changes").markdown(changes, text)
    return text.getvalue()


def _month(run: Run) -> list[tuple[str, str, str]]:
    from probes.bill.usage import month_of
    from probes.bill.words import rows

    month = month_of(run)
    return [] if month is None else rows(month)


def _write(flag: str, name: str, run: Run, changes: Changes | None) -> str | None:
    try:
        Path(name).write_text(_written(flag, run, changes), "utf-8")
    except OSError as fault:
        return f"--{flag} {name}: {fault.strerror}"
    return None


# --- GitHub Actions --------------------------------------------------------------------------------------


@contextmanager
def without_commands(out: TextIO, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """What a stranger's server says is not obeyed by GitHub's runner: it takes commands from any line of a log.

    It finds `##[command]` anywhere in a line (actions/runner, src/Runner.Common/ActionCommand.cs).
    """
    if not _on_github(environ):
        yield
        return
    token = secrets.token_hex(16)
    out.write(f"::stop-commands::{token}\n")
    try:
        yield
    finally:
        out.write(f"::{token}::\n")


def to_github(run: Run, out: TextIO, environ: Mapping[str, str] = os.environ) -> None:
    """Annotations in the log, and the Markdown on the job's page; neither where no job of GitHub's runs."""
    from probes.reporters import annotations

    if _on_github(environ):
        annotations.report(run, out)
    if environ.get("GITHUB_STEP_SUMMARY"):
        _on_the_page(_written("markdown", run), environ)


def mistake_to_github(mistake: str, out: TextIO, environ: Mapping[str, str] = os.environ) -> None:
    """One annotation, and a line on the job's page, of a command that could not be obeyed."""
    from probes.reporters import annotations, markdown

    out.write(annotations.mistake(mistake))
    _on_the_page(f"**edgeprobe** could not begin: {markdown.inert(mistake)}", environ)


def _on_the_page(text: str, environ: Mapping[str, str]) -> None:
    if summary := environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(summary).open("a", encoding="utf-8") as page:
                page.write(f"{text}\n")
        except OSError as fault:
            sys.stderr.write(f"edgeprobe: no job summary, {summary}: {fault.strerror}\n")


def _on_github(environ: Mapping[str, str]) -> bool:
    return environ.get("GITHUB_ACTIONS") == "true"
