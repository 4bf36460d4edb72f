"""Does the edge look as it did in the runs of an entry before?

The last runs are kept here, and read from the memory where this process has none yet. Nothing else has to be remembered:
a change is confirmed by one run alone, and after a few more it is how the edge looks.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from probes.acceptance import accepted
from probes.change import told
from probes.change.confirmed import KEPT, confirmed
from probes.change.differences import Outcome
from probes.change.fingerprint import fingerprint
from probes.errors import UsageError
from probes.watch.judging import conclusive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from probes.canary import Mark, Turn
    from probes.change.differences import Change
    from probes.comparison import Trait
    from probes.model import Finding, Run
    from probes.watch.needs import Entry, Wall


class Memory(Protocol):
    def turns(self, entry: str, limit: int = ...) -> Sequence[Turn]:
        """Newest first."""
        ...

    def load(self, run_id: str) -> Run: ...
    def marks(self, since: datetime, until: datetime | None = None) -> Sequence[Mark]: ...


@dataclass(frozen=True, slots=True)
class Look:
    """What a run confirmed. `changes`: the same of each entry that sees them; `since`: when the old look was seen last,
    `seen`: when the new one first.
    """

    findings: tuple[Finding, ...] = ()
    changes: tuple[str, ...] = ()
    since: datetime | None = None
    seen: datetime | None = None


UNCHANGED = Look()


@dataclass(slots=True)
class _Kept:
    """Of runs that asked `of` the same place in the same way."""

    of: tuple[object, ...]
    looks: deque[tuple[datetime, tuple[Trait, ...]]]


class Looks:
    """Of one entry there is one turn at a time; several lanes may ask for several entries."""

    def __init__(self, memory: Memory, wall: Wall) -> None:
        self._memory, self._wall = memory, wall
        self._kept: dict[str, _Kept] = {}

    def of(self, entry: Entry, run: Run, began: datetime) -> Look:
        """`began`: by the canary's clock, as all times here are."""
        if not conclusive(run, run.findings):
            return UNCHANGED
        kept = self._kept.get(entry.name)
        if kept is None or kept.of != _place(run):
            kept = _Kept(_place(run), deque(self._stored(entry, run), KEPT))
            self._kept[entry.name] = kept
        kept.looks.append((began, _look(run, began, self._wall.now())))
        looked_at = confirmed([look for _, look in kept.looks])
        changed = [change for change in looked_at if change.outcome is Outcome.CHANGED]
        if not changed:
            return UNCHANGED
        marks = [
            mark for mark in self._memory.marks(kept.looks[0][0]) if mark.target in {None, run.target.name}
        ]
        today = self._wall.now().date()
        found = told.findings(looked_at, f"{run.suites[0]}/baseline", marks)
        spans = [span for change in changed if (span := change.between)]
        since = min((span[0] for span in spans), default=began)
        seen = max((span[1] for span in spans), default=began)
        return Look(tuple(accepted(one, run.target, today) for one in found), _names(changed), since, seen)

    def _stored(self, entry: Entry, run: Run) -> list[tuple[datetime, tuple[Trait, ...]]]:
        """Of the runs before, oldest first."""
        found: list[tuple[datetime, tuple[Trait, ...]]] = []
        for turn, before in self._runs(entry):
            if len(found) == KEPT - 1 or _place(before) != _place(run):
                break
            assert turn.began is not None
            found.append((turn.began, _look(before, turn.began, turn.ended or turn.began)))
        return found[::-1]

    def _runs(self, entry: Entry) -> Iterator[tuple[Turn, Run]]:
        for turn in self._memory.turns(entry.name, 2 * KEPT):
            if turn.conclusive and turn.run is not None and turn.began is not None:
                try:
                    yield turn, self._memory.load(turn.run)
                except UsageError:  # forgotten, or damaged: the others may do
                    continue


def _place(run: Run) -> tuple[object, ...]:
    """Where another answer is no change of the edge; another edgeprobe may know answers as somebody else's."""
    target = run.target
    routes = tuple(sorted((name, route.base_url, route.connect_to) for name, route in target.routes.items()))
    return target.name, target.model, routes, run.vantage, run.time_scale, run.versions.get("edgeprobe")


def _look(run: Run, began: datetime, ended: datetime) -> tuple[Trait, ...]:
    return fingerprint([replace(run, started=began, finished=ended)])


def _names(changed: Sequence[Change]) -> tuple[str, ...]:
    return tuple(
        sorted({f"{c.of}\n{' '.join(c.before.values)}\n{' '.join(c.after.values)}" for c in changed})
    )
