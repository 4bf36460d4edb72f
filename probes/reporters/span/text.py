"""A stretch of time in a few lines, for a terminal and for Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from probes.reporters.console import Page
from probes.reporters.markdown import inert
from probes.reporters.span.words import (
    UNKNOWN,
    about,
    clients,
    cliff,
    count,
    cutoff,
    ended,
    found,
    good_share,
    heading,
    headline,
    last_asked,
    lately,
    mark,
    name,
    newest,
    outcome,
    over,
    ran,
    spent,
    verdict_of,
    when,
    whose,
    worst_first,
)
from probes.reporters.words import GLYPHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from probes.span import Figures, Span, Watched

_MARKS, _TROUBLES = 20, 20
"""The newest, and the worst of each target."""


def report(span: Span, out: TextIO) -> None:
    """For people, worst first."""
    page = Page(out)
    page.line(heading(span), style="dim")
    for label, said in _now(span):
        page.row(label, said)
    for one in span.watched:
        page.blank()
        page.line(name(one), style="bold")
        for label, said in _rows(one, span):
            page.row(label, said)
    if span.marks:
        page.blank()
        page.line("marked changes", style="bold")
        for change in span.marks[-_MARKS:]:
            page.row("", f"{when(change.at)} UTC  {mark(change)}")
    page.blank()
    page.line(headline(span), style="bold")


def markdown(span: Span, out: TextIO) -> None:
    lines = [f"## {GLYPHS[span.verdict]} edgeprobe {inert(headline(span))}", "", heading(span), ""]
    lines += [f"- **{label}** {inert(said)}" for label, said in _now(span)]
    for one in span.watched:
        lines += ["", f"### {inert(name(one))}", "", "| client | good | in numbers |", "|---|---|---|"]
        lines += [
            f"| {inert(whose(one, strip))} | {good_share(strip.whole)} | {outcome(strip.whole)} |"
            for strip in worst_first(one)
        ]
        lines += [
            "",
            *(f"- **{label}** {inert(said)}" for label, said in _rows(one, span) if label != "clients"),
        ]
    if span.marks:
        lines += ["", "### Marked changes", ""]
        lines += [f"- {when(change.at)} UTC {inert(mark(change))}" for change in span.marks[-_MARKS:]]
    out.writelines(f"{line}\n" for line in lines)


def _now(span: Span) -> Iterator[tuple[str, str]]:
    for alert in span.alerts:
        yield "alert", f"{verdict_of(alert)}: {alert.title or alert.key.code} ({about(alert)})"
    for alert in span.ended[-_TROUBLES:]:
        yield "ended", ended(alert)
    for one in span.watched:
        for trouble in one.troubles[:_TROUBLES]:
            named = any(client in trouble.title for client in trouble.clients)
            who = "" if named or not trouble.clients else f"{clients(trouble.clients)}: "
            yield (
                str(trouble.verdict),
                f"{one.target}{_over(one, trouble.route)}: {who}{found(trouble)}; edgeprobe report {trouble.run}",
            )
        if (rest := len(one.troubles) - _TROUBLES) > 0:
            yield "more", f"{one.target}: {count(rest, 'trouble')}; --html FILE shows all"


def _rows(one: Watched, span: Span) -> Iterator[tuple[str, str]]:
    starts = span.starts()
    yield "asked", last_asked(one, span.until)
    yield "runs", ran(one)
    if one.strips:
        yield (
            "clients",
            "\n".join(
                f"{whose(one, strip)}: {good_share(strip.whole)} ({outcome(strip.whole)})"
                for strip in worst_first(one)
            ),
        )
    yield from _each("TTFT", one, lambda of: lately(of.ttft, starts, span.step))
    yield from _each("TPOT", one, lambda of: lately(of.tpot, starts, span.step, " a token"))
    if any(point.n for of in one.figures for point in of.ttft):
        yield "under", "short prompts, new connections, as many at once as each suite asks"
    for each in newest(one):
        yield "cutoff", f"{cutoff(each)}{_over(one, each.route)}, {when(each.at)} UTC"
    for of in one.figures:
        if said := cliff(one, of):
            yield "cliff", said
    if any(each.prompt for of in one.figures for each in of.shares):
        yield from _each("cached", one, _cached)
    yield "spent", spent(one.spent)


def _each(label: str, one: Watched, say: Callable[[Figures], str]) -> Iterator[tuple[str, str]]:
    """A row for each route."""
    for of in one.figures:
        yield label, ": ".join(filter(None, (over(one, of.route), say(of))))


def _over(one: Watched, route: str | None) -> str:
    return f", {where}" if (where := over(one, route)) else ""


def _cached(of: Figures) -> str:
    prompt = sum(each.prompt for each in of.shares)
    cached, n = sum(each.cached for each in of.shares), sum(each.n for each in of.shares)
    return f"{100 * cached / prompt:.0f} % of the prompt (n {n:,})" if prompt else UNKNOWN
