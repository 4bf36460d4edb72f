"""What is owed to a mark?

Each entry of its target is asked at once and again when the change has settled; then the runs before it are compared with
those after, and one message says what changed. What was asked is known from the turns, and what was told from the alerts,
so that a restart at any moment changes nothing. Marks that follow each other within the time to settle are one change.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from probes.alerts.text import Words, clock
from probes.canary import Missed
from probes.errors import UsageError
from probes.model import Verdict
from probes.watch.sides import Marks, Sides, name_of, news_of
from probes.watch.times import is_active

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from probes.alerts.news import News
    from probes.canary import Mark, Turn
    from probes.model import Run
    from probes.watch import needs
    from probes.watch.config import Canary, Entry

REACH = timedelta(hours=3)
"""An older mark that is told only now, by an import, is left to `compare`."""
BEFORE = timedelta(days=1)
_TURNS = 200
_MOST, _MOST_OF_ALL = 12, 60
"""Runs of a side: of one entry, and of all."""
_INSTANT = timedelta(microseconds=1)
_INTERRUPTED = "interrupted"


class Memory(Protocol):
    def turns(self, entry: str, limit: int = ...) -> Sequence[Turn]:
        """Newest first."""
        ...

    def load(self, run_id: str) -> Run: ...
    def marks(self, since: datetime, until: datetime | None = None) -> Sequence[Mark]: ...


class Marked:
    """Looks at intervals, in one thread."""

    def __init__(
        self, memory: Memory, alerting: needs.Alerting, metrics: needs.Metrics, wall: needs.Wall
    ) -> None:
        self._memory, self._alerting, self._metrics, self._wall = memory, alerting, metrics, wall
        self._handed: set[tuple[str, datetime, str]] = set()

    def look(self, now: datetime, canary: Canary, ask: Callable[[Entry], bool]) -> None:
        """`ask`: for a turn beside the schedule; whether it was taken."""
        settle = canary.settle
        if settle is None:
            return
        marks = self._memory.marks(now - REACH - settle - BEFORE, now + _INSTANT)
        for target in dict.fromkeys(entry.target for entry in canary.entries):
            mine = [mark for mark in marks if mark.target in {None, target}]
            new = [m for m in mine if m.at >= now - REACH and not self._alerting.noted(target, name_of(m))]
            entries = [e for e in canary.entries if e.target == target and is_active(e.active, now)]
            for group in grouped(target, new, mine, settle, now):
                self._owed(group, entries, settle, now, ask)

    def _owed(
        self,
        marks: Marks,
        entries: Sequence[Entry],
        settle: timedelta,
        now: datetime,
        ask: Callable[[Entry], bool],
    ) -> None:
        turns = {entry.name: self._memory.turns(entry.name, _TURNS) for entry in entries}
        before = _runs(turns, marks.since, marks.first)
        if not before:
            return  # nothing that what came after could be compared with
        settled = marks.last + settle
        at_once = [entry for entry in entries if not _asked(turns[entry.name], marks.first)]
        again = [
            entry
            for entry in entries
            if entry not in at_once and now >= settled and not _asked(turns[entry.name], settled)
        ]
        for since, owing in ((marks.first, at_once), (settled, again)):
            for entry in owing:
                key = (marks.target, since, entry.name)
                if key not in self._handed and ask(entry):
                    self._handed.add(key)
        if now >= settled and not at_once and not again:
            after = _runs(turns, marks.last, marks.until)
            self._tell(Sides(marks, before, after, tuple(turns), tuple(_left(turns, settled))), now)

    def _tell(self, sides: Sides, now: datetime) -> None:
        old, new = self._loaded(sides.before), self._loaded(sides.after)

        def said(at: datetime) -> str:
            """By the machine's clock, where what that showed is known."""
            return clock(self._wall.shown(at) or at, self._wall.shown(now) or now)

        try:
            # scipy takes half a second, and is of an extra: most processes see no mark.
            from probes.watch.compared import compared  # noqa: PLC0415

            told = compared(sides, old, new, said)
        except UsageError as fault:
            told = _untold(sides, str(fault), said)
        if self._alerting.note(told[0]):
            self._metrics.comparison(sides.marks.target, told[1])

    def _loaded(self, turns: Iterable[Turn]) -> list[tuple[Turn, Run]]:
        found = []
        for turn in turns:
            assert turn.run is not None
            try:
                found.append((turn, self._memory.load(turn.run)))
            except UsageError:  # forgotten, or damaged: the others may do
                continue
        return found


def grouped(
    target: str, new: Sequence[Mark], every: Sequence[Mark], settle: timedelta, now: datetime
) -> Iterator[Marks]:
    """`new`: those that nobody was told of, of `every` one of the target."""
    groups: list[list[Mark]] = []
    for mark in new:
        if groups and mark.at - groups[-1][-1].at <= settle:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    for group in groups:
        first, last = group[0].at, group[-1].at
        since = max([first - BEFORE, *(mark.at for mark in every if mark.at < first)])
        yield Marks(
            target, tuple(group), since, min([now + _INSTANT, *(mark.at for mark in every if mark.at > last)])
        )


def _runs(turns: Mapping[str, Sequence[Turn]], since: datetime, until: datetime) -> tuple[Turn, ...]:
    """Turns that lie in that time with a run; of each entry the last ones."""
    most = max(2, min(_MOST, _MOST_OF_ALL // len(turns)))
    found = [
        (turn.began, turn)
        for every in turns.values()
        for turn in [turn for turn in every if _lies(turn, since, until)][:most]
        if turn.began is not None
    ]
    return tuple(turn for _, turn in sorted(found, key=lambda pair: pair[0]))


def _lies(turn: Turn, since: datetime, until: datetime) -> bool:
    if turn.run is None or turn.began is None or turn.ended is None or turn.reason == _INTERRUPTED:
        return False
    return since <= turn.began < until and turn.ended <= until


def _asked(turns: Sequence[Turn], since: datetime) -> bool:
    """Whether a turn has begun since then and was not broken off by the end of a process."""
    broken_off = (turn.missed is Missed.DRAINED or turn.reason == _INTERRUPTED for turn in turns)
    began = (turn.began is not None and turn.began >= since for turn in turns)
    return any(one and not broken for one, broken in zip(began, broken_off, strict=True))


def _left(turns: Mapping[str, Sequence[Turn]], since: datetime) -> Iterator[str]:
    """Who was to be asked after a change and was not, and why."""
    for name, every in turns.items():
        mine = [turn for turn in every if turn.began is not None and turn.began >= since]
        if mine and all(turn.run is None for turn in mine):
            yield f"{name}: {mine[0].why}"


def _untold(sides: Sides, why: str, said: Callable[[datetime], str]) -> tuple[News, Verdict]:
    """Nothing could be compared."""
    words = Words(f"what was marked at {said(sides.marks.first)} could not be compared", (("because", why),))
    return news_of(sides, words), Verdict.INCONCLUSIVE
