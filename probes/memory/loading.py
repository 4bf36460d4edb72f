"""How does a run come back out of the database, and what of one that never ended?"""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from probes.document import from_document
from probes.errors import UsageError
from probes.memory import schema
from probes.memory.recording import FINISHED, RUNNING
from probes.memory.spending import of_run
from probes.model import Skipped, Verdict

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Connection, Row

    from probes.model import Run

_SHOWN = 3


def load(connection: Connection, run_id: str, name: str) -> Run:
    """UsageError where there is none, or where it is damaged."""
    this = schema.runs.c.id == run_id
    if connection.scalar(select(schema.runs.c.id).where(this)) is None:
        raise UsageError(f"no run {run_id} in {name}{_nearest(connection, run_id)}")
    try:
        row = connection.execute(select(schema.runs).where(this)).one()
        run = from_document(_document(connection, row))
    except (UsageError, ValueError, KeyError, TypeError) as fault:
        raise UsageError(f"{name}: run {run_id}: {fault}") from None
    return run if row.state == FINISHED else _unended(connection, run, row)


def over(connection: Connection, since: datetime, until: datetime) -> dict[str, datetime]:
    """Id and begin of the runs that began in that time and are no longer under way."""
    table = schema.runs.c
    mine = [table.at >= since, table.at < until, table.state != RUNNING]
    return {row.id: row.at for row in connection.execute(select(table.id, table.at).where(*mine))}


def _document(connection: Connection, row: Row[Any]) -> dict[str, Any]:
    document: dict[str, Any] = row.document
    table, order = schema.calls, schema.calls.c.seq
    mine = [table.c.run == row.id]
    if row.state == FINISHED:
        mine, order = [*mine, table.c.n.is_not(None)], table.c.n
    for call in connection.scalars(select(table.c.document).where(*mine).order_by(order)):
        for part in ("calls", "exchanges"):
            document[part] += call[part]
            document["replay"][part] += call["replay"][part]
    found = schema.findings
    document["findings"] = list(
        connection.scalars(select(found.c.document).where(found.c.run == row.id).order_by(found.c.n))
    )
    return document


def _unended(connection: Connection, run: Run, row: Row[Any]) -> Run:
    """What there is of it proves nothing of the whole."""
    judged = {finding.case for finding in run.findings}
    why = f"{row.state}: it had not been judged when this was written"
    lost = tuple(Skipped(case.id, None, why) for case in run.cases if case.id not in judged)
    last = last_sign(connection, row)
    return replace(
        run,
        verdict=Verdict.INCONCLUSIVE,
        finished=run.started + max(last - row.at, last - last),
        spend=of_run(connection, row.id),
        skipped=(*run.skipped, *lost),
    )


def last_sign(connection: Connection, row: Any) -> datetime:
    """When it was last heard of."""
    at: datetime | None = connection.scalar(
        select(func.max(schema.calls.c.at)).where(schema.calls.c.run == row.id)
    )
    return row.at if at is None else at


def _nearest(connection: Connection, run_id: str) -> str:
    newest = select(schema.runs.c.id).order_by(schema.runs.c.at.desc()).limit(1000)
    stored = list(connection.scalars(newest))
    if near := get_close_matches(run_id, stored, n=1, cutoff=0.6):
        return f"; did you mean {near[0]}?"
    return f"; the latest: {', '.join(stored[:_SHOWN])}" if stored else "; it holds none"


# --- whether its writer is still there -------------------------------------------------------------------


def writer() -> str:
    """What names this process, so that another can tell whether it is still alive."""
    return f"{platform.node()} {os.getpid()} {_begun(os.getpid())}"


def lives(name: str, *, local: bool) -> bool | None:
    """Whether the process that calls itself so is alive; `None` where it runs on another machine.

    `local`: the database can only be used on one machine; the name of that may have changed, as a container's does.
    """
    host, pid, begun = name.rsplit(" ", 2)
    if host != platform.node() and not local:
        return None
    return _begun(int(pid)) == begun != ""


def _begun(pid: int) -> str:
    """When the process began, in ticks since the machine started, so that a number given again is no longer its own."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except OSError:
        return _signalled(pid)


def _signalled(pid: int) -> str:
    if Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return "?"
    return "?"
