"""Before and after as a table, for the console and a pull request, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

from probes.document import finding_document, plain, span_in_words, time_of_day
from probes.model import Verdict
from probes.reporters.console import NARROW, Page
from probes.reporters.markdown import LIMIT, inert
from probes.reporters.words import GLYPHS, ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.canary import Mark
    from probes.comparison import Comparison, Row, Side

SCHEMA = "edgeprobe.compare/1"
_WORDS = {Verdict.FAIL: "FAIL", Verdict.INCONCLUSIVE: "UNKNOWN", Verdict.WARN: "WARN", Verdict.PASS: "ok"}
_STYLES = {Verdict.FAIL: "bold red", Verdict.INCONCLUSIVE: "bold yellow", Verdict.WARN: "yellow"}
_HEAD = ("", "what", "before", "after", "change")
_MARK, _WHAT, _SIDE, _ALL = 7, 9, (15, 20), 76
"""Widths of the columns, which with a blank between them fill 80. Those of the two sides are as wide as their longest word,
within these bounds; the rest is left for the last.
"""
_CELL = 400
_NAMED = 8
_LEFT_OUT = 50


def report(comparison: Comparison, out: TextIO) -> None:
    """Plain ASCII where `out` is not a terminal; 80 columns wide, the worst first."""
    page = Page(out)
    for label, text in _heading(comparison):
        page.row(label, text)
    page.blank()
    rows, same = _folded(comparison.rows)
    _table(page, rows)
    for said in same:
        lead = f"{_WORDS[Verdict.PASS]:<{_MARK}} "
        for line in wrap(
            page.clean(said),
            NARROW,
            initial_indent=lead,
            subsequent_indent=" " * len(lead),
            break_on_hyphens=False,
        ):
            page.line(line)
    for about in comparison.left_out:
        page.row("left out", about)
    for advice in _advice(comparison):
        page.row("do", advice)
    page.blank()
    page.line(headline(comparison), style="bold")


def _table(page: Page, rows: Sequence[Row]) -> None:
    where = None
    widths = _widths(rows)
    for line in _laid_out(_HEAD, widths) if rows else ():
        page.line(line, style="dim")
    for row in rows:
        if row.where != where:
            where = row.where
            for line in wrap(page.clean(row.where), NARROW, break_on_hyphens=False) or [""]:
                page.line(line, style="bold")
        cells = (_WORDS.get(row.verdict, str(row.verdict)), row.what, row.before, row.after, row.why)
        for line in _laid_out([page.clean(cell) for cell in cells], widths):
            page.line(line, style=_STYLES.get(row.verdict, ""))


def _widths(rows: Sequence[Row]) -> tuple[int, ...]:
    words = (len(word) for row in rows for cell in (row.before, row.after) for word in cell.split())
    least, most = _SIDE
    side = min(max(least, max(words, default=0)), most)
    return _MARK, _WHAT, side, side, _ALL - _MARK - _WHAT - 2 * side


def _laid_out(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    columns = [wrap(cell, width, break_on_hyphens=False) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, columns))):
        parts = [column[number] if number < len(column) else "" for column in columns]
        yield " ".join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True)).rstrip()


def _heading(comparison: Comparison) -> Iterator[tuple[str, str]]:
    after = comparison.after
    if comparison.note is not None:
        yield "note", comparison.note
    yield "target", f"{after.target}{f' from {after.vantage}' if after.vantage else ''}"
    yield "before", _side(comparison.before)
    yield "after", _side(after)
    for mark in comparison.marks:
        by = f" by {mark.author}" if mark.author else ""
        yield "mark", f"{mark.at:%Y-%m-%d %H:%M} UTC {mark.text}{by}"
    if after.time_scale != 1:
        yield "time", f"of a lab, {1 / after.time_scale:g} times faster than the clock"


def _side(side: Side) -> str:
    if side.runs == (side.label,):
        return f"run {side.label}, {side.since:%Y-%m-%d %H:%M} UTC"
    many = f"{len(side.runs)} run{'' if len(side.runs) == 1 else 's'}"
    return f"{side.label}: {many}, {span_in_words(side.since, side.until)}"


def headline(comparison: Comparison) -> str:
    """The verdict and what makes it, in one line."""
    if not comparison.rows:
        return f"{comparison.verdict}: nothing could be compared"
    words = {
        Verdict.FAIL: "worse",
        Verdict.INCONCLUSIVE: "not told",
        Verdict.WARN: "to be looked at",
    }
    rows = comparison.rows
    counts = [(sum(row.verdict is verdict for row in rows), said) for verdict, said in words.items()]
    counts.append((sum(row.better for row in rows), "better"))
    counts.append((sum(row.verdict is Verdict.PASS and not row.better for row in rows), "as before"))
    return f"{comparison.verdict}: {', '.join(f'{n} {said}' for n, said in counts if n)}"


def _sorted(rows: Sequence[Row]) -> list[Row]:
    """The worst first; what is of one client stands together."""
    worst = {row.where: min(ORDER.index(r.verdict) for r in rows if r.where == row.where) for row in rows}
    order = {where: number for number, where in enumerate(worst)}
    return sorted(rows, key=lambda row: (worst[row.where], order[row.where], ORDER.index(row.verdict)))


def _folded(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows to show, and in words those that would only say that all is as before."""
    same = [row for row in rows if row.verdict is Verdict.PASS and row.why == "as before"]
    alike: dict[Row, list[str]] = {}
    for row in rows:
        if row not in same:
            alike.setdefault(replace(row, where=""), []).append(row.where)
    shown = [replace(row, where=_places(wheres)) for row, wheres in alike.items()]
    said = [
        f"{what} as before: {_places([row.where for row in same if row.what == what])}"
        for what in dict.fromkeys(row.what for row in same)
    ]
    return _sorted(shown), said


def _places(wheres: Sequence[str]) -> str:
    """`smoke/streaming · httpx, curl; smoke/completion · httpx`: what stands before the client once."""
    clients: dict[str, list[str]] = {}
    for where in wheres:
        case, dot, client = where.partition(" · ")
        clients.setdefault(case + dot, []).append(client)
    named = [f"{case}{', '.join(names)}" for case, names in clients.items()]
    rest = f"; and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f"{'; '.join(named[:_NAMED])}{rest}"


def _advice(comparison: Comparison) -> list[str]:
    """Each once, of what failed before what is not told."""
    told = sorted(comparison.findings, key=lambda one: ORDER.index(one.verdict))
    said = [f"{one.who_acts}: {one.advice}" if one.who_acts else one.advice for one in told if one.advice]
    return list(dict.fromkeys(said))


# --- a pull request ---------------------------------------------------------------------------------------


def markdown(comparison: Comparison, out: TextIO) -> None:
    """Whatever a stranger wrote does nothing."""
    head = [
        f"## {GLYPHS[comparison.verdict]} edgeprobe {inert(headline(comparison))}",
        "",
        *(f"- {label}: {inert(text)}" for label, text in _heading(comparison)),
        "",
        "| | what | where | before | after | |",
        "|---|---|---|---|---|---|",
    ]
    rows, same = _folded(comparison.rows)
    tail = ["", *(f"- {inert(said)}" for said in same)]
    tail += [f"- left out: {inert(about[:_CELL])}" for about in comparison.left_out[:_LEFT_OUT]]
    tail += [f"- {inert(advice[:_CELL])}" for advice in _advice(comparison)]
    room = LIMIT - sum(len(line) + 1 for line in (*head, *tail))
    lines: list[str] = []
    for number, row in enumerate(rows):
        cells = (f"{GLYPHS[row.verdict]} {row.verdict}", row.what, row.where, row.before, row.after, row.why)
        line = f"| {' | '.join(inert(cell[:_CELL]) for cell in cells)} |"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"| … | {len(rows) - number} more | | | | |")
            break
        lines.append(line)
    out.write("\n".join([*head, *lines, *tail]).rstrip() + "\n")


# --- for programs -----------------------------------------------------------------------------------------


def json_text(comparison: Comparison) -> str:
    """`edgeprobe.compare/1`."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "verdict": comparison.verdict,
        "note": comparison.note,
        "before": _as_document(comparison.before),
        "after": _as_document(comparison.after),
        "marks": [_as_document(mark) for mark in comparison.marks],
        "rows": [asdict(row) for row in comparison.rows],
        "findings": [finding_document(one) for one in comparison.findings],
        "left_out": list(comparison.left_out),
    }
    return f"{json.dumps(plain(document), ensure_ascii=True, allow_nan=False, indent=2)}\n"


def _as_document(noun: Side | Mark) -> dict[str, Any]:
    found = asdict(noun)
    return {
        name: time_of_day(value) if isinstance(value, datetime) else value for name, value in found.items()
    }
