"""Which share of the prompts came from the provider's cache?"""

from __future__ import annotations

from collections import defaultdict
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
"""Answers that are looked into: each is unpacked as a whole, in the process that also measures."""


def shares(
    connection: Connection, target: str, vantage: str, starts: Sequence[datetime], step: timedelta
) -> tuple[Share, ...]:
    """One for each interval, of good answers evenly chosen; none of them where no usage tells of a cache."""
    mine = and_(
        calls.c.target == target,
        calls.c.vantage == vantage,
        calls.c.good.is_(True),
        calls.c.at >= starts[0],
        calls.c.at < starts[-1] + step,
    )
    every = -(-(connection.scalar(select(func.count()).where(mine)) or 1) // _MOST)
    place = func.row_number().over(order_by=calls.c.at).label("place")
    ranked = select(calls.c.run, calls.c.seq, calls.c.at, place).where(mine).subquery()
    keys = connection.execute(select(ranked).where(ranked.c.place % every == 0))
    chosen = {(row.run, row.seq): row.at for row in keys}
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for at, share in _told(connection, chosen):
        found[(at - starts[0]) // step].append(share)
    if not found:
        return ()
    return tuple(
        Share(len(of), sum(cached for cached, _ in of), sum(prompt for _, prompt in of))
        for of in (found[n] for n in range(len(starts)))
    )


def _told(
    connection: Connection, chosen: dict[tuple[str, int], datetime]
) -> Iterator[tuple[datetime, tuple[int, int]]]:
    keys = list(chosen)
    for n in range(0, len(keys), _AT_ONCE):
        some = tuple_(calls.c.run, calls.c.seq).in_(keys[n : n + _AT_ONCE])
        for row in connection.execute(select(calls.c.run, calls.c.seq, calls.c.document).where(some)):
            answers = row.document["exchanges"]
            share = cached_share(answers[-1]["usage"] or {}) if answers else None
            if share is not None:
                yield chosen[row.run, row.seq], share
