"""When were the clients of a run served at its place before, by the same sort of question?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from probes.kinds.words import clients_of, listed
from probes.memory.outcomes import asks
from probes.watch import needs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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

    @property
    def until(self) -> str:
        return f"{_minute(max(self.times.values()))}, when one was last {self.word}"

    @property
    def row(self) -> tuple[str, str]:
        """For whoever reads the finding."""
        ranked = sorted(self.times, key=lambda name: self.times[name])
        each = [
            (at, list(names)) for at, names in groupby(ranked, key=lambda name: _minute(self.times[name]))
        ]
        return "before", "; ".join(f"{self.word} at {at}: {listed(names)}" for at, names in each)


@dataclass(frozen=True, slots=True)
class Past:
    """What `memory` holds of the time before a run, which began then by its clock."""

    run: Run
    memory: Memory
    began: datetime

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
        return Before(times, "let in" if let_in else "served")


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
