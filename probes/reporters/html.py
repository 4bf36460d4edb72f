"""A run as one page for a browser or a printer, which loads nothing and runs nothing but what draws its plots."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

from probes.model import Verdict
from probes.reporters.assets import scripts
from probes.reporters.axes import plots, tracks
from probes.reporters.calls import MARKS, by_case, call_section
from probes.reporters.columns import columns
from probes.reporters.curve import curve, plot
from probes.reporters.figures import group, lines, plotted, text
from probes.reporters.frame import head
from probes.reporters.judged import as_judged
from probes.reporters.measures import HEADS, measures
from probes.reporters.tracks import Track, by_id
from probes.reporters.words import (
    AXIS,
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
    from collections.abc import Iterator, Mapping, Sequence

    from probes.model import Finding, Run
    from probes.reporters.tracks import Seen

SCRIPT = "script.js"
_WIDTH = 100
_LINKS = 8


@dataclass(frozen=True, slots=True)
class _Pictured:
    """What stands elsewhere on the page: of each exchange's id the number of its call, and that of its columns."""

    seen: Mapping[str, Seen]
    calls: Mapping[str, int]
    columns: Mapping[str, int]


def report(run: Run, out: TextIO, month: Sequence[tuple[str, str, str]] = ()) -> None:
    """`month`: what one costs, in rows of what, US dollars or nothing, and words; empty where that is not known."""
    run = replace(run, calls=as_judged(run))
    findings = told_once(run.findings)
    seen = by_id(run)
    shown = [call for calls in by_case(run).values() for call in calls]
    wanted = {name for finding in findings for name in finding.evidence}
    calls = {e.id: number for number, call in enumerate(shown, 1) for e in call.exchanges}
    drawn = [name for name in seen if (name in calls or name in wanted) and plotted(seen[name].exchange)]
    drawn += [track.exchange.id for f in findings for track in tracks(f, seen)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(drawn))}
    elsewhere = _Pictured(seen, calls, numbers)
    parts = [
        head(headline(run), plots=bool(numbers), script=SCRIPT),
        _about(run),
        _table(run, findings),
        *(_article(finding, number, elsewhere) for number, finding in enumerate(findings, 1)),
        _month(month),
        call_section(run, numbers),
        _origin(run),
        ("</main>",),
        _drawing(elsewhere),
        ("</body>", "</html>"),
    ]
    out.writelines(f"{line}\n" for part in parts for line in part)


def _about(run: Run) -> Iterator[str]:
    yield f'<h1><span class="{run.verdict}">{GLYPHS[run.verdict]}</span> {text(headline(run))}</h1>'
    for line in (summary(run), *heading(run)):
        yield f'<p class="soft">{text(line)}</p>'


def _table(run: Run, findings: Sequence[Finding]) -> Iterator[str]:
    yield '<table class="findings">'
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("verdict", "case", "client", "finding"))
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for number, finding in enumerate(findings, 1):
        title = f'<a href="#f{number}">{text(finding.title)}</a>'
        yield f"<tr><td>{_verdict(finding)}</td>{_where(finding.case, finding.client)}<td>{title}</td></tr>"
    for case, client, reason in skips(run.skipped):
        where = _where(case, client)
        yield f'<tr><td><b class="skipped">○ skipped</b></td>{where}<td>{text(reason)}</td></tr>'
    yield "</tbody>"
    yield "</table>"


def _month(month: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    if not month:
        return
    yield '<section id="month">'
    yield "<h2>What a month costs</h2>"
    for what, _, said in (row for row in month if not row[1]):
        yield f'<p class="soft">{text(what)} · {text(said)}</p>'
    yield '<table class="month">'
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("", "a month", "of"))
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for what, amount, said in (row for row in month if row[1]):
        yield f'<tr class="{text(what)}"><td>{text(what)}</td><td class="number">{text(amount)}</td><td>{text(said)}</td></tr>'
    yield "</tbody>"
    yield "</table>"
    yield '<p class="soft">Each saving is alone, against the total.</p>'
    yield "</section>"


def _where(case: str, client: str | None) -> str:
    """Names long enough for a table of their own width, which their columns are not given."""
    return f'<td class="parts">{text(case)}</td><td class="name">{text(client or "")}</td>'


def _verdict(finding: Finding) -> str:
    accepted = " (accepted)" if finding.accepted else ""
    return f'<b class="{finding.verdict}">{GLYPHS[finding.verdict]} {finding.verdict}{accepted}</b>'


def _article(finding: Finding, number: int, elsewhere: _Pictured) -> Iterator[str]:
    places = (finding.case, finding.client or "", f"route {finding.route}" if finding.route else "")
    yield f'<article id="f{number}">'
    yield f"<h2>{_verdict(finding)} {text(finding.title)}</h2>"
    yield f'<p class="soft">{text(tagged(finding))} · {text(" · ".join(filter(None, places)))}</p>'
    shown = tracks(finding, elsewhere.seen) if finding.verdict is not Verdict.PASS else []
    drawn = plots(finding, shown)
    yield from group(drawn, elsewhere.columns, f"f{number}-plots")
    if (found := curve(finding)) is not None:
        yield from plot(found)
    yield from _below(drawn, shown, reading=bool(elsewhere.calls and elsewhere.columns))
    yield "<dl>"
    for label, said in rows(finding):
        form = "<pre>{}</pre>" if label == AXIS else "{}"
        yield f"<dt>{text(label)}</dt><dd>{form.format(lines(said))}</dd>"
    for label, command, note in commands(finding):
        folds = "\n".join(text(line) for line in folded(command, _WIDTH))
        pre = f"<pre>{folds}</pre>" if command else ""
        yield f"<dt>{label}</dt><dd>{pre}{f'({text(note)})' if note else ''}</dd>"
    yield from _links(finding, elsewhere)
    yield "</dl>"
    yield from _measures(finding)
    yield "</article>"


def _measures(finding: Finding) -> Iterator[str]:
    """All that it measured, each under its conditions."""
    if not finding.figures:
        return
    yield '<details class="figures"><summary>Figures and the conditions under which they were taken</summary>'
    yield '<table class="measures">'
    heads = "".join(f'<th scope="col">{head}</th>' for head in HEADS)
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for measure in measures(finding):
        yield f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in measure)}</tr>"
    yield "</tbody>"
    yield "</table></details>"


def _below(drawn: Sequence[Track], shown: Sequence[Track], *, reading: bool) -> Iterator[str]:
    """What the marks mean, and which streams are not drawn here."""
    if not drawn:
        return
    if reading:
        marks = " · ".join(f'<span class="{name}">{mark}</span> {said}' for name, mark, said in MARKS)
        yield f'<p class="soft">{marks} · <a href="#reading">How to read a plot</a></p>'
    if rest := [track for track in shown if track not in drawn]:
        said = "; ".join(f"{track.label}: {track.outcome}" for track in rest)
        yield f'<p class="soft">Drawn with the calls: {text(said)}</p>'


def _links(finding: Finding, elsewhere: _Pictured) -> Iterator[str]:
    """To the calls that it was read from."""
    named = dict.fromkeys(elsewhere.calls[name] for name in finding.evidence if name in elsewhere.calls)
    if not named:
        return
    links = ", ".join(f'<a href="#c{number}">call {number}</a>' for number in list(named)[:_LINKS])
    more = f" and {len(named) - _LINKS} more" if len(named) > _LINKS else ""
    yield f"<dt>calls</dt><dd>{links}{more}</dd>"


def _origin(run: Run) -> Iterator[str]:
    """What the page was made of."""
    yield f'<p class="soft">run {text(run.id)} · {run.started:%Y-%m-%d %H:%M:%S} UTC · seed {run.seed}</p>'
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    yield f'<p class="soft">{text(versions)}</p>'


def _drawing(elsewhere: _Pictured) -> Iterator[str]:
    """The numbers of each plot, and what draws them."""
    if not elsewhere.columns:
        return
    numbers = [columns(Track("", 0.0, elsewhere.seen[name].exchange)) for name in elsewhere.columns]
    yield f'<script type="application/json" id="columns">{json.dumps(numbers, separators=(",", ":"))}</script>'
    for script in scripts(SCRIPT):
        yield f"<script>{script}</script>"
