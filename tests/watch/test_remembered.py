"""Turns with the memory and the alerts that a canary has: what lasts is told once and resolved, over restarts."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from turned import Bed, Canary, Daily, Entry

from probes import lab
from probes.alerts import Alerting
from probes.canary import About, AlertState, Missed
from probes.memory import Memory
from probes.model import Verdict

pytestmark = pytest.mark.usefixtures("reports")
EVERY = timedelta(minutes=5)
ENTRY = Entry("chat", "only")


@dataclass(frozen=True)
class Watched(Canary):
    entries: tuple[Entry, ...] = (ENTRY,)
    link: str | None = None
    sinks: tuple = ()
    maintenance: tuple = ()


@pytest.fixture(autouse=True)
def suites(tmp_path, monkeypatch):
    """A suite of one question."""
    (tmp_path / "suites").mkdir()
    rows = "version: 1\nname: only\ncases:\n  - {kind: completion, clients: genuine}\n"
    (tmp_path / "suites" / "only.yaml").write_text(rows)
    monkeypatch.chdir(tmp_path)


class Process:
    """A canary of which another process goes on with the same file after each `restart`."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.memory: Memory | None = None
        bed.wall.at = datetime.now(UTC)
        self.restart()

    def restart(self) -> None:
        if self.memory is not None:
            self.memory.close()
        self.memory = Memory.open(now=self.bed.wall.now)
        alerting = Alerting(self.memory, self.bed.canary, self.bed.wall, interval=lambda _: EVERY)
        self.bed.around = replace(self.bed.around, memory=self.memory, alerting=alerting)
        self.bed.restart()

    def take(self):
        turn = self.bed.take()
        self.bed.wall.at += EVERY
        return turn

    def open(self):
        """(about, code) of each alert that is open."""
        return [(a.key.about, a.key.code) for a in self.memory.alerts() if a.state is AlertState.OPEN]

    def arm(self, *faults: str) -> None:
        self.bed.lab.arm(faults)


@contextmanager
def process(*faults, canary=None):
    from labruns import CLOCK, FAST

    with lab.serve(faults, clock=CLOCK, **FAST) as running:
        made = Process(Bed(running, canary or Watched()))
        yield made
        made.memory.close()


@pytest.mark.parametrize("fault", ["challenge-all", "block-all", "silent"])
def test_all_clients_lost_at_once_is_told_within_two_intervals_and_resolved(fault):
    """By the very file that knows that they were served; another process goes on with it."""
    code = "timeout.first_byte" if fault == "silent" else "regression.outcome"
    with process() as on:
        assert on.take().verdict is Verdict.PASS
        on.restart()
        on.arm(fault)
        bad = [on.take(), on.take()]
        assert [turn.verdict for turn in bad] == [Verdict.FAIL] * 2
        assert on.open() == [(About.SERVICE, code)]
        on.restart()
        on.take()
        assert on.open() == [(About.SERVICE, code)]
        stored = on.memory.load(bad[0].run)
        assert (stored.verdict, code in {f.code for f in stored.findings}) == (Verdict.FAIL, True)
        on.arm()
        for _ in range(3):
            assert on.take().verdict is Verdict.PASS
        assert on.open() == []
        assert len(on.memory.alerts(open_only=False)) == 1


def test_a_monitor_that_was_always_refused_is_blind_and_nothing_is_down():
    """C13: the service is unknown, and the alert is about that."""
    with process("challenge-all") as on:
        turns = [on.take() for _ in range(4)]
        assert not any(turn.conclusive for turn in turns)
        assert {about for about, _ in on.open()} == {About.BLIND}
        on.arm()
        for _ in range(3):
            on.take()
        assert on.open() == []


def test_a_rate_limit_of_our_own_key_opens_no_alert_of_the_service():
    """However long it lasts; it may blind us, and then that is what is said."""
    with process("rate-limit-for-days") as on:
        turns = [on.take() for _ in range(4)]
        assert [turn.missed for turn in turns] == [None, *[Missed.PAUSED] * 3]
        assert {about for about, _ in on.open()} <= {About.BLIND}


def test_overload_opens_no_alert_of_the_service():
    """C69: alive and full is not down."""
    with process("accounts-unavailable") as on:
        assert not any(on.take().conclusive for _ in range(3))
        assert {about for about, _ in on.open()} <= {About.BLIND}


def test_what_was_spent_is_known_after_a_restart():
    """From the runs in the file."""
    with process(canary=Watched(budgets={"prod": Daily(requests_per_day=3)})) as on:
        on.bed.wall.at = datetime.now(UTC).replace(hour=12)
        assert on.take().spend.requests == 2
        on.restart()
        assert on.bed.take().spend.requests == 1
        on.restart()
        assert on.bed.take().missed is Missed.BUDGET
