"""When does an outbreak begin, and when is it over?

Pure: what is remembered of it stands in the alert's `memory`, so that a restart at any moment changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from probes.alerts.evidence import Subject
from probes.canary import AlertState
from probes.model import Observed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from probes.canary import Alert

FLAPS, SPAN, CALM = 3, 12, 6
"""So many openings within so many intervals are flapping; so many passes in a row end it."""


@dataclass(frozen=True, slots=True)
class Hurt:
    """What is known of one subject: its last results, oldest first, `True` where bad; `passes` in a row since."""

    k: int
    n: int
    results: tuple[tuple[datetime, bool], ...] = ()
    passes: int = 0
    sure: bool = False
    routes: tuple[str, ...] = ()
    every: timedelta = timedelta()

    def met(self, at: datetime, *, bad: bool) -> Hurt:
        """After one more result; those of `n` intervals ago are no neighbours of it."""
        since = at - (self.n + 1) * self.every
        results = (*(row for row in self.results if row[0] >= since), (at, bad))[-self.n :]
        sure = self.sure or sum(row[1] for row in results) >= self.k
        return replace(self, results=results, passes=0 if bad else self.passes + 1, sure=sure)

    def not_before(self, at: datetime | None) -> Hurt:
        """As part of an outbreak of everybody, when somebody was still served then."""
        if at is None:
            return self
        return replace(self, results=tuple((max(when, at), bad) for when, bad in self.results))

    def over(self, calm: int = 0) -> bool:
        """It passed as often as makes it sure, or can't become sure by what it met."""
        if self.sure:
            return self.passes >= max(self.k, calm)
        return self.passes > max(self.n - self.k, calm - 1)

    def forgotten(self, now: datetime) -> bool:
        """A suspicion that nothing was heard of for longer than it can count."""
        return not self.sure and self.results[-1][0] < now - (self.n + 1) * self.every


@dataclass(slots=True)
class Outbreak:
    """An alert's memory, read. `openings`: of this key, lately; `last_bad`: when it was seen last."""

    hurt: dict[Subject, Hurt] = field(default_factory=dict)
    openings: tuple[datetime, ...] = ()
    last_bad: datetime | None = None
    flapping: bool = False
    extra: dict[str, str] = field(default_factory=dict)
    """What others note in it, such as the words of its text."""

    @property
    def every(self) -> timedelta:
        return max((hurt.every for hurt in self.hurt.values()), default=timedelta())

    @property
    def calm(self) -> int:
        return CALM if self.flapping else 0

    def sure(self) -> dict[Subject, Hurt]:
        return {subject: hurt for subject, hurt in self.hurt.items() if hurt.sure}

    def prune(self) -> None:
        self.hurt = {subject: hurt for subject, hurt in self.hurt.items() if not hurt.over(self.calm)}


def remembered(alert: Alert) -> Outbreak:
    """What an alert's memory holds."""
    extra = dict(alert.memory)
    hurt = {
        Subject(*row["subject"]): Hurt(
            row["k"],
            row["n"],
            tuple((_time(at), bad) for at, bad in row["results"]),
            row["passes"],
            row["sure"],
            tuple(row["routes"]),
            timedelta(seconds=row["every"]),
        )
        for row in json.loads(extra.pop("hurt", "[]"))
    }
    openings = tuple(map(_time, json.loads(extra.pop("openings", "[]"))))
    last_bad = extra.pop("last_bad", None)
    flapping = extra.pop("flapping", None) is not None
    return Outbreak(hurt, openings, _time(last_bad) if last_bad else None, flapping, extra)


def memory_of(outbreak: Outbreak) -> Mapping[str, str]:
    """The same as texts."""
    rows = [
        {
            "subject": list(subject),
            "k": hurt.k,
            "n": hurt.n,
            "results": [[at.isoformat(), bad] for at, bad in hurt.results],
            "passes": hurt.passes,
            "sure": hurt.sure,
            "routes": list(hurt.routes),
            "every": hurt.every.total_seconds(),
        }
        for subject, hurt in outbreak.hurt.items()
    ]
    return {
        **outbreak.extra,
        "hurt": json.dumps(rows),
        "openings": json.dumps([at.isoformat() for at in outbreak.openings]),
        **({"last_bad": outbreak.last_bad.isoformat()} if outbreak.last_bad else {}),
        **({"flapping": "yes"} if outbreak.flapping else {}),
    }


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def moved_on(alert: Alert, outbreak: Outbreak, now: datetime) -> Alert:
    """The alert after a turn: opened, dismissed, resolved or as it was."""
    state, since = alert.state, alert.since
    sure = outbreak.sure()
    if state is AlertState.SUSPECTED and sure:
        state = AlertState.OPEN
        since = min(at for hurt in sure.values() for at, bad in hurt.results if bad)
        _opened(outbreak, now)
    elif not outbreak.hurt:
        state = AlertState.DISMISSED if state is AlertState.SUSPECTED else AlertState.RESOLVED
    return replace(
        alert,
        state=state,
        since=since,
        opened=now if state is not alert.state and state is AlertState.OPEN else alert.opened,
        updated=now,
        resolved=now if state is AlertState.RESOLVED else None,
        intervals=_intervals(outbreak, since) if outbreak.hurt else alert.intervals,
        flaps=max(alert.flaps, len(outbreak.openings) - 1, 0),
        memory=memory_of(outbreak),
    )


def _opened(outbreak: Outbreak, now: datetime) -> None:
    lately = [at for at in outbreak.openings if at >= now - SPAN * outbreak.every]
    outbreak.openings = (*lately, now)
    outbreak.flapping = len(outbreak.openings) >= FLAPS


def _intervals(outbreak: Outbreak, since: datetime) -> int:
    """Begun from the first bad result to the last."""
    last = outbreak.last_bad or since
    every = outbreak.every
    # Half an interval: turns are not due to the second.
    return 1 + max(int((last - since + every / 2) / every), 0) if every else 1


def counted(before: Observed | None, results: Iterable[bool]) -> Observed:
    """Bad results of all, with these."""
    results = list(results)
    k, n = (before.k, before.n) if before is not None else (0, 0)
    return Observed(k + sum(results), n + len(results))
