"""How are turns, alerts, notices, marks and pauses kept?

Each as it is last told: one with the same key takes the place of the one before.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import and_, delete, insert, select

from probes.canary import Alert, Mark, Notice, Pause, Turn
from probes.document import plain
from probes.memory import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine import Connection

Noun = Turn | Alert | Notice | Mark | Pause
N = TypeVar("N", Turn, Alert, Notice, Mark, Pause)
Key = tuple[type[Noun], object, object]


def utc_now() -> datetime:
    return datetime.now(UTC)


def key(noun: Noun) -> Key:
    """What says that it is the same one, told anew."""
    if isinstance(noun, Turn):
        return Turn, noun.entry, noun.due
    if isinstance(noun, Mark):
        return Mark, noun.at, f"{noun.source}\n{noun.text}"
    if isinstance(noun, Pause):
        return Pause, noun.target, None
    return type(noun), noun.id, None


def keep(connection: Connection, every: Iterable[Noun]) -> None:
    for noun in every:
        table, columns = _row(noun)
        connection.execute(delete(table).where(_same(table, columns)))
        connection.execute(insert(table).values(**columns, document=plain(asdict(noun))))


def drop(connection: Connection, noun: Noun) -> None:
    table, columns = _row(noun)
    connection.execute(delete(table).where(_same(table, columns)))


def _same(table: Table, columns: Mapping[str, Any]) -> ColumnElement[bool]:
    return and_(*(column == columns[column.name] for column in table.primary_key.columns))


def found(
    connection: Connection, kind: type[N], *where: ColumnElement[bool], limit: int | None = None
) -> list[N]:
    """In the order of time, of turns the newest first."""
    table, order = _TABLES[kind]
    rows = connection.scalars(select(table.c.document).where(*where).order_by(*order(table)).limit(limit))
    return [_ADAPTERS[kind].validate_python(row) for row in rows]


_TABLES: dict[type[Noun], tuple[Table, Callable[[Table], list[Any]]]] = {
    Turn: (schema.turns, lambda t: [t.c.due.desc()]),
    Alert: (schema.alerts, lambda t: [t.c.opened, t.c.id]),
    Notice: (schema.notices, lambda t: [t.c.made, t.c.id]),
    Mark: (schema.marks, lambda t: [t.c.at, t.c.id]),
    Pause: (schema.pauses, lambda t: [t.c.until, t.c.target]),
}


_ADAPTERS: dict[type[Noun], TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in _TABLES}


def _row(noun: Noun) -> tuple[Table, dict[str, Any]]:
    match noun:
        case Turn():
            columns = {
                "entry": noun.entry,
                "due": noun.due,
                "ended": noun.ended,
                "run": noun.run,
                "conclusive": noun.conclusive,
            }
        case Alert():
            columns = {"id": noun.id, "state": noun.state, "opened": noun.opened, "resolved": noun.resolved}
        case Notice():
            columns = {
                "id": noun.id,
                "alert": noun.alert.id,
                "sink": noun.sink,
                "made": noun.made,
                "delivered": noun.settled,
            }
        case Mark():
            columns = {"at": noun.at, "id": key(noun)[2]}
        case Pause():
            columns = {"target": noun.target, "until": noun.until}
    return _TABLES[type(noun)][0], columns
