"""What was bought of a target, also by runs that never ended?"""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, or_, select

from probes.memory.recording import FINISHED
from probes.memory.schema import calls, runs
from probes.model import Spend

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine import Connection

_LONGEST = timedelta(days=1)
"""That a run lasts."""


def spent(connection: Connection, target: str, since: datetime) -> Spend:
    """Of runs that began since then as they were settled; of those still running or cut off, and of the part since then
    of those that began before, by their calls. To a run that was cut off comes one request: it was in flight.
    """
    of_target = and_(runs.c.target == target, runs.c.at >= since - _LONGEST)
    settled = _sums(connection, runs, and_(of_target, runs.c.at >= since, runs.c.state == FINISHED))
    by_calls = _sums(
        connection,
        calls.join(runs, calls.c.run == runs.c.id),
        and_(of_target, calls.c.at >= since, or_(runs.c.state != FINISHED, runs.c.at < since)),
    )
    open_ones = select(func.count()).where(and_(of_target, runs.c.at >= since, runs.c.state != FINISHED))
    in_flight = Spend(connection.scalar(open_ones) or 0)
    return total([settled, by_calls, in_flight])


def of_run(connection: Connection, run: str) -> Spend:
    """By its calls."""
    return _sums(connection, calls, calls.c.run == run)


def total(spends: Iterable[Spend]) -> Spend:
    """`usd` is the sum of what is known."""
    sums: dict[str, Any] = {}
    for spend in spends:
        for field in fields(spend):
            value = getattr(spend, field.name)
            if value is not None:
                sums[field.name] = sums.get(field.name, 0) + value
    return Spend(**sums)


def _sums(connection: Connection, where_from: Any, where: ColumnElement[bool]) -> Spend:
    table: Table = runs if where_from is runs else calls
    names = ("requests", "input_tokens", "output_tokens", "usd")
    row = connection.execute(
        select(*(func.sum(table.c[name]) for name in names)).select_from(where_from).where(where)
    ).one()
    usd = None if row[3] is None else round(float(row[3]), 9)
    return Spend(int(row[0] or 0), int(row[1] or 0), int(row[2] or 0), usd)
