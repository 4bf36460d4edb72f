"""A stretch of time as one page for a browser or a printer, which loads nothing and runs nothing but what draws its plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from probes.reporters.assets import scripts
from probes.reporters.figures import lines, text
from probes.reporters.frame import head, heads
from probes.reporters.span.chart import LINES, Chart, figure, numbers, percentiles
from probes.reporters.span.sections import cliff_section, cutoff_section, spend_section
from probes.reporters.span.strip import strips
from probes.reporters.span.words import (
    about,
    clients,
    count,
    ended,
    found,
    heading,
    headline,
    last_asked,
    lately,
    mark,
    name,
    over,
    ran,
    verdict_of,
    when,
)
from probes.reporters.words import GLYPHS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.model import Verdict
    from probes.span import Figures, Span, Watched

SCRIPT = "span.js"
_LISTED = 12
"""Marks, or alerts, that are shown without being unfolded."""
_COLOURS = (
    '<li><i class="mark">│</i>a marked change</li><li hidden><i class="ink"></i><i class="grid"></i></li>'
)
_DASHES = {"p50": "━", "p90": "╍", "p99": "┈"}


def report(span: Span, out: TextIO) -> None:
    charts: list[Chart] = []
    parts = [
        head(headline(span), plots=True, script=SCRIPT),
        _about(span),
        _now(span),
        _changes(span),
        *(_target(one, n, span, charts) for n, one in enumerate(span.watched, 1)),
        _reading(),
    ]
    out.writelines(f"{line}\n" for part in parts for line in part)
    out.writelines(f"{line}\n" for line in _drawing(charts, span))


def _about(span: Span) -> Iterator[str]:
    verdict = span.verdict
    yield f'<h1><span class="{verdict}">{GLYPHS[verdict]}</span> {text(headline(span))}</h1>'
    yield f'<p class="soft">{heading(span)}</p>'
    for one in span.watched:
        yield f'<p class="soft">{text(name(one))}: {last_asked(one, span.until)}; runs: {text(ran(one))}</p>'


# --- now -------------------------------------------------------------------------------------------------


def _now(span: Span) -> Iterator[str]:
    yield "<section>"
    yield "<h2>Now</h2>"
    for alert in span.alerts:
        verdict = verdict_of(alert)
        yield "<article>"
        yield f"<h3>{_verdict(verdict)} {text(alert.title or alert.key.code)}</h3>"
        yield f'<p class="soft">alert open · {text(about(alert))}</p>'
        if alert.text:
            yield f'<p class="told">{lines(alert.text)}</p>'
        yield "</article>"
    if not span.alerts:
        yield "<p>No alert is open.</p>"
    if any(one.troubles for one in span.watched):
        yield from _troubles(span)
    elif span.watched:
        yield f"<p>{count(sum(one.cases for one in span.watched), 'case')}, as last asked: nothing wrong.</p>"
    if span.ended:
        yield "<h3>Alerts that ended in this time</h3>"
        yield from _listed([ended(alert) for alert in span.ended], "ul", count(len(span.ended), "alert"))
    yield "</section>"


def _troubles(span: Span) -> Iterator[str]:
    yield "<p>Not as it should be, each as it was last asked:</p>"
    yield '<table class="findings">'
    yield heads("verdict", "case", "clients", "finding")
    yield "<tbody>"
    for one in span.watched:
        for trouble in one.troubles:
            case = _title(trouble.case, one, trouble.route)
            where = text(f"{one.target}: {case}" if len(span.watched) > 1 else case)
            said = f'{text(found(trouble))} <span class="soft">{when(trouble.at)} · edgeprobe report {text(trouble.run)}</span>'
            yield (
                f'<tr><td>{_verdict(trouble.verdict)}</td><td class="parts">{where}</td>'
                f'<td class="name">{text(clients(trouble.clients))}</td><td>{said}</td></tr>'
            )
    yield "</tbody>"
    yield "</table>"


def _verdict(verdict: Verdict) -> str:
    return f'<b class="{verdict}">{GLYPHS[verdict]} {verdict}</b>'


def _changes(span: Span) -> Iterator[str]:
    if not span.marks:
        return
    yield "<section>"
    yield "<h2>Marked changes</h2>"
    said = f"{count(len(span.marks), 'mark')}, numbered as on the plots"
    yield from _listed([f"{when(one.at)} UTC: {mark(one)}" for one in span.marks], "ol", said)
    yield "</section>"


def _listed(rows: Sequence[str], kind: str, said: str) -> Iterator[str]:
    """Folded where they are many."""
    if len(rows) > _LISTED:
        yield f"<details><summary>{said}</summary>"
    yield f'<{kind} class="marks">'
    yield from (f"<li>{text(row)}</li>" for row in rows)
    yield f"</{kind}>"
    if len(rows) > _LISTED:
        yield "</details>"


# --- one target ------------------------------------------------------------------------------------------


def _target(one: Watched, number: int, span: Span, charts: list[Chart]) -> Iterator[str]:
    place = f"t{number}"
    yield f'<section id="{place}">'
    yield f"<h2>{text(name(one))}</h2>"
    yield "<h3>Outcomes by client</h3>"
    if one.strips:
        yield from strips(span, one)
    else:
        yield "<p>Nobody asked as a customer does: nothing is known.</p>"
    yield "<h3>Speed</h3>"
    yield f'<ul class="key">{"".join(_of_line(kind, line) for kind, line in LINES)}{_COLOURS}</ul>'
    for chart in _speeds(one, span):
        yield from figure(chart, len(charts), place, span)
        charts.append(chart)
    yield from cutoff_section(one)
    for chart in _cutoffs(one):
        yield from figure(chart, len(charts), place, span)
        charts.append(chart)
    yield from cliff_section(one)
    yield "<h3>Share of the prompt from the cache</h3>"
    for of in one.figures:
        cache = _cache(one, of, span)
        yield from figure(cache, len(charts), place, span)
        charts.append(cache)
    yield from spend_section(one)
    yield "</section>"


def _of_line(kind: str, line: str) -> str:
    few = {"p50": "", "p90": ", of 10 samples or more", "p99": ", of 100 samples or more"}[line]
    return f'<li><i class="{kind}">{_DASHES[line]}</i>{line}{few}</li>'


def _speeds(one: Watched, span: Span) -> Iterator[Chart]:
    """One route below the other, clock by clock."""
    starts = span.starts()
    for of in one.figures:
        said = lately(of.ttft, starts, span.step)
        yield percentiles(_title("TTFT", one, of.route), said, "s", span, of.ttft)
    for of in one.figures:
        said = lately(of.tpot, starts, span.step, " a token")
        yield percentiles(_title("TPOT", one, of.route), said, "s/token", span, of.tpot)


def _title(what: str, one: Watched, route: str | None) -> str:
    """With the route where there are several."""
    return ", ".join(filter(None, (what, over(one, route))))


def _cutoffs(one: Watched) -> Iterator[Chart]:
    """Where there is more than one to draw."""
    for route in dict.fromkeys(each.route for each in one.cutoffs):
        mine = [each for each in one.cutoffs if each.route == route]
        if sum(each.seconds is not None for each in mine) > 1:
            yield Chart(
                _title("Cutoff over time", one, route),
                "at which age an answer was cut, by each measurement",
                "s",
                tuple(each.at for each in mine),
                (("cutoff", tuple(each.seconds for each in mine)),),
                tuple(each.n for each in mine),
                whole=False,
            )


def _cache(one: Watched, of: Figures, span: Span) -> Chart:
    shares = of.shares
    values = tuple(100 * each.cached / each.prompt if each.prompt else None for each in shares)
    n, prompt = sum(each.n for each in shares), sum(each.prompt for each in shares)
    said = "not known: no usage tells of a cache"
    if prompt:
        cached = sum(each.cached for each in shares)
        some = f"{n:,} of {of.answers:,} answers, evenly chosen" if n < of.answers else count(n, "answer")
        said = f"{100 * cached / prompt:.0f} % of {prompt:,} prompt tokens, by the usage of {some}"
    starts, title = tuple(span.starts()) if shares else (), _title("Cache", one, of.route)
    return Chart(title, said, "%", starts, (("share", values),), tuple(each.n for each in shares))


# --- the end ---------------------------------------------------------------------------------------------

_TERMS = (
    ("TTFT", "Time to the first token, of good answers: until then a user looks at nothing. Over all suites and clients of the target, each route apart, and only of short prompts on new connections: what is asked of the cache, or by the length of the prompt, is in no figure over time."),
    ("TPOT", "Time per output token after the first, by the tokens that the usage counts; under the same conditions as TTFT."),
    ("good", "Of the requests that a customer could have made. What fails is asked again at once, so an outage weighs more here than in time."),
    ("percentile", "From a histogram whose steps are a tenth apart: a figure is at most a tenth too high, never too low."),
    ("nothing measured", "No request that a customer could have made was sent, or none in that interval. That is no good sign and no bad one."),
    ("held back", "The server limited the rate of the probe's own key. Customers have their own."),
    ("marked change", "By <code>edgeprobe mark</code> or an audit log. No mark is no proof that nothing was changed."),
)  # fmt: skip


def _reading() -> Iterator[str]:
    yield '<section id="reading">'
    yield "<h2>How to read this page</h2>"
    yield "<dl>"
    for term, said in _TERMS:
        yield f"<dt>{term}</dt><dd>{said}</dd>"
    yield "</dl>"
    yield "</section>"
    yield "</main>"


def _drawing(charts: Sequence[Chart], span: Span) -> Iterator[str]:
    """The numbers of each plot, and what draws them."""
    yield f'<script type="application/json" id="charts">{numbers(charts, span)}</script>'
    for script in scripts(SCRIPT):
        yield f"<script>{script}</script>"
    yield "</body>"
    yield "</html>"
