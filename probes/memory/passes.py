"""When did a client last pass, asking as customers do or at the door alone?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from probes.memory import schema

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy.engine import Connection


def passes(
    connection: Connection,
    target: str,
    vantage: str | None,
    clients: Iterable[str],
    before: datetime,
    *,
    asks: bool,
) -> dict[str, datetime]:
    """By `asks` as of a call: one sort of question says nothing of the other."""
    found = {}
    for client in clients:
        times = [_raw(connection, target, vantage or "", client, before, asks=asks)]
        if asks:
            times.append(_rolled(connection, target, vantage or "", client, before))
        if known := [at for at in times if at is not None]:
            found[client] = max(known)
    return found


def _raw(
    connection: Connection, target: str, vantage: str, client: str, before: datetime, *, asks: bool
) -> datetime | None:
    calls = schema.calls.c
    there = (calls.target == target, calls.client == client, calls.vantage == vantage)
    good = (calls.good.is_(True), calls.asks.is_(asks), calls.at < before)
    # The newest of its index, and no maximum, which looks at each.
    newest = select(calls.at).where(*there, *good).order_by(calls.at.desc()).limit(1)
    at: datetime | None = connection.scalar(newest)
    return at


def _rolled(
    connection: Connection, target: str, vantage: str, client: str, before: datetime
) -> datetime | None:
    """Longer ago than calls are kept."""
    rolled = schema.rollups.c
    there = (rolled.target == target, rolled.client == client, rolled.vantage == vantage)
    days = (rolled.grain == "day", rolled.passed < before)
    at: datetime | None = connection.scalar(select(func.max(rolled.passed)).where(*there, *days))
    return at
