"""What did the canary see, and what did it say?

All of it stands in one database. What can't be written stays here until it can be.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Self

from probes.canary import Alert, AlertState, Mark, Notice, Pause, Turn
from probes.errors import UsageError

try:
    from sqlalchemy import func, select
except ModuleNotFoundError as missing:
    raise UsageError(f"the canary's memory needs {missing.name}: pip install 'edgeprobe[watch]'") from None

from probes.memory import cut_off, loading, nouns, recording, retention, rollups, schema, spans, spending
from probes.memory.alone import alone
from probes.memory.beside import sources
from probes.memory.database import Database
from probes.memory.outcomes import Outcome
from probes.memory.passes import passes
from probes.memory.retention import FAILED_DAYS, RAW_DAYS, Pruned, Stats
from probes.model import Layer, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from probes.memory.rollups import Grain, Rollup
    from probes.model import Run, Sink, Spend
    from probes.span import Span

__all__ = ["Memory", "Outcome", "Pruned", "Stats"]

_MOST_CALLS = 2000  # of runs that ended and can't be written: beyond, the oldest are kept without their calls


class Memory:
    """Any thread may ask and tell. A write never raises for the disk's sake, see `fault`; a read of a database that is
    damaged raises UsageError.
    """

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self.alone = partial(alone, database)  # while its context lasts, no other canary keeps the database
        self._now = now
        self._writer = loading.writer()
        self._lock = threading.RLock()
        self._late: dict[nouns.Key, nouns.Noun] = {}
        self._recordings: list[recording.Recording] = []

    @classmethod
    def open(
        cls, url: str | None = None, *, make: bool = True, now: Callable[[], datetime] = nouns.utc_now
    ) -> Memory:
        """`None` is `edgeprobe.db` in the reports folder. `make`: a database that is not there is made, else that is a
        UsageError, as is one that is none of ours or was written by a newer edgeprobe. `now`: the canary's wall clock.
        """
        return cls(Database(url, make=make), now)

    def close(self) -> None:
        self._catch_up()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def fault(self) -> str | None:
        """Why a write failed; `None` once all that could not be written is."""
        return self._database.fault

    @property
    def errors(self) -> int:
        """Writes that failed since it was opened."""
        return self._database.errors

    # --- runs ---------------------------------------------------------------------------------------------

    def recording(self, entry: str | None = None) -> Sink:
        """A sink for one run, which is written as it goes on, each call in a transaction of its own."""
        made = recording.Recording(self._database, self._now, entry, self._writer, self._settle)
        with self._lock:
            self._recordings = [one for one in self._recordings if not one.ended or one.behind]
            self._recordings.append(made)
            self._shed()
        return made

    def recover(self, now: datetime) -> list[str]:
        """The runs whose process is gone, marked as interrupted with what they have."""
        with self._database.reading() as connection:
            gone = cut_off.found(connection, now, local=self._database.file is not None)
        mark = partial(cut_off.interrupt, now=now, where=str(self._database.name))
        return [name for name in gone if self._database.write(partial(mark, name=name))]

    def load(self, run_id: str) -> Run:
        """What `conduct` returned; one that never ended with what it has, `inconclusive`. UsageError where it isn't here."""
        with self._database.reading() as connection:
            return loading.load(connection, run_id, str(self._database.name))

    def runs(self, since: datetime, until: datetime) -> dict[str, datetime]:
        """Id and begin of those that began in that time and are over."""
        with self._database.reading() as connection:
            return loading.over(connection, since, until)

    def history(self, case_id: str, limit: int = 100, *, target: str | None = None) -> list[Outcome]:
        """What came of a case for each client, newest first, of runs that ended or were cut off."""
        table = schema.outcomes
        where = [table.c.case_id == case_id, *([table.c.target == target] if target is not None else [])]
        newest = select(table).where(*where).order_by(table.c.at.desc(), table.c.run.desc(), table.c.n)
        with self._database.reading() as connection:
            return [
                Outcome(
                    r.run, r.at, r.case_id, r.client, r.route, r.code, Verdict(r.verdict), Layer(r.layer),
                    r.product, r.vendor_code, r.ttft, r.tpot, r.total,
                )
                for r in connection.execute(newest.limit(limit))
            ]  # fmt: skip

    def passed(
        self, target: str, vantage: str | None, clients: Iterable[str], before: datetime
    ) -> dict[str, datetime]:
        """When each client last got a good answer of the API from there; without those that never did."""
        with self._database.reading() as connection:
            return passes(connection, target, vantage, clients, before, asks=True)

    def let_in(
        self, target: str, vantage: str | None, clients: Iterable[str], before: datetime
    ) -> dict[str, datetime]:
        """When the API itself last turned down what each client asked from there to be turned down."""
        with self._database.reading() as connection:
            return passes(connection, target, vantage, clients, before, asks=False)

    def spent(self, target: str, since: datetime) -> Spend:
        """What runs bought since then: settled where they ended, by their calls where they run or were cut off."""
        with self._lock:
            kept = [one.unwritten for one in self._recordings]
        late = [run.spend for run, at in filter(None, kept) if run.target.name == target and at >= since]
        with self._database.reading() as connection:
            return spending.total([spending.spent(connection, target, since), *late])

    # --- turns, alerts, notices, marks, pauses ---------------------------------------------------------------------

    def turn(self, turn: Turn) -> None:
        """Of one entry and due time the last one told."""
        self._keep(turn)

    def turns(self, entry: str, limit: int = 100) -> list[Turn]:
        """Newest first."""
        with self._database.reading() as connection:
            stored = nouns.found(connection, Turn, schema.turns.c.entry == entry, limit=limit)
        mine = {key: turn for key, turn in self._overlaid(Turn, stored).items() if turn.entry == entry}
        return sorted(mine.values(), key=lambda turn: turn.due, reverse=True)[:limit]

    def last_conclusive(self, entry: str) -> datetime | None:
        """When the last turn that said something of the service ended."""
        table = schema.turns.c
        with self._database.reading() as connection:
            newest = select(func.max(table.ended)).where(table.entry == entry, table.conclusive.is_(True))
            stored = connection.scalar(newest)
        late = [
            turn.ended
            for turn in self._overlaid(Turn, []).values()
            if turn.entry == entry and turn.conclusive and turn.ended is not None
        ]
        return max([*late, *([stored] if stored is not None else [])], default=None)

    def newest(self) -> datetime | None:
        """When the last thing ended that is stored: a call, or a turn."""
        with self._database.reading() as connection:
            return retention.newest(connection)

    def alerts(self, *, open_only: bool = True) -> list[Alert]:
        """In the order in which they were opened."""
        where = [schema.alerts.c.state == AlertState.OPEN] if open_only else []
        with self._database.reading() as connection:
            stored = nouns.found(connection, Alert, *where)
        found = self._overlaid(Alert, stored).values()
        opened = [alert for alert in found if not open_only or alert.state is AlertState.OPEN]
        return sorted(opened, key=lambda alert: (alert.opened, alert.id))

    def keep(self, alert: Alert) -> None:
        """Of one id the last one told."""
        self._keep(alert)

    def notice(self, notice: Notice) -> None:
        """Of one id the last one told."""
        self._keep(notice)

    def undelivered(self) -> list[Notice]:
        """In the order in which they were made."""
        with self._database.reading() as connection:
            stored = nouns.found(connection, Notice, schema.notices.c.delivered.is_(None))
        left = [notice for notice in self._overlaid(Notice, stored).values() if notice.settled is None]
        return sorted(left, key=lambda notice: (notice.made, notice.id))

    def mark(self, mark: Mark) -> None:
        self._keep(mark)

    def unmark(self, mark: Mark) -> None:
        self._database.write(partial(nouns.drop, noun=mark))

    def marks(self, since: datetime, until: datetime | None = None) -> list[Mark]:
        """In the order of time."""
        where = [schema.marks.c.at >= since, *([schema.marks.c.at < until] if until is not None else [])]
        with self._database.reading() as connection:
            stored = nouns.found(connection, Mark, *where)
        found = self._overlaid(Mark, stored).values()
        fit = (mark for mark in found if mark.at >= since and (until is None or mark.at < until))
        return sorted(fit, key=lambda mark: mark.at)

    def pause(self, pause: Pause) -> None:
        """Of one target the last one told."""
        self._keep(pause)

    def pauses(self) -> list[Pause]:
        """Of each target the last one, those that are over too, in the order in which they end."""
        with self._database.reading() as connection:
            stored = nouns.found(connection, Pause)
        return sorted(self._overlaid(Pause, stored).values(), key=lambda pause: (pause.until, pause.target))

    def targets(self) -> list[str]:
        """Those that runs or pauses are of."""
        with self._database.reading() as connection:
            asked = set(connection.scalars(select(schema.runs.c.target).distinct()))
        return sorted(asked | {pause.target for pause in self.pauses()})

    def _overlaid(self, kind: type[nouns.N], stored: Iterable[nouns.N]) -> dict[nouns.Key, nouns.N]:
        """With those that are newer here than in the database."""
        with self._lock:
            late = {key: noun for key, noun in self._late.items() if isinstance(noun, kind)}
        return {**{nouns.key(noun): noun for noun in stored}, **late}

    def _keep(self, noun: nouns.Noun) -> None:
        with self._lock:
            self._late[nouns.key(noun)] = noun
            self._catch_up()

    def _catch_up(self) -> None:
        """Whatever is not written yet, what alerting needs first."""
        with self._lock:
            late = list(self._late.values())
            if late and not self._database.write(partial(nouns.keep, every=late)):
                return
            self._late.clear()
            if all(one.again() for one in self._recordings if one.ended and one.behind):
                self._settle()

    def _settle(self) -> None:
        with self._lock:
            if not self._late and not any(one.behind for one in self._recordings):
                self._database.fault = None

    def _shed(self) -> None:
        kept = sum(one.left for one in self._recordings if one.ended)
        for one in self._recordings:
            if kept <= _MOST_CALLS:
                return
            if one.ended:
                kept -= one.left
                one.shed()

    # --- the whole ----------------------------------------------------------------------------------------

    def figures(
        self,
        since: datetime,
        until: datetime | None = None,
        *,
        grain: Grain = "hour",
        target: str | None = None,
        client: str | None = None,
    ) -> list[Rollup]:
        """How a target did for each client over each route in each minute, hour or day (UTC) that began in that time."""
        with self._database.reading() as connection:
            return rollups.read(connection, grain, since, until, target=target, client=client)

    def span(
        self, since: datetime, until: datetime, target: str | None = None, others: Sequence[Run] = ()
    ) -> Span:
        """What a page tells of that time, and what is wrong at its end. `others`: runs that are not in here."""
        alerts, marks = self.alerts(open_only=False), self.marks(since, until)
        with sources(self._database, others) as found:
            return spans.span(found, since, until, target, alerts, marks)

    def prune(self, now: datetime, *, raw_days: float = RAW_DAYS, failed_days: float = FAILED_DAYS) -> Pruned:
        """Forget what is old: runs after `raw_days`, those with a failure after `failed_days`; figures by the day stay."""
        return retention.prune(self._database, now, raw_days, failed_days)

    def stats(self) -> Stats:
        paused = tuple(pause for pause in self.pauses() if pause.until > self._now())
        with self._database.reading() as connection:
            return retention.stats(connection, self._database, paused)
