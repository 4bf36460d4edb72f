"""When were the clients of a run served at its place before, by the same sort of question?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from probes.kinds.words import clients_of, listed
from probes.memory.outcomes import asks
from probes.watch import needs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from probes.model import Call, Run


class Memory(needs.Memory, Protocol):
    """That of a turn, which also knows who was let in without being served."""

    def let_in(
        self, target: str, vantage: str | None, clients: Sequence[str], before: datetime
    ) -> Mapping[str, datetime]: ...


@dataclass(frozen=True, slots=True)
class Before:
    """When clients were last served, or let in where that is all that was asked for; empty where none ever was."""

    times: Mapping[str, datetime]
    word: str
    shown: Callable[[datetime], datetime | None]

    @property
    def since(self) -> str:
        """The end of a sentence of what is so since then."""
        if not self.times:
            return ""
        at = self._minute(max(self.times.values()))
        return f" since {at}, when one was last {self.word}" if at else f"; before, they were {self.word}"

    @property
    def row(self) -> tuple[str, str]:
        """For whoever reads the finding."""
        ranked = sorted(self.times, key=lambda name: self.times[name])
        each = [
            (at, list(names))
            for at, names in groupby(ranked, key=lambda name: self._minute(self.times[name]))
        ]
        rows = (f"{self.word}{f' at {at}' if at else ''}: {listed(names)}" for at, names in each)
        return "before", "; ".join(rows)

    def _minute(self, at: datetime) -> str | None:
        clock = self.shown(at)
        return f"{clock:%Y-%m-%d %H:%M} UTC" if clock else None


@dataclass(frozen=True, slots=True)
class Past:
    """What `memory` holds of the time before a run, which began then by its clock; `shown`: the machine's, for people."""

    run: Run
    memory: Memory
    began: datetime
    shown: Callable[[datetime], datetime | None]

    def of(self, calls: Sequence[Call]) -> Before:
        """Of the clients of these calls. Who only knocked in them is looked up among those that were let in, and nobody
        else: that a long answer is waited for in vain is no news of a client that was let in alone.
        """
        place = self.run.target.name, self.run.vantage
        knocked = clients_of(call for call in calls if not asks(call))
        asked = clients_of(call for call in calls if asks(call))
        let_in = self.memory.let_in(*place, knocked, self.began) if knocked else {}
        served = self.memory.passed(*place, asked, self.began) if asked else {}
        found = {name: [at for of in (let_in, served) if (at := of.get(name))] for name in clients_of(calls)}
        times = {name: max(ats) for name, ats in found.items() if ats}
        return Before(times, "let in" if let_in else "served", self.shown)
