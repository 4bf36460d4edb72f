"""A run as a person reads it: the worst first, each with what was seen, why, and what to do."""

from __future__ import annotations

import shlex
from textwrap import wrap
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.text import Text

from probes.model import Verdict
from probes.redact import safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Finding, Run

_ORDER = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS)
_MARKS = {
    Verdict.FAIL: ("✗", "FAIL", "bold red"),
    Verdict.ERROR: ("!", "ERROR", "bold magenta"),
    Verdict.INCONCLUSIVE: ("?", "UNKNOWN", "bold yellow"),
    Verdict.WARN: ("▲", "WARN", "yellow"),
    Verdict.PASS: ("✓", "ok", "green"),
}
_ASCII = str.maketrans({"·": "|", "±": "+/-", "…": "...", "→": "->"})
WIDTH, NARROW = 100, 80
_INDENT = 12


def report(run: Run, out: TextIO) -> None:
    """Plain ASCII, wrapped at 80 columns, where `out` is not a terminal."""
    page = Page(out)
    for line in _heading(run):
        page.line(line, style="dim")
    for finding in sorted(run.findings, key=lambda f: (f.accepted, _ORDER.index(f.verdict))):
        page.blank()
        page.finding(finding)
    page.blank()
    for skipped in run.skipped:
        who = f"{skipped.case} with {skipped.client}" if skipped.client else skipped.case
        page.line(f"skipped  {who}: {skipped.reason}", style="dim")
    for line in _summary(run):
        page.line(line, style="bold")


def _heading(run: Run) -> Iterator[str]:
    route = next(iter(run.target.routes.values()))
    yield f"{', '.join(run.suites)} on {route.base_url}"
    about = [run.target.api, run.target.model]
    if run.vantage:
        about.append(f"from {run.vantage}")
    if run.time_scale != 1:
        about.append(f"lab time, {1 / run.time_scale:g} times faster than the clock")
    yield " · ".join(about)


def _summary(run: Run) -> Iterator[str]:
    counts = [(sum(f.verdict is v and not f.accepted for f in run.findings), v) for v in _ORDER]
    found = ", ".join(f"{n} {verdict}" for n, verdict in counts if n) or "nothing measured"
    spend, seconds = run.spend, (run.finished - run.started).total_seconds()
    requests = f"{spend.requests} request{'' if spend.requests == 1 else 's'}"
    yield f"{found} · {requests}, {spend.input_tokens + spend.output_tokens:,} tokens · {seconds:.1f} s"
    yield f"{run.verdict} · run {run.id}"


class Page:
    """Text that is safe to show, whatever a server put into it, and fits where it goes."""

    def __init__(self, out: TextIO) -> None:
        terminal = out.isatty()
        self._fancy = terminal and (getattr(out, "encoding", None) or "").lower().replace("-", "") == "utf8"
        # Said outright: rich takes FORCE_COLOR for a terminal.
        self._console = Console(file=out, highlight=False, markup=False, emoji=False, force_terminal=terminal)
        self._console.width = min(self._console.width, WIDTH) if terminal else NARROW

    def clean(self, text: str) -> str:
        text = safe_text(text)
        return text if self._fancy else text.translate(_ASCII).encode("ascii", "backslashreplace").decode()

    def blank(self) -> None:
        self._console.print()

    def line(self, text: str, style: str = "") -> None:
        self._console.print(Text(self.clean(text), style=style))

    def finding(self, finding: Finding) -> None:
        glyph, word, style = _MARKS[finding.verdict]
        mark = glyph if self._fancy else word
        accepted = " (accepted)" if finding.accepted else ""
        title = Text(f"{mark} ", style=style).append(self.clean(finding.title) + accepted, style="bold")
        tag = Text(self.clean(tagged(finding)), style="dim")
        if title.cell_len + tag.cell_len + 2 <= self._console.width:
            gap = " " * (self._console.width - title.cell_len - tag.cell_len)
            self._console.print(title.append(gap).append_text(tag))
        else:
            self._console.print(title)
            self._console.print(Text("  ").append_text(tag))
        for label, text in rows(finding):
            self.row(label, text)
        if finding.reproduce is not None and finding.verdict is not Verdict.PASS:
            self.command("repeat", finding.reproduce.command)
            self.row("", "(ran: same answer)" if finding.reproduce.verified else "(not run)")

    def row(self, label: str, text: str) -> None:
        """`text` beside its label, wrapped under itself."""
        room = self._console.width - _INDENT
        parts = map(self.clean, text.split("\n"))  # a line end is harmless here: what follows stays indented
        first, *rest = [line for part in parts for line in wrap(part, room, break_on_hyphens=False) or [""]]
        lead = f"  {self.clean(label):<{_INDENT - 3}} "
        self._console.print(Text(lead, style="dim").append(first, style="not dim"))
        for line in rest:
            self._console.print(Text(" " * _INDENT + line))

    def command(self, label: str, command: str) -> None:
        """A shell command that can be copied: continued by backslashes, a word never broken."""
        lines, current = [], ""
        for word in _words(self.clean(command)):
            if current and len(current) + len(word) + 3 > self._console.width - _INDENT:
                lines.append(f"{current} \\")
                current = f"  {word}"
            else:
                current = f"{current} {word}" if current else word
        for number, line in enumerate([*lines, current]):
            lead = f"  {label if number == 0 else '':<{_INDENT - 3}} "
            self._console.print(Text(lead, style="dim").append(line, style="not dim"), soft_wrap=True)


def _words(command: str) -> Iterator[str]:
    """The words of a command, an option with its value in one."""
    try:
        words = [shlex.quote(word) for word in shlex.split(command)]
    except ValueError:  # no shell's: shown as it is
        words = [command]
    while words:
        word = words.pop(0)
        takes_value = word in {"-A", "-H", "-d", "-c", "--connect-to"} and words
        yield f"{word} {words.pop(0)}" if takes_value else word


def tagged(finding: Finding) -> str:
    """`blocked.client · edge · Cloudflare 1010`."""
    made = " ".join(part for part in (finding.product, finding.vendor_code) if part)
    layer = finding.layer if finding.verdict is not Verdict.PASS else ""
    return " · ".join(part for part in (finding.code, str(layer), made if layer else "") if part)


def rows(finding: Finding) -> Iterator[tuple[str, str]]:
    """(label, text) in the order a person asks: seen, because, so, do, repeat."""
    yield from finding.detail
    if finding.verdict is Verdict.PASS:
        return
    if finding.reason is not None:
        yield "unproven", f"{finding.reason.replace('_', ' ')}"
    if finding.factor is not None:
        sure = f", confidence {finding.confidence}" if finding.confidence else ""
        others = (
            f"; also different: {', '.join(finding.confounders)}"
            if finding.confounders
            else "; nothing else differed"
        )
        yield "factor", f"{finding.factor.replace('_', ' ')}{sure}{others}"
    if finding.advice:
        yield "do", f"{finding.who_acts}: {finding.advice}" if finding.who_acts else finding.advice
    if finding.next_test:
        yield "next", finding.next_test
