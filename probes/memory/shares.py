"""Which share of the prompts came from the provider's cache?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, func, select, tuple_

from probes.memory.schema import calls
from probes.samples import cached_share
from probes.span import Share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy.engine import Connection

_MOST, _AT_ONCE = 500, 100
"""Answers of a route that are looked into: each is unpacked as a whole, in the process that also measures."""


def shares(
    connection: Connection, target: str, vantage: str, starts: Sequence[datetime], step: timedelta
) -> dict[str, tuple[Share, ...]]:
    """By route one for each interval, of good answers evenly chosen; without those of which no usage tells of a cache."""
    mine = and_(
        calls.c.target == target,
        calls.c.vantage == vantage,
        calls.c.good.is_(True),
        calls.c.at >= starts[0],
        calls.c.at < starts[-1] + step,
    )
    place = func.row_number().over(partition_by=calls.c.route, order_by=calls.c.at).label("place")
    of = func.count().over(partition_by=calls.c.route).label("of")
    ranked = select(calls.c.run, calls.c.seq, calls.c.at, calls.c.route, place, of).where(mine).subquery()
    every = (ranked.c.of + _MOST - 1) // _MOST
    chosen = {
        (row.run, row.seq): (row.route, (row.at - starts[0]) // step)
        for row in connection.execute(select(ranked).where(ranked.c.place % every == 0))
    }
    found: dict[str, list[Share]] = {}
    for (route, n), (cached, prompt) in _told(connection, chosen):
        row = found.setdefault(route, [Share()] * len(starts))
        row[n] += Share(1, cached, prompt)
    return {route: tuple(row) for route, row in found.items()}


def _told(
    connection: Connection, chosen: dict[tuple[str, int], tuple[str, int]]
) -> Iterator[tuple[tuple[str, int], tuple[int, int]]]:
    keys = list(chosen)
    for n in range(0, len(keys), _AT_ONCE):
        some = tuple_(calls.c.run, calls.c.seq).in_(keys[n : n + _AT_ONCE])
        for row in connection.execute(select(calls.c.run, calls.c.seq, calls.c.document).where(some)):
            answers = row.document["exchanges"]
            share = cached_share(answers[-1]["usage"] or {}) if answers else None
            if share is not None:
                yield chosen[row.run, row.seq], share
