"""What does a canary say of the look of the edge, run by run?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from test_fingerprint import exchange, good, run

from probes.canary import Mark, Turn
from probes.errors import UsageError
from probes.model import Acceptance, Verdict
from probes.watch.looks import Looks

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
NEW = {"x-policy": "1"}


@dataclass
class Entry:
    """Asked each ten minutes by a canary of a clock of its own; `Looks` is what a process knows."""

    name: str = "chat"
    runs: dict = field(default_factory=dict)
    kept: list = field(default_factory=list)
    said: list = field(default_factory=list)
    number: int = 0

    def __post_init__(self):
        self.again()

    def again(self):
        self.looks = Looks(self, SimpleNamespace(now=lambda: self.at + timedelta(seconds=20)))

    @property
    def at(self):
        return NOON + timedelta(minutes=10 * self.number)

    def turns(self, name, limit=100):
        return [turn for turn in self.kept[::-1] if turn.entry == name][:limit]

    def load(self, run_id):
        if run_id not in self.runs:
            raise UsageError(f"no run {run_id}")
        return self.runs[run_id]

    def marks(self, since, until=None):
        return [mark for mark in self.said if mark.at >= since]

    def take(self, headers=None, *, answer=None, changed=lambda one: one):
        """The verdicts that it adds."""
        self.number += 1
        one = changed(run([answer or good(headers or {})] * 4, self.number))
        self.runs[one.id] = one
        look = self.looks.of(self, one, self.at)
        ended = self.at + timedelta(seconds=20)
        self.kept.append(Turn(self.name, "t", self.at, self.at, ended, one.id, conclusive=answer is None))
        return [found.verdict for found in look.findings]


def settled(turns=5):
    entry = Entry()
    assert [entry.take() for _ in range(turns)] == [[]] * turns
    return entry


def later(minutes, target=None):
    return Mark(NOON + timedelta(minutes=minutes), "policy header", target=target)


def test_the_second_run_in_a_row_tells_it():
    """And no run after it."""
    entry = settled()
    assert [entry.take(NEW) for _ in range(14)] == [[], [Verdict.WARN], *[[]] * 12]


@pytest.mark.parametrize("after", [5, 6, 7])
def test_another_process_knows_the_runs_before(after):
    """Whenever it takes over; what is told once stays so."""
    entry, told = settled(), []
    for number in range(5, 10):
        if number == after:
            entry.again()
        told.append(entry.take(NEW))
    assert told == [[], [Verdict.WARN], [], [], []]


def test_runs_that_are_not_kept_are_left_out():
    """With what is left too few are known."""
    entry = settled(6)
    entry.runs = dict(list(entry.runs.items())[4:])
    entry.again()
    assert [entry.take(NEW) for _ in range(3)] == [[], [], []]


def test_what_says_nothing_of_the_service_is_no_run_of_it():
    """An outage between two runs confirms nothing and forgets nothing."""
    entry = settled()
    broken = exchange(None, error=("reset", "headers"))
    told = [entry.take(NEW), entry.take(answer=broken), entry.take(NEW)]
    assert told == [[], [], [Verdict.WARN]]


def elsewhere(one):
    routes = {
        name: replace(route, base_url="https://b.example/v1") for name, route in one.target.routes.items()
    }
    return replace(one, target=replace(one.target, routes=routes))


OTHERWISE = {
    "another address": elsewhere,
    "another vantage": lambda one: replace(one, vantage="elsewhere"),
    "another edgeprobe": lambda one: replace(one, versions={**one.versions, "edgeprobe": "99"}),
}


@pytest.mark.parametrize("changed", OTHERWISE.values(), ids=OTHERWISE)
@pytest.mark.parametrize("again", [False, True], ids=["one process", "a restart"])
def test_another_look_of_another_place_is_no_change(changed, again):
    """What our own side changed is not the edge's."""
    entry = settled()
    if again:
        entry.again()
    assert [entry.take(NEW, changed=changed) for _ in range(8)] == [[]] * 8


MARKS = {
    "before it": (later(55), Verdict.PASS),
    "just after it": (later(64), Verdict.PASS),
    "of this target": (later(55, "t"), Verdict.PASS),
    "of another target": (later(55, "dr"), Verdict.WARN),
    "long before it": (later(20), Verdict.WARN),
}


@pytest.mark.parametrize(("mark", "expected"), MARKS.values(), ids=MARKS)
def test_a_mark_near_it_explains_it(mark, expected):
    """By the canary's clock, whatever that of the runs says."""
    entry = settled()
    entry.said = [mark]
    assert [entry.take(NEW), entry.take(NEW)] == [[], [expected]]


def test_what_the_operator_lives_with_is_accepted():
    """As any finding of the target."""
    held = (Acceptance("regression.fingerprint", "a canary release"),)

    def accepting(one):
        return replace(one, target=replace(one.target, accepted=held))

    entry = settled()
    entry.take(NEW, changed=accepting)
    one = accepting(run([good(NEW)] * 4, 99))
    [found] = entry.looks.of(entry, one, entry.at + timedelta(minutes=10)).findings
    assert found.accepted
