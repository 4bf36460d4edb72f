"""Which runs were cut off, and what is kept of them?"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from probes.errors import UsageError
from probes.memory import loading, recording, schema
from probes.model import Verdict

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Connection

_GIVEN_UP = timedelta(days=1)  # after which a run of another machine that was not heard of counts as cut off


def found(connection: Connection, now: datetime, *, local: bool) -> list[str]:
    """Those whose process is gone. `local`: only this machine's can write here."""
    table = schema.runs
    running = select(table.c.id, table.c.at, table.c.writer).where(table.c.state == recording.RUNNING)
    return [
        row.id
        for row in list(connection.execute(running))
        if _is_gone(row.writer, loading.last_sign(connection, row), now, local=local)
    ]


def _is_gone(writer: str, seen: datetime, now: datetime, *, local: bool) -> bool:
    lives = loading.lives(writer, local=local)
    return now - seen > _GIVEN_UP if lives is None else not lives


def interrupt(connection: Connection, name: str, now: datetime, where: str) -> None:
    """With what it has."""
    values = {"state": recording.INTERRUPTED, "ended": now, "verdict": Verdict.INCONCLUSIVE}
    this = schema.runs.c.id == name
    try:
        run = loading.load(connection, name, where)
    except UsageError:  # damaged: it must not keep the canary from starting
        connection.execute(update(schema.runs).where(this).values(values))
        return
    began = connection.execute(select(schema.runs.c.at).where(this)).scalar_one()
    failed = any(finding.verdict in recording.FAILED for finding in run.findings)
    connection.execute(update(schema.runs).where(this).values(**values, failed=failed))
    recording.conclude(connection, run, began)
