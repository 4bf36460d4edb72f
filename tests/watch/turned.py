"""What turns are taken with: a memory, alerts and metrics that only keep what they are told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from labruns import CLOCK, FAST, KEY, target_at

from probes import lab
from probes.alerts.rules import pages
from probes.credentials import Secrets
from probes.model import Called, Finished, Spend
from probes.stop import Stop
from probes.watch.asking import Around
from probes.watch.turns import Turns
from probes.wire.lag import Lag

if TYPE_CHECKING:
    from probes.canary import Pause

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Entry:
    name: str = "smoke-prod"
    suite: str = "smoke"
    target: str = "prod"
    tier: str = "cheap"
    sample: float = 1.0
    clients: tuple[str, ...] = ("openai-py", "httpx")
    overrides: Mapping[str, str] = field(default_factory=dict)
    alert: None = None


@dataclass(frozen=True)
class Daily:
    requests_per_day: int | None = None
    tokens_per_day: int | None = None
    usd_per_day: float | None = None


@dataclass(frozen=True)
class Canary:
    entries: tuple[Entry, ...] = (Entry(),)
    control: str | None = None
    budgets: Mapping[str, Daily] = field(default_factory=dict)


class Wall:
    """Stands still until it is told otherwise."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def shown(self, at: datetime) -> datetime:
        return at

    def wait(self, seconds: float, wake) -> bool:
        self.at += timedelta(seconds=seconds)
        return wake.is_set()


class Memory:
    """Outlives the turns that are told to it, as a file does."""

    def __init__(self) -> None:
        self.runs, self.turns, self.calls = [], [], []
        self.served: dict[str, datetime] = {}
        self.knocked: dict[str, datetime] = {}
        self.before = Spend()
        self.kept: dict[str, Pause] = {}

    def recording(self, entry=None):
        def record(event):
            if isinstance(event, Finished):
                self.runs.append((entry, event.run))
            if isinstance(event, Called):
                self.calls.append((entry, event.call))

        return record

    def passed(self, target, vantage, clients, before):
        return {name: at for name, at in self.served.items() if name in clients and at < before}

    def let_in(self, target, vantage, clients, before):
        return {name: at for name, at in self.knocked.items() if name in clients and at < before}

    def spent(self, target, since):
        spends = [self.before, *(run.spend for _, run in self.runs)]
        return Spend(
            sum(spend.requests for spend in spends),
            sum(spend.input_tokens for spend in spends),
            sum(spend.output_tokens for spend in spends),
        )

    def turn(self, turn):
        self.turns.append(turn)

    def pause(self, pause):
        self.kept[pause.target] = pause

    def pauses(self):
        return list(self.kept.values())


class Alerting:
    def __init__(self) -> None:
        self.seen, self.faults = [], []

    def observe(self, turn, first=None, *, entry, again=()):
        run, findings = (first.run, first.findings) if first else (None, ())
        self.seen.append((turn, run, findings, again))
        self.first = first

    def own_fault(self, code, fault, do=""):
        self.faults.append((code, fault))

    @property
    def paged(self):
        """The codes that the last turn pages for."""
        return {finding.code for finding in self.seen[-1][2] if pages(finding)}

    @property
    def confirmed(self):
        """How often each case was bad again in the last turn."""
        return [{finding.case for finding in asked.findings if pages(finding)} for asked in self.seen[-1][3]]


class Metrics:
    def __init__(self) -> None:
        self.told = []

    def __getattr__(self, name):
        return lambda *values: self.told.append((name, *values))


class Bed:
    """A canary on a lab: `take` is one turn of an entry, `restart` the same canary in a new process."""

    def __init__(self, running, canary, *, lag=None, knock=lambda _: 200, **target) -> None:
        self.lab, self.canary = running, canary
        self.memory, self.alerting, self.metrics, self.wall = Memory(), Alerting(), Metrics(), Wall()
        self.stop = Stop()
        self.target = target_at(running.base_url, running.model, vantage="here")
        self.changes = target
        self.around = Around(
            self.memory, self.alerting, self.metrics, CLOCK, self.wall,
            secrets=Secrets({**os.environ, KEY: running.api_key}), lag=lag or Lag(0.05, 60.0), knock=knock,
        )  # fmt: skip
        self.restart()

    def restart(self) -> None:
        self.turns = Turns(self.canary, self.around, self.named)

    def named(self, name):
        from dataclasses import replace

        return replace(self.target, name=name, **self.changes)

    def take(self, entry=None, due=None):
        return self.turns.take(entry or self.canary.entries[0], due or self.wall.at, self.stop)


@contextmanager
def bed(*faults, canary=None, **more):
    with lab.serve(faults, clock=CLOCK, **FAST) as running:
        yield Bed(running, canary or Canary(), **more)
