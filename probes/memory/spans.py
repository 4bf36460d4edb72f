"""What happened in a stretch of time, to whom, and what is wrong now?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain, pairwise
from statistics import median
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, and_, func, select, type_coerce
from sqlalchemy.engine import Connection

from probes.canary import AlertState
from probes.kinds.length.cliff import Speed
from probes.memory import rollups, schema, spending
from probes.memory.columns import EPOCH
from probes.memory.limits import cutoffs
from probes.memory.recording import FINISHED
from probes.memory.schema import calls, runs
from probes.memory.shares import shares
from probes.memory.troubles import troubles
from probes.model import Spend
from probes.span import Cell, Figures, Hour, Point, Ran, Share, Span, Strip, Watched, bound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probes.canary import Alert, Mark
    from probes.memory.rollups import Grain, Rollup
    from probes.span import Cutoff

_MOST, _LEAST = 96, 24
"""Intervals of a span: a phone has a few pixels for each."""
_STEPS = tuple(timedelta(minutes=n) for n in (1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440))
_WEEK, _DAY = timedelta(days=7), timedelta(days=1)
_SPENT = ("requests", "input_tokens", "output_tokens", "usd")
_ENOUGH, _MANY = 10, 100
"""Samples for a p90, and for a p99."""
Seen = tuple[str, str]
"""A target and a vantage, "" for none."""
Sources = Sequence[Connection]
"""A canary's database, and where others keep what they asked by hand."""


def step_of(length: timedelta, *usually: timedelta | None) -> timedelta:
    """The shortest of those that people count in, or so many days; no shorter than what lies between two runs, where
    that leaves enough of them.
    """
    apart = [1.5 * each for each in usually if each is not None]
    wanted = max(length / _MOST, min(max(apart, default=timedelta(0)), length / _LEAST))
    return next((step for step in _STEPS if step >= wanted), -(-wanted // _DAY) * _DAY)


def span(
    sources: Sources,
    since: datetime,
    until: datetime,
    target: str | None,
    alerts: Iterable[Alert],
    marks: Iterable[Mark],
) -> Span:
    """Of one target or of all that were asked since then; of memories that are younger, from their first run on."""
    firsts = [first for each in sources if (first := _first(each, target)) is not None]
    since = max(since, min(min(firsts, default=since), until - timedelta(hours=1)))
    ran = _ran(sources, since, until, target)
    step = step_of(until - since, *map(_usually, ran.values()))
    begin = EPOCH + (since - EPOCH) // step * step
    grain: Grain = "day" if step >= _DAY else "hour" if step >= timedelta(hours=1) else "minute"
    figures = _grouped(sources, grain, begin, until, target)
    lately = max(begin, until - _WEEK).replace(minute=0, second=0, microsecond=0)
    hourly = _grouped(sources, "hour", lately, until, target)
    shown = Span(begin, until, step)
    starts = shown.starts()
    watched = [
        _watched(sources, seen, ran.get(seen, []), figures[seen], hourly[seen], starts, step)
        for seen in sorted({*figures, *ran})
    ]
    mine = [alert for alert in alerts if target is None or alert.key.target == target]
    return replace(
        shown,
        watched=tuple(watched),
        alerts=tuple(alert for alert in mine if alert.state is AlertState.OPEN),
        ended=tuple(
            alert for alert in mine if alert.resolved is not None and begin <= alert.resolved < until
        ),
        marks=tuple(
            mark for mark in marks if begin <= mark.at and (target is None or mark.target in {None, target})
        ),
    )


def _first(connection: Connection, target: str | None) -> datetime | None:
    """When the first run of all began, also of those that were forgotten: to the day."""
    mine = {
        table: [table.c.target == target] if target is not None else [] for table in (runs, schema.rollups)
    }
    begun: datetime | None = connection.scalar(select(func.min(runs.c.at)).where(*mine[runs]))
    rolled: datetime | None = connection.scalar(
        select(func.min(schema.rollups.c.at)).where(*mine[schema.rollups])
    )
    if begun is None or rolled is None:
        return begun or rolled
    return begun if rolled >= EPOCH + (begun - EPOCH) // _DAY * _DAY else rolled


def _grouped(
    sources: Sources, grain: Grain, since: datetime, until: datetime, target: str | None
) -> defaultdict[Seen, list[Rollup]]:
    found: defaultdict[Seen, list[Rollup]] = defaultdict(list)
    for each in sources:
        for row in rollups.read(each, grain, since, until, target=target):
            found[row.target, row.vantage or ""].append(row)
    return found


def _ran(sources: Sources, since: datetime, until: datetime, target: str | None) -> dict[Seen, list[Ran]]:
    """In the order in which they began."""
    where = [
        runs.c.at >= since,
        runs.c.at < until,
        *([runs.c.target == target] if target is not None else []),
    ]
    found: dict[Seen, list[Ran]] = defaultdict(list)
    query = select(runs.c.target, runs.c.vantage, runs.c.id, runs.c.at, runs.c.entry).where(*where)
    for row in sorted(chain(*(each.execute(query) for each in sources)), key=lambda row: row.at):
        found[row.target, row.vantage].append(Ran(row.id, row.at, row.entry))
    return found


def _watched(
    sources: Sources,
    seen: Seen,
    ran: Sequence[Ran],
    figures: Sequence[Rollup],
    hourly: Sequence[Rollup],
    starts: Sequence[datetime],
    step: timedelta,
) -> Watched:
    since, until = starts[0], starts[-1] + step
    met = sorted(chain(*(cutoffs(each, *seen, since, until) for each in sources)), key=lambda one: one.at)
    wrong, cases = troubles(sources, *seen, since, until)
    cached = _shares(sources, seen, starts, step)
    known = {row.route for row in (*figures, *hourly)} | {one.route for one in wrong} | set(cached)
    routes = known | {one.route for one in met if one.route is not None}
    spends = _spends(sources, seen, since, until)
    return Watched(
        target=seen[0],
        vantage=seen[1] or None,
        strips=_strips(figures, starts, step),
        figures=tuple(
            _figures(route, figures, hourly, bound(met, route), cached.get(route, ()), starts, step)
            for route in sorted(routes or {None}, key=_last_unrecorded)
        ),
        cutoffs=tuple(met),
        spends=tuple(sorted(spends.items())),
        spent=spending.total(spends.values()),
        troubles=wrong,
        cases=cases,
        asked=ran[-1].at if ran else None,
        usually=_usually(ran),
        ran=tuple(ran),
    )


def _last_unrecorded(route: str | None) -> tuple[bool, str]:
    return route is None, route or ""


def _figures(
    route: str | None,
    every: Sequence[Rollup],
    hourly: Sequence[Rollup],
    limit: Cutoff | None,
    cached: tuple[Share, ...],
    starts: Sequence[datetime],
    step: timedelta,
) -> Figures:
    rows = [row for row in every if row.route == route]
    return Figures(
        route,
        ttft=_points(rows, "ttft", starts, step),
        tpot=_points(rows, "tpot", starts, step),
        hours=_hours([row for row in hourly if row.route == route], limit),
        shares=cached,
        answers=sum(row.good for row in rows),
    )


def _usually(ran: Sequence[Ran]) -> timedelta | None:
    """The longer half of what lies between two of a schedule: suites that are due together begin together."""
    scheduled = [one.at for one in ran if one.entry is not None]
    apart = sorted(after - before for before, after in pairwise(scheduled))
    longer = apart[len(apart) // 2 :]
    return timedelta(seconds=median(gap.total_seconds() for gap in longer)) if longer else None


def _shares(
    sources: Sources, seen: Seen, starts: Sequence[datetime], step: timedelta
) -> dict[str | None, tuple[Share, ...]]:
    known: defaultdict[str | None, list[tuple[Share, ...]]] = defaultdict(list)
    for each in sources:
        for route, found in shares(each, *seen, starts, step).items():
            known[route].append(found)
    return {
        route: tuple(sum(row, Share()) for row in zip(*found, strict=True)) for route, found in known.items()
    }


def _strips(rows: Sequence[Rollup], starts: Sequence[datetime], step: timedelta) -> tuple[Strip, ...]:
    found: dict[tuple[str, str | None], list[Cell]] = {}
    for row in rows:
        cells = found.setdefault((row.client, row.route), [Cell()] * len(starts))
        at = (row.at - starts[0]) // step
        cells[at] += Cell(row.n, row.good, row.limited)
    ordered = sorted(found, key=lambda whose: (whose[0], _last_unrecorded(whose[1])))
    return tuple(Strip(*whose, tuple(found[whose])) for whose in ordered)


def _points(
    rows: Iterable[Rollup], clock: str, starts: Sequence[datetime], step: timedelta
) -> tuple[Point, ...]:
    sums = [rollups.Histogram()] * len(starts)
    for row in rows:
        at = (row.at - starts[0]) // step
        sums[at] = sums[at] + getattr(row, clock)
    return tuple(map(_point, sums))


def _point(samples: rollups.Histogram) -> Point:
    n = samples.n
    return Point(
        n,
        samples.quantile(0.5) if n else None,
        samples.quantile(0.9) if n >= _ENOUGH else None,
        samples.quantile(0.99) if n >= _MANY else None,
    )


def _hours(hourly: Sequence[Rollup], limit: Cutoff | None) -> tuple[Hour, ...]:
    """What it is at each hour of the day, and which answer is then too long."""
    ttft: defaultdict[int, rollups.Histogram] = defaultdict(rollups.Histogram)
    tpot: defaultdict[int, rollups.Histogram] = defaultdict(rollups.Histogram)
    for row in hourly:
        ttft[row.at.hour] += row.ttft
        tpot[row.at.hour] += row.tpot
    hours = []
    for hour in range(24):
        first, each = _point(ttft[hour]), _point(tpot[hour])
        hours.append(Hour(hour, first, each, _longest(limit, first, each)))
    return tuple(hours) if any(hour.tpot.n for hour in hours) else ()


def _longest(limit: Cutoff | None, ttft: Point, tpot: Point) -> int | None:
    """Of the middle one of that hour's answers; the figures are up to a tenth too long, so this is rather too low."""
    if limit is None or limit.seconds is None or tpot.n < _ENOUGH:
        return None
    return Speed(ttft.p50, tpot.p50).longest(limit.low if limit.low is not None else limit.seconds)


def _spends(sources: Sources, seen: Seen, since: datetime, until: datetime) -> dict[datetime, Spend]:
    """By the day: of runs that ended as they were settled, of others by their calls."""
    days: defaultdict[datetime, list[Spend]] = defaultdict(list)
    mine = and_(runs.c.target == seen[0], runs.c.vantage == seen[1], runs.c.at >= since, runs.c.at < until)
    day = type_coerce(runs.c.at, BigInteger) // (_DAY // timedelta(microseconds=1))
    by_calls = calls.join(runs, calls.c.run == runs.c.id)
    for table, told, state in (
        (runs, runs, runs.c.state == FINISHED),
        (calls, by_calls, runs.c.state != FINISHED),
    ):
        sums = [func.sum(table.c[name]).label(name) for name in _SPENT]
        query = select(day.label("day"), *sums).select_from(told).where(mine, state).group_by(day)
        for row in chain(*(each.execute(query) for each in sources)):
            usd = None if row.usd is None else round(float(row.usd), 9)
            spend = Spend(int(row.requests), int(row.input_tokens), int(row.output_tokens), usd)
            days[EPOCH + int(row.day) * _DAY].append(spend)
    return {at: spending.total(spends) for at, spends in days.items()}
