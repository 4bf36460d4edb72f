"""A run as Markdown, for a job summary and a comment on a pull request.

Whatever a stranger wrote is shown as he wrote it and does nothing: no markup, link, mention or reference comes of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TextIO

from probes.model import Verdict
from probes.redact import safe_text
from probes.reporters.measures import HEADS, measures
from probes.reporters.picture import picture
from probes.reporters.tracks import by_id
from probes.reporters.words import (
    AXIS,
    CODE,
    GLYPHS,
    commands,
    folded,
    heading,
    headline,
    rows,
    skips,
    summary,
    tagged,
    told_once,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.model import Finding, Run

LIMIT = 60_000
"""Characters; GitHub takes 65,536 in a comment."""
_CELL = 400
_WIDTH = 100
_MARKUP = re.compile("[&<>`*_\\\\\\[\\]|~$^!#\u200b]")
# GitHub and GitLab look for these in the finished page, where an entity is a character like any other: `@name`, `#12`
# and their kin, `GH-12`, `www.` and `://`, `:smile:`. A blank of no width after the match keeps them apart. No smile is
# called like the minutes of a time, which people copy: `10:55:12`, `10:00-12:00`, `09:55Z-10:00Z`.
_REFERENCES = re.compile(
    r"@|[#!$%&~^](?=[\w\"'])|\bGH(?=-\d)|www(?=\.)|:(?=//)|:(?!(?<=\d:)\d\d[:Z-])(?=[\w+-]+:)", re.IGNORECASE
)


def report(run: Run, out: TextIO) -> None:
    findings = told_once(run.findings)
    head = [
        f"## {GLYPHS[run.verdict]} edgeprobe {inert(headline(run))}",
        "",
        inert(summary(run)),
        "",
        f"run {inert(' · '.join((run.id, *heading(run))))}",
        "",
    ]
    room = LIMIT - _length(head)
    lines = [*_fitting([[row] for row in _table(run, findings)], room // 2, "rows", run)]
    head += ["| verdict | case | client | finding | code |", "|---|---|---|---|---|", *lines, ""]
    troubles = [finding for finding in findings if finding.verdict is not Verdict.PASS]
    exchanges = by_id(run)
    drawn = [picture(finding, exchanges, _WIDTH, ascii_only=False) for finding in troubles]
    details = [
        _details(f, lines, opened=n == 0) for n, (f, lines) in enumerate(zip(troubles, drawn, strict=True))
    ]
    head += _fitting(details, LIMIT - _length(head), "findings", run)
    out.write("\n".join(head).rstrip() + "\n")


def inert(text: str) -> str:
    """`text` as it reads, without effect anywhere in a line of Markdown or HTML but at its begin."""
    marked = _REFERENCES.sub(lambda match: f"{match[0]}\u200b", safe_text(text))
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", marked)


def _table(run: Run, findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        verdict = f"{GLYPHS[finding.verdict]} {finding.verdict}{' (accepted)' if finding.accepted else ''}"
        yield _row(verdict, finding.case, finding.client, finding.title, tagged(finding))
    for where, client, reason in skips(run.skipped):
        yield _row("○ skipped", where, client, reason, "")


def _row(*cells: str | None) -> str:
    clipped = [cell if len(cell) <= _CELL else f"{cell[:_CELL]}…" for cell in (cell or "" for cell in cells)]
    return f"| {' | '.join(map(inert, clipped))} |"


def _details(finding: Finding, drawn: Sequence[str], *, opened: bool) -> list[str]:
    title = f"{GLYPHS[finding.verdict]} {finding.verdict}: {finding.title}"
    lines = [f"<details{' open' if opened else ''}>", f"<summary>{inert(title)}</summary>", ""]
    for label, text in rows(finding):
        if label == AXIS:
            lines += ["", *_fenced([safe_text(line) for line in text.split("\n")], "text"), ""]
            continue
        lines.append(f"- **{inert(label)}**: {'<br>'.join(map(inert, text.split(chr(10))))}")
    if drawn:
        lines += ["", *_fenced(drawn, "text")]
    if finding.figures:
        lines += [
            "",
            f"| {' | '.join(HEADS)} |",
            f"|{'---|' * len(HEADS)}",
            *(_row(*m) for m in measures(finding)),
        ]
    for label, command, note in commands(finding):
        head = f"{label.capitalize()}{f' ({note})' if note else ''}:"
        shown = [safe_text(line) for line in folded(command, _WIDTH)]
        lines += ["", head, *(["", *_fenced(shown, "python" if label == CODE else "sh")] if command else [])]
    return [*lines, "", "</details>", ""]


def _fenced(lines: Sequence[str], language: str = "sh") -> list[str]:
    """A code block that nothing in it can end: a fence is ended only by one as long."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def _fitting(blocks: Sequence[list[str]], room: int, what: str, run: Run) -> list[str]:
    """The blocks that fit, the first first, and a line that says what was left out."""
    found: list[str] = []
    for number, block in enumerate(blocks):
        room -= _length(block)
        if room < 0:
            left = f"{len(blocks) - number} more {what}: edgeprobe report {inert(run.id)}"
            return [*found, f"| … | {left} | | | |" if what == "rows" else left, ""]
        found += block
    return found


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)
