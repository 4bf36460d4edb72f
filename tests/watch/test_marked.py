"""What is owed to a mark, and when is it told?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from entries import SetWall, entry, hours, moment

from probes.canary import Mark, Missed, Turn
from probes.errors import UsageError
from probes.model import Verdict
from probes.watch.config import Canary
from probes.watch.marked import Marked, grouped
from probes.watch.sides import name_of

NOON = moment("2026-11-30 12:00")
MINUTE = timedelta(minutes=1)
SETTLE = 5 * MINUTE


@dataclass
class Scene:
    """A day of entries that are asked every ten minutes until noon; what is asked after a mark is over a minute later."""

    entries: tuple = (entry("a"), entry("b"))
    marks_told: tuple = ()
    busy: set = field(default_factory=set)
    missed: dict = field(default_factory=dict)
    kept: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)
    news: list = field(default_factory=list)
    counted: list = field(default_factory=list)
    settle: timedelta | None = SETTLE

    def __post_init__(self):
        self.wall = SetWall(NOON)
        for name in ("a", "b"):
            self.kept[name] = [self.turn(name, NOON - n * 10 * MINUTE) for n in (3, 2, 1)]
        self.again()

    def again(self):
        """Another process."""
        self.marked = Marked(self, self, self, self.wall)

    def turn(self, name, at, **more):
        return Turn(
            name, "prod", at, at, at + MINUTE / 2, f"{name}-{at:%H%M}", Verdict.PASS, conclusive=True, **more
        )

    # --- a memory, alerts and metrics

    def turns(self, name, limit=100):
        return self.kept.get(name, [])[::-1][:limit]

    def load(self, run_id):
        raise UsageError(f"no run {run_id}")

    def marks(self, since, until=None):
        return [mark for mark in self.marks_told if since <= mark.at < until]

    def noted(self, target, name):
        return any(name in news.names for news in self.news)

    def note(self, news):
        self.news.append(news)
        return True

    def comparison(self, target, verdict):
        self.counted.append((target, verdict))

    # --- a canary

    def ask(self, one):
        if one.name in self.busy:
            return False
        now = self.wall.now()
        self.asked.append((one.name, round((now - NOON) / MINUTE)))
        turn = self.turn(one.name, now)
        if one.name in self.missed:
            turn = replace(turn, run=None, missed=self.missed[one.name], reason=None, verdict=None)
        self.kept.setdefault(one.name, []).append(turn)
        return True

    def until(self, minutes):
        """Looks each minute."""
        while (self.wall.now() - NOON) / MINUTE < minutes:
            canary = Canary(entries=self.entries, settle=self.settle)
            self.marked.look(self.wall.now(), canary, self.ask)
            self.wall.time += MINUTE
        return self


def mark(minutes, text="rule on", **more):
    return Mark(NOON + minutes * MINUTE, text, **more)


def test_each_entry_is_asked_at_once_and_after_settling_and_told_once():
    """By its name in the alerts, whatever else happens that day."""
    scene = Scene(marks_told=(mark(1),)).until(60)
    assert scene.asked == [("a", 1), ("b", 1), ("a", 6), ("b", 6)]
    [news] = scene.news
    assert (news.names, news.entries) == ((name_of(mark(1)),), ("a", "b"))
    assert news.read_on == "edgeprobe compare 2026-11-30T12:01:00Z --target prod"
    assert scene.counted == [("prod", Verdict.INCONCLUSIVE)]


@pytest.mark.parametrize("minutes", [1, 3, 6, 7, 20])
def test_another_process_goes_on_where_one_was_ended(minutes):
    """Nothing is asked or told twice."""
    scene = Scene(marks_told=(mark(1),)).until(minutes)
    scene.again()
    scene.until(60)
    assert scene.asked == [("a", 1), ("b", 1), ("a", 6), ("b", 6)]
    assert len(scene.news) == 1


def test_a_turn_that_its_process_broke_off_is_asked_again():
    """The one that was to prove that it settled, too."""
    scene = Scene(marks_told=(mark(1),)).until(7)
    scene.kept["b"][-1] = replace(scene.kept["b"][-1], reason="interrupted")
    scene.news.clear()
    scene.again()
    scene.until(20)
    assert scene.asked[4:] == [("b", 7)]


OTHERS = {
    "of another target": ((mark(1, target="dr"),), {}, [], 0),
    "older than an import may be late": ((mark(-200),), {}, [], 0),
    "of a target of no runs before": ((mark(-40),), {}, [], 0),
    "turns came by themselves": ((mark(-25),), {}, [], 1),
    "after it": ((mark(30),), {}, [("a", 30), ("b", 30), ("a", 35), ("b", 35)], 1),
    "closed hours": ((mark(1),), {"entries": (entry("a", active=hours(begin="13:00")), entry("b"))}, [("b", 1), ("b", 6)], 1),
    "switched off": ((mark(1),), {"settle": None}, [], 0),
    "two that settle together": ((mark(1), mark(3, "rule off")), {"entries": (entry("a"),)}, [("a", 1), ("a", 8)], 1),
    "two apart": ((mark(1), mark(9, "rule off")), {"entries": (entry("a"),)}, [("a", 1), ("a", 6), ("a", 9), ("a", 14)], 2),
    "a budget that is used up": ((mark(1),), {"missed": {"b": Missed.BUDGET}}, [("a", 1), ("b", 1), ("a", 6), ("b", 6)], 1),
}  # fmt: skip


@pytest.mark.parametrize(("told", "scene", "asked", "news"), OTHERS.values(), ids=OTHERS)
def test_who_is_asked_after_a_mark(told, scene, asked, news):
    """Minutes after noon."""
    after = Scene(marks_told=told, **scene).until(50)
    assert after.asked == asked
    assert len(after.news) == news


def test_an_entry_whose_turn_has_not_ended_is_asked_when_it_has():
    """Never two of one entry at once, and nothing is told before all were asked."""
    scene = Scene(marks_told=(mark(1),), busy={"b"}).until(9)
    assert scene.asked == [("a", 1), ("a", 6)]
    assert scene.news == []
    scene.busy.clear()
    scene.until(20)
    assert scene.asked[2:] == [("b", 9)]
    assert len(scene.news) == 1


def test_one_that_is_handed_out_is_not_handed_out_again_while_it_runs():
    """Of it the memory knows nothing before it ends."""
    scene = Scene(marks_told=(mark(1),), entries=(entry("a"),))
    handed = []
    for minutes in range(1, 5):
        now = NOON + minutes * MINUTE
        scene.marked.look(now, Canary(entries=scene.entries), lambda one: handed.append(one.name) is None)
    assert handed == ["a"]


def test_marks_in_a_row_are_told_together_when_they_cease():
    """Each within the time to settle of the one before; what lies between marks is of neither side."""
    every = [*(mark(n * 4, f"step {n}") for n in range(5)), mark(30, "another")]
    deploy, other = grouped("prod", every[1:], every, SETTLE, NOON + 100 * MINUTE)
    assert [one.text for one in deploy.told] == ["step 1", "step 2", "step 3", "step 4"]
    assert (deploy.since, deploy.until) == (every[0].at, other.first)
    assert other.since == deploy.last
