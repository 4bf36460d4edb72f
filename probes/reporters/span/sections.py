"""What does a page tell of a target in tables: its cutoffs, the answers that are too long, and what was spent?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.reporters.figures import text
from probes.reporters.frame import heads
from probes.reporters.span.words import UNKNOWN, cliff, clock, cutoff, newest, over, spent, tokens, when
from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Spend
    from probes.span import Figures, Watched

_DAYS = 8
"""That are shown without being unfolded."""


def cutoff_section(one: Watched) -> Iterator[str]:
    """As each case last measured it."""
    yield "<h3>Cutoff</h3>"
    if not one.cutoffs:
        yield "<p>Not measured in this time; <code>edgeprobe run long</code> does.</p>"
        return
    for each in newest(one):
        where = f"{each.case}{f', route {each.route}' if each.route else ''}"
        yield f'<p>{cutoff(each)} <span class="soft">{text(where)}, {when(each.at)} UTC</span></p>'


def cliff_section(one: Watched) -> Iterator[str]:
    """Hour by hour the longest answer that is not cut, over each route of which that is known."""
    known = [(of, said) for of in one.figures if (said := cliff(one, of))]
    if known:
        yield "<h3>The longest answer that comes through without streaming</h3>"
    for of, said in known:
        yield f"<p>{text(said)}</p>"
        yield from _hours(one, of)


def _hours(one: Watched, of: Figures) -> Iterator[str]:
    top = max(hour.tokens or 0 for hour in of.hours) or 1
    yield "<details>"
    where = f", {route}" if (route := over(one, of.route)) else ""
    yield f"<summary>Hour by hour, over the last 7 days{text(where)}</summary>"
    yield '<table class="phases hours">'
    yield heads("hour (UTC)", '<span class="unseen">tokens, drawn</span>', "tokens", "TPOT p50", "n")
    yield "<tbody>"
    for hour in of.hours:
        if hour.tokens is None:
            said = "nothing measured" if not hour.tpot.n else "too few samples"
            yield f'<tr><th scope="row">{clock(hour.hour)}</th><td colspan="3">{said}</td><td>{hour.tpot.n:,}</td></tr>'
            continue
        bar = f'<rect class="spent" x="0" y="0" width="{max(100 * hour.tokens / top, 0.6):.2f}%" height="100%"/>'
        yield (
            f'<tr><th scope="row">{clock(hour.hour)}</th><td class="bar"><svg aria-hidden="true">{bar}</svg></td>'
            f"<td>{tokens(hour.tokens).removeprefix('about ')}</td><td>{duration(hour.tpot.p50 or 0.0)}</td><td>{hour.tpot.n:,}</td></tr>"
        )
    yield "</tbody>"
    yield "</table>"
    yield "</details>"


def spend_section(one: Watched) -> Iterator[str]:
    yield "<h3>Spend</h3>"
    yield f"<p>{spent(one.spent)}{_partly(one)}</p>"
    if not one.spends:
        return
    folded = len(one.spends) > _DAYS
    yield f"<details{'' if folded else ' open'}>"
    yield "<summary>By the day</summary>"
    yield '<table class="numbers">'
    yield heads("day (UTC)", "requests", "tokens in", "tokens out", "USD")
    yield "<tbody>"
    for day, spend in one.spends:
        yield f'<tr><th scope="row">{day:%Y-%m-%d}</th>{_row(spend)}</tr>'
    yield "</tbody>"
    yield "</table>"
    yield "</details>"


def _partly(one: Watched) -> str:
    """Where a sum is of what is known alone."""
    some = {spend.usd is None for _, spend in one.spends}
    return "; the dollars of some days are not known" if some == {True, False} else ""


def _row(spend: Spend) -> str:
    usd = UNKNOWN if spend.usd is None else f"{spend.usd:,.2f}"
    cells = (f"{spend.requests:,}", f"{spend.input_tokens:,}", f"{spend.output_tokens:,}", usd)
    return "".join(f"<td>{cell}</td>" for cell in cells)
