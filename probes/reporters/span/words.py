"""What is said of a stretch of time, in whatever format?"""

from __future__ import annotations

import math
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from probes.canary import About, Severity
from probes.model import Verdict
from probes.reporters.words import duration
from probes.span import bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from probes.canary import Alert, Mark
    from probes.model import Spend
    from probes.span import Cell, Cutoff, Figures, Point, Span, Strip, Trouble, Watched

_NAMED = 4
UNKNOWN = "not known"


def headline(span: Span) -> str:
    """The verdict and what makes it, in one line."""
    first, *more = [*_decisive(span), ""]
    if not first:
        cases = sum(one.cases for one in span.watched)
        asked = max((one.asked for one in span.watched if one.asked), default=None)
        last = f", last asked {when(asked)}" if asked else ""
        return f"{span.verdict}: {count(cases, 'case')}, nothing wrong{last}"
    rest = len(more) - 1
    return f"{span.verdict}: {first}{f', and {rest} more' if rest > 0 else ''}"


def _decisive(span: Span) -> Iterator[str]:
    """What the verdict is for; what an alert is open for is told once."""
    alerted = {(alert.key.target, alert.key.code) for alert in span.alerts}
    for alert in sorted(span.alerts, key=lambda one: one.severity is not Severity.FAIL):
        if verdict_of(alert) is span.verdict:
            yield alert.title or alert.key.code
    for one in span.watched:
        for trouble in one.troubles:
            if trouble.verdict is span.verdict and (one.target, trouble.code) not in alerted:
                yield trouble.title or trouble.code
    if span.verdict is Verdict.INCONCLUSIVE:
        yield from _unknown(span)


def _unknown(span: Span) -> Iterator[str]:
    if not span.watched:
        yield "nothing was measured"
    for one in span.watched:
        if one.silent(span.until):
            yield f"{one.target} is not asked any more"
        elif not one.cases:
            yield f"nothing is known of {one.target}"


def verdict_of(alert: Alert) -> Verdict:
    if alert.key.about is not About.SERVICE:
        return Verdict.INCONCLUSIVE
    return Verdict.FAIL if alert.severity is Severity.FAIL else Verdict.WARN


def heading(span: Span) -> str:
    return f"{when(span.since)} to {when(span.until)} UTC, in steps of {length(span.step)}"


def about(alert: Alert) -> str:
    made = " ".join(part for part in (alert.key.product, alert.vendor_code) if part)
    parts = (alert.key.target, alert.key.code, str(alert.key.layer), made, f"since {when(alert.since)} UTC")
    return " · ".join(filter(None, parts))


def found(trouble: Trouble) -> str:
    """By the finding's title, or its code where it has none."""
    made = " ".join(part for part in (trouble.product, trouble.vendor_code) if part)
    tags = " · ".join(filter(None, (trouble.code, str(trouble.layer), made)))
    return f"{trouble.title} ({tags})" if trouble.title else tags


def name(one: Watched) -> str:
    return f"{one.target}, seen from {one.vantage}" if one.vantage else one.target


def over(one: Watched, route: str | None) -> str:
    """What is of one route of several; nothing of the only one."""
    if len(one.figures) == 1:
        return ""
    return f"route {route}" if route is not None else "route not recorded"


def whose(one: Watched, strip: Strip) -> str:
    return ", ".join(filter(None, (strip.client, over(one, strip.route))))


def worst_first(one: Watched) -> list[Strip]:
    return sorted(one.strips, key=lambda strip: (-strip.whole.failing, strip.client))


def newest(one: Watched) -> list[Cutoff]:
    """As each case last measured it over each route."""
    return list({(each.case, each.route): each for each in one.cutoffs}.values())


def last_asked(one: Watched, until: datetime) -> str:
    """And whether that is longer ago than it should be."""
    if one.asked is None:
        return "no run began in this time: nothing is known"
    usual = f", usually every {length(one.usually)}" if one.usually else ""
    silent = "; not asked any more: how it is now is not known" if one.silent(until) else ""
    return f"last asked {when(one.asked)} UTC{usual}{silent}"


def ran(one: Watched) -> str:
    """Who asked: the canary's entries, and by their ids the newest of the runs that none of them made."""
    entries = Counter(each.entry for each in one.ran if each.entry is not None)
    by_hand = [each.run for each in reversed(one.ran) if each.entry is None]
    parts = []
    if entries:
        each = ", ".join(f"{name} {n:,}" for name, n in entries.most_common())
        parts.append(f"{entries.total():,} by the canary ({each})")
    if by_hand:
        more = f" and {len(by_hand) - _NAMED:,} more" if len(by_hand) > _NAMED else ""
        parts.append(f"{len(by_hand):,} by hand ({', '.join(by_hand[:_NAMED])}{more})")
    return "; ".join(parts) or "none"


def outcome(cell: Cell, *, every: bool = False) -> str:
    """`every`: those that are none, too."""
    if not cell.n:
        return "nothing measured"
    parts = ((cell.good, "good"), (cell.failed, "failed"), (cell.limited, "held back on our own key"))
    return ", ".join(f"{n:,} {what}" for n, what in parts if n or every)


def good_share(cell: Cell) -> str:
    """Of those that were not held back; never rounded up to all of them."""
    counted = cell.n - cell.limited
    if counted <= 0:
        return UNKNOWN
    share = 100 * cell.good / counted
    return f"{math.floor(10 * share) / 10:g} % good"


def percentiles(point: Point, per: str = "") -> str:
    """With what there are too few samples for left out, and n always said."""
    known = [
        f"{label} {duration(value)}{per}"
        for label, value in (("p50", point.p50), ("p90", point.p90), ("p99", point.p99))
        if value is not None
    ]
    return f"{', '.join(known)} (n {point.n:,})" if known else "not measured"


def lately(points: Sequence[Point], starts: Sequence[datetime], step: timedelta, per: str = "") -> str:
    """The newest interval that has any, and between what the middle ones lay."""
    newest = next((n for n in range(len(points) - 1, -1, -1) if points[n].n), None)
    if newest is None:
        return "not measured"
    middles = [point.p50 for point in points if point.p50 is not None]
    least, most = duration(min(middles)), duration(max(middles))
    between = f"; p50 between {least} and {most}" if least != most else ""
    return f"{percentiles(points[newest], per)} at {interval(starts[newest], step)}{between}"


def cutoff(one: Cutoff) -> str:
    """As it was measured."""
    if one.seconds is None:
        return f"not cut, as far as was held: {duration(one.held)}" if one.held else "not there any more"
    off = f" ± {(one.high - one.low) / 2:.1f}" if one.high is not None and one.low is not None else ""
    kind = "an answer that is not streamed" if one.plain else "a stream"
    return f"{kind} is cut after {one.seconds:.1f}{off} s (n {one.n})"


def cliff(one: Watched, of: Figures) -> str | None:
    """From how many tokens on an answer is lost at the worst hour; only where both speed and limit were measured."""
    hour, limit = of.slowest(), bound(one.cutoffs, of.route)
    if hour is None or hour.tokens is None or limit is None or limit.seconds is None:
        return None
    where = f" over {route}" if (route := over(one, of.route)) else ""
    return (
        f"At the slowest hour of the last 7 days, {clock(hour.hour)} UTC, a non-streaming answer above "
        f"{tokens(hour.tokens)} tokens is cut{where}: {duration(hour.tpot.p50 or 0.0)} a token (p50, n {hour.tpot.n:,}), and the limit "
        f"is {limit.seconds:.1f} s ({limit.case}, measured {when(limit.at)} UTC)."
    )


def tokens(n: int) -> str:
    """Two figures: the speeds are known to a tenth."""
    unit = 10 ** max(len(str(n)) - 2, 0)
    return f"about {n // unit * unit:,}"


def ended(alert: Alert) -> str:
    """From when to when, and what it was."""
    until = f"{alert.resolved:%Y-%m-%d %H:%M}" if alert.resolved else "now"
    return f"{when(alert.since)} to {until} UTC: {alert.title or alert.key.code} ({alert.key.target})"


def spent(spend: Spend) -> str:
    usd = "dollars not known" if spend.usd is None else f"{spend.usd:,.2f} USD"
    bought = spend.input_tokens + spend.output_tokens
    return f"{count(spend.requests, 'request')}, {bought:,} tokens, {usd}"


def mark(one: Mark) -> str:
    """What was changed, by whom, as whose words."""
    parts = (one.author, one.source if one.source != "edgeprobe mark" else None, one.product, one.setting)
    by = ", ".join(dict.fromkeys(filter(None, parts)))
    return f"{one.text}{f' ({by})' if by else ''}"


def clients(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def interval(at: datetime, step: timedelta) -> str:
    """In UTC, as all times here."""
    end = at + step
    if step >= timedelta(days=1):
        return f"{at:%b %d}"
    return f"{at:%b %d %H:%M}-{end:%H:%M}"


def clock(hour: int) -> str:
    return f"{hour:02}:00-{(hour + 1) % 24:02}:00"


def length(step: timedelta) -> str:
    seconds = step.total_seconds()
    for unit, long in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= long:
            return f"{_short(seconds / long)} {unit}"
    return f"{_short(seconds)} s"


def _short(n: float) -> str:
    return f"{n:.0f}" if n >= 10 else f"{n:.2g}"


def count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
