"""How long is what kept, and how much is there?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, func, or_, select

from probes.canary import AlertState, Mark
from probes.memory import nouns, schema
from probes.memory.recording import INTERRUPTED, RUNNING

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine import Connection

    from probes.canary import Pause
    from probes.memory.database import Database

RAW_DAYS, FAILED_DAYS = 30, 365
_AT_ONCE = 100
"""Runs deleted in one transaction: a writer waits no longer than that takes."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted. `whole`: all that was to be; else the database could not be written."""

    runs: int = 0
    turns: int = 0
    notices: int = 0
    alerts: int = 0
    marks: int = 0
    rollups: int = 0
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Stats:
    """`bytes` is `None` where the database is no file. `failed`: runs that are kept for longer. `paused`: what is not asked now."""

    database: str
    schema: str
    bytes: int | None
    runs: int
    failed: int
    running: int
    interrupted: int
    calls: int
    exchanges: int
    findings: int
    turns: int
    alerts_open: int
    alerts: int
    undelivered: int
    marks: int
    rollups: int
    oldest: datetime | None
    newest: datetime | None
    paused: tuple[Pause, ...] = ()


def prune(
    database: Database, now: datetime, raw_days: float = RAW_DAYS, failed_days: float = FAILED_DAYS
) -> Pruned:
    """Runs with all that belongs to them after `raw_days`, those with a failure after `failed_days`, as all of a baseline;
    figures by the minute after the former, by the hour after the latter, by the day never.
    """
    raw, failed = now - timedelta(days=raw_days), now - timedelta(days=max(failed_days, raw_days))
    runs, whole = _runs(database, raw, failed)
    counts: dict[str, int] = {}
    turns, rollups = schema.turns.c, schema.rollups.c
    notices, alerts, marks = schema.notices.c, schema.alerts.c, schema.marks.c
    old: dict[str, tuple[Table, ColumnElement[bool]]] = {
        "turns": (schema.turns, turns.due < raw),
        "notices": (schema.notices, and_(notices.delivered.is_not(None), notices.made < raw)),
        "alerts": (schema.alerts, and_(alerts.state == AlertState.RESOLVED, alerts.resolved < failed)),
        "marks": (schema.marks, marks.at < failed),
        "rollups": (
            schema.rollups,
            or_(
                and_(rollups.grain == "minute", rollups.at < raw),
                and_(rollups.grain == "hour", rollups.at < failed),
            ),
        ),
    }

    def clear(connection: Connection) -> None:
        for name, (table, where) in old.items():
            counts[name] = connection.execute(delete(table).where(where)).rowcount

    cleared = database.write(clear)
    if whole and cleared:
        database.tidy()
    return Pruned(runs=runs, **(counts if cleared else {}), whole=whole and cleared)


def _runs(database: Database, raw: datetime, failed: datetime) -> tuple[int, bool]:
    """How many were deleted, and whether all that were to be."""
    table = schema.runs
    old = and_(
        table.c.state != RUNNING,
        or_(and_(table.c.failed.is_(False), table.c.at < raw), table.c.at < failed),
    )
    with database.reading() as connection:
        marks = nouns.found(connection, Mark, schema.marks.c.at >= failed)
    if held := {name for mark in marks for name in mark.runs}:
        old = and_(old, table.c.id.not_in(held))
    deleted = 0
    while True:
        with database.reading() as connection:
            names = list(
                connection.scalars(select(table.c.id).where(old).order_by(table.c.at).limit(_AT_ONCE))
            )
        if not names:
            return deleted, True
        if not database.write(partial(_delete, names=names)):
            return deleted, False
        deleted += len(names)


def _delete(connection: Connection, names: list[str]) -> None:
    connection.execute(delete(schema.runs).where(schema.runs.c.id.in_(names)))


def newest(connection: Connection) -> datetime | None:
    """When the last call or turn ended."""
    ends = (connection.scalar(select(func.max(at))) for at in (schema.calls.c.at, schema.turns.c.ended))
    return max((at for at in ends if at is not None), default=None)


def stats(connection: Connection, database: Database, paused: tuple[Pause, ...]) -> Stats:
    def count(table: Table, *where: ColumnElement[bool]) -> int:
        return connection.scalar(select(func.count()).select_from(table).where(*where)) or 0

    runs, at = schema.runs, schema.runs.c.at
    oldest, newest = connection.execute(select(func.min(at), func.max(at))).one()
    rows: dict[str, Any] = {
        table.name: count(table)
        for table in (
            runs, schema.calls, schema.exchanges, schema.findings, schema.turns, schema.alerts, schema.marks,
            schema.rollups,
        )
    }  # fmt: skip
    return Stats(
        database=str(database.name),
        schema=schema.VERSION,
        bytes=_size(database),
        failed=count(runs, runs.c.failed.is_(True)),
        running=count(runs, runs.c.state == RUNNING),
        interrupted=count(runs, runs.c.state == INTERRUPTED),
        alerts_open=count(schema.alerts, schema.alerts.c.state == AlertState.OPEN),
        undelivered=count(schema.notices, schema.notices.c.delivered.is_(None)),
        oldest=oldest,
        newest=newest,
        paused=paused,
        **rows,
    )


def _size(database: Database) -> int | None:
    """With what is not yet merged into the file."""
    if database.file is None:
        return None
    parts = (database.file.with_name(database.file.name + end) for end in ("", "-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())
