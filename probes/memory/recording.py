"""How does a run get into the database while it goes on?"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, update

from probes.memory import schema
from probes.memory.outcomes import outcomes
from probes.memory.rollups import roll
from probes.memory.rows import call_row, exchange_row, finding_row, outcome_row, shell
from probes.model import Began, Called, Finished, Found, Skipped, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from probes.memory.database import Database
    from probes.model import Call, Event, Run

FAILED = frozenset({Verdict.FAIL, Verdict.ERROR})
RUNNING, FINISHED, INTERRUPTED = "running", "finished", "interrupted"


class Recording:
    """A sink for the events of one run. What can't be written is kept, in order, and written before what comes next.

    `made_up`: called when it is, outside of any lock.
    """

    def __init__(
        self,
        database: Database,
        now: Callable[[], datetime],
        entry: str | None,
        writer: str,
        made_up: Callable[[], None],
    ) -> None:
        self._database = database
        self._now = now
        self._entry = entry
        self._writer = writer
        self._made_up = made_up
        self._lock = threading.Lock()
        self._left: deque[tuple[Event, datetime]] = deque()
        self._run: Run | None = None
        self._seqs: dict[str, deque[int]] = defaultdict(deque)
        self._seq = self._found = 0
        self.ended = False

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Began | Called | Found | Finished):
            return
        with self._lock:
            if self.ended:  # a call that a stop left behind
                return
            self.ended = isinstance(event, Finished)
            self._left.append((event, self._now()))
            written = self._write()
        if written and self._database.fault is not None:
            self._made_up()

    def again(self) -> bool:
        """Try what is left once more; whether nothing is."""
        with self._lock:
            return self._write()

    @property
    def behind(self) -> bool:
        """Something that was told is not written."""
        return bool(self._left)

    @property
    def left(self) -> int:
        """Calls that are kept here because they could not be written."""
        return sum(isinstance(event, Called) for event, _ in self._left)

    @property
    def unwritten(self) -> tuple[Run, datetime] | None:
        """The run as it ended and when it began, where the database doesn't know that."""
        with self._lock:
            last = self._left[-1] if self._left else None
            if last is None or not isinstance(last[0], Finished):
                return None
            return last[0].run, self._left[0][1]

    def shed(self) -> None:
        """Lets go of the calls that are kept here: the verdict and the spend are still to be written."""
        with self._lock:
            self._left = deque(
                (_without_calls(event), at)
                for event, at in self._left
                if not isinstance(event, Called | Found)
            )

    def _write(self) -> bool:
        while self._left:
            event, at = self._left[0]
            if not self._database.write(partial(self._put, event=event, at=at)):
                return False
            self._left.popleft()
            self._note(event)
        return True

    def _put(self, connection: Connection, event: Event, at: datetime) -> None:
        if isinstance(event, Began):
            _begin(connection, event.run, at, self._entry, self._writer)
        elif isinstance(event, Called):
            _insert_call(connection, event.call, at, self._seq, self._known)
        elif isinstance(event, Found):
            connection.execute(
                insert(schema.findings).values(finding_row(event.finding, self._known.id, self._found))
            )
        elif isinstance(event, Finished):
            finish(connection, event.run, at, self._places(event.run))

    def _note(self, event: Event) -> None:
        if isinstance(event, Began):
            self._run = event.run
        elif isinstance(event, Called):
            self._seqs[event.call.id].append(self._seq)
            self._seq += 1
        elif isinstance(event, Found):
            self._found += 1

    @property
    def _known(self) -> Run:
        assert self._run is not None, "a run begins before it calls"
        return self._run

    def _places(self, run: Run) -> list[dict[str, int]]:
        """Where each call that was written stands among the run's."""
        seqs = {name: deque(found) for name, found in self._seqs.items()}
        return [
            {"of_seq": seqs[call.id].popleft(), "to_n": n}
            for n, call in enumerate(run.calls)
            if seqs.get(call.id)
        ]


def put(connection: Connection, run: Run) -> None:
    """One that is over, by its own clock; a file of old does not say when each of its calls was."""
    _begin(connection, run, run.started, None, "")
    for n, call in enumerate(run.calls):
        _insert_call(connection, call, call.started or run.started, n, run)
    finish(connection, run, run.finished, [{"of_seq": n, "to_n": n} for n in range(len(run.calls))])


def _begin(connection: Connection, run: Run, at: datetime, entry: str | None, writer: str) -> None:
    connection.execute(
        insert(schema.runs).values(
            id=run.id,
            entry=entry,
            target=run.target.name,
            vantage=run.vantage or "",
            at=at,
            state=RUNNING,
            failed=False,
            writer=writer,
            **shell(run),
        )
    )


def finish(connection: Connection, run: Run, at: datetime, places: list[dict[str, int]]) -> None:
    """Its calls in their order, its findings, its outcomes and the figures."""
    row = connection.execute(schema.runs.select().where(schema.runs.c.id == run.id)).one()
    values = shell(run) | {"failed": any(finding.verdict in FAILED for finding in run.findings)}
    connection.execute(
        update(schema.runs).where(schema.runs.c.id == run.id).values(state=FINISHED, ended=at, **values)
    )
    if places:
        of_it = (schema.calls.c.run == run.id) & (schema.calls.c.seq == bindparam("of_seq"))
        connection.execute(update(schema.calls).where(of_it).values(n=bindparam("to_n")), places)
    connection.execute(delete(schema.findings).where(schema.findings.c.run == run.id))
    rows = [finding_row(finding, run.id, n) for n, finding in enumerate(run.findings)]
    if rows:
        connection.execute(insert(schema.findings), rows)
    conclude(connection, run, row.at)


def conclude(connection: Connection, run: Run, at: datetime) -> None:
    """What history and figures are made of; a run that is concluded again gets its outcomes anew."""
    connection.execute(delete(schema.outcomes).where(schema.outcomes.c.run == run.id))
    rows = [outcome_row(one, run, n) for n, one in enumerate(outcomes(run, at))]
    if rows:
        connection.execute(insert(schema.outcomes), rows)
    roll(connection, run.id)


def _insert_call(connection: Connection, call: Call, at: datetime, seq: int, run: Run) -> None:
    connection.execute(insert(schema.calls).values(call_row(call, run, seq, at)))
    rows = [exchange_row(exchange, run.id, seq, hop) for hop, exchange in enumerate(call.exchanges)]
    if rows:
        connection.execute(insert(schema.exchanges), rows)


def _without_calls(event: Event) -> Event:
    if not isinstance(event, Finished) or not event.run.calls:
        return event
    lost = tuple(
        Skipped(case.id, None, "its calls could not be stored: the database could not be written to")
        for case in event.run.cases
    )
    return Finished(replace(event.run, calls=(), skipped=(*event.run.skipped, *lost)))
