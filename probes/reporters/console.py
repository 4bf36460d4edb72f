"""A run as a person reads it: the worst first, each with what was seen, why, and what to do."""

from __future__ import annotations

import io
from textwrap import wrap
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.text import Text

from probes.model import Verdict
from probes.redact import safe_text
from probes.reporters.picture import picture
from probes.reporters.tracks import by_id
from probes.reporters.words import (
    CODE,
    GLYPHS,
    commands,
    folded,
    heading,
    rows,
    skips,
    summary,
    tagged,
    told_once,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from probes.model import Finding, Run
    from probes.reporters.tracks import Seen

_MARKS = {
    Verdict.FAIL: ("FAIL", "bold red"),
    Verdict.ERROR: ("ERROR", "bold magenta"),
    Verdict.INCONCLUSIVE: ("UNKNOWN", "bold yellow"),
    Verdict.WARN: ("WARN", "yellow"),
    Verdict.PASS: ("ok", "green"),
}
_ASCII = str.maketrans({"·": "|", "±": "+/-", "…": "...", "→": "->"})
WIDTH, NARROW = 100, 80
_INDENT = 12


def report(run: Run, out: TextIO) -> None:
    """Plain ASCII, wrapped at 80 columns, where `out` is not a terminal."""
    page, exchanges = Page(out), by_id(run)
    for line in heading(run):
        page.line(line, style="dim")
    for finding in told_once(run.findings):
        page.blank()
        page.finding(finding, exchanges)
    page.blank()
    for where, client, reason in skips(run.skipped):
        page.line(f"skipped  {where}{f' with {client}' if client else ''}: {reason}", style="dim")
    page.line(summary(run), style="bold")
    page.line(f"{run.verdict} · run {run.id}", style="bold")


def plain(finding: Finding) -> str:
    """One finding as `report` tells it where there is no terminal."""
    out = io.StringIO()
    Page(out).finding(finding)
    return out.getvalue()


def ascii_text(text: str) -> str:
    """One line of text, harmless and in ASCII, for where nobody knows what can be shown."""
    return safe_text(text).translate(_ASCII).encode("ascii", "backslashreplace").decode()


class Page:
    """Text that is safe to show, whatever a server put into it, and fits where it goes."""

    def __init__(self, out: TextIO) -> None:
        terminal = out.isatty()
        self._fancy = terminal and (getattr(out, "encoding", None) or "").lower().replace("-", "") == "utf8"
        # Said outright: rich takes FORCE_COLOR for a terminal.
        self._console = Console(file=out, highlight=False, markup=False, emoji=False, force_terminal=terminal)
        self._console.width = min(self._console.width, WIDTH) if terminal else NARROW

    def clean(self, text: str) -> str:
        return safe_text(text) if self._fancy else ascii_text(text)

    def blank(self) -> None:
        self._console.print()

    def line(self, text: str, style: str = "") -> None:
        self._console.print(Text(self.clean(text), style=style))

    def finding(self, finding: Finding, exchanges: Mapping[str, Seen] | None = None) -> None:
        """With its picture, where `exchanges` has what is to be drawn."""
        word, style = _MARKS[finding.verdict]
        mark = GLYPHS[finding.verdict] if self._fancy else word
        accepted = " (accepted)" if finding.accepted else ""
        title = Text(f"{mark} ", style=style).append(self.clean(finding.title) + accepted, style="bold")
        # Two questions can meet the same trouble; the other formats name the case.
        self.heading(title, f"{finding.kind} · {tagged(finding)}")
        drawn = picture(finding, exchanges or {}, self._console.width - _INDENT, ascii_only=not self._fancy)
        for label, text in rows(finding):
            self.row(label, text)
            if label == "seen":
                self.drawing(drawn)
                drawn = []
        for label, command, note in commands(finding):
            if not command:
                self.row(label, f"({note})")
            elif label == CODE:
                self.program(label, command, note)
            else:
                self.command(label, command)
                if note:
                    self.row("", f"({note})")

    def heading(self, title: Text, tag: str) -> None:
        """`title` with `tag` at the right end of its line, or below it where it does not fit."""
        small = Text(self.clean(tag), style="dim")
        if title.cell_len + small.cell_len + 2 <= self._console.width:
            gap = " " * (self._console.width - title.cell_len - small.cell_len)
            self._console.print(title.append(gap).append_text(small))
        else:
            self._console.print(title)
            self._console.print(Text("  ").append_text(small))

    def row(self, label: str, text: str) -> None:
        """`text` beside its label, wrapped under itself; a label that does not fit begins it."""
        if len(label) > _INDENT - 3:
            label, text = "", f"{label}: {text}"
        room = self._console.width - _INDENT
        parts = map(self.clean, text.split("\n"))  # a line end is harmless here: what follows stays indented
        first, *rest = [line for part in parts for line in wrap(part, room, break_on_hyphens=False) or [""]]
        lead = f"  {self.clean(label):<{_INDENT - 3}} "
        self._console.print(Text(lead, style="dim").append(first, style="not dim"))
        for line in rest:
            self._console.print(Text(" " * _INDENT + line))

    def drawing(self, lines: Sequence[str]) -> None:
        """As wide as it is; it was made to fit."""
        for line in lines:
            self._console.print(Text(" " * _INDENT + line), soft_wrap=True)

    def command(self, label: str, command: str) -> None:
        """A shell command that can be copied: continued by backslashes, a word never broken."""
        for number, line in enumerate(map(self.clean, folded(command, self._console.width - _INDENT))):
            lead = f"  {label if number == 0 else '':<{_INDENT - 3}} "
            self._console.print(Text(lead, style="dim").append(line, style="not dim"), soft_wrap=True)

    def program(self, label: str, code: str, note: str) -> None:
        """From the first column on, since Python takes it from no other; no line is broken."""
        self.row(label, f"({note})")
        for line in folded(code, WIDTH):
            self._console.print(Text(self.clean(line)), soft_wrap=True)
