"""Does it all hold over the canary's real memory?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from watched import START, Lists, Planned, Scene, finding, good, unclear

from probes.canary import AlertState, Mark, Missed
from probes.errors import UsageError
from probes.memory import Memory

BAD, WORSE, FINE = [finding()], [finding(clients=("openai-py", "curl"))], [good()]
STORY = [
    (BAD,), (BAD,), (WORSE,), (WORSE,), (FINE,), (FINE,), ([unclear()],), ([unclear()],), (FINE,), (FINE,), (BAD, BAD),
    (FINE,), (BAD,), (FINE,), (FINE,), (BAD, BAD), (FINE,), (FINE,),
]  # fmt: skip


@pytest.fixture
def stored(tmp_path):
    """Where a memory is, and how it is opened again."""
    return f"sqlite:///{tmp_path / 'edgeprobe.db'}"


def play(scene, *, between=lambda: None):
    for asked in STORY:
        scene.turn(*asked, conclusive=asked[0][0].verdict != "inconclusive")
        between()
    scene.turn(missed=Missed.BUDGET, reason="5,000 requests are used up").turn(missed=Missed.BUDGET)


def test_a_database_remembers_as_lists_do(stored):
    """The same alerts and notices, though each turn is taken by another process."""
    plain = Scene()
    play(plain)
    scene = Scene(memory=Memory.open(stored))

    def again():
        scene.memory.close()
        scene.memory = Memory.open(stored)
        scene.restart()

    play(scene, between=again)
    with closing(scene.memory):
        assert {a.id: a for a in scene.memory.alerts(open_only=False)} == plain.memory.rows
        assert {n.id: n for n in scene.memory.undelivered()} == plain.memory.notices
        assert [alert.state for alert in scene.memory.alerts()].count(AlertState.OPEN) == len(scene.open) == 1


def test_marks_are_named(stored):
    """Those of the hours before it began."""
    with closing(Memory.open(stored)) as memory:
        memory.mark(Mark(START, "ai bots: off -> block", "ops"))
        memory.mark(Mark(START - timedelta(hours=5), "long ago"))
        scene = Scene(memory=memory).turn(BAD, BAD)
        (alert,) = scene.open
        assert 'change: marked at 14:01 UTC: "ai bots: off -> block" (ops)' in alert.text
        assert "long ago" not in alert.text


class Unreadable(Lists):
    """A database of which a page was lost."""

    def marks(self, since, until=None):
        raise UsageError("edgeprobe.db: database disk image is malformed")

    def passed(self, target, vantage, clients, before):
        raise UsageError("edgeprobe.db: database disk image is malformed")


def test_a_database_that_cannot_be_read_costs_the_alert_its_asides_alone():
    """It is told all the same."""
    window = Planned("upgrade", START, START + timedelta(hours=1))
    scene = Scene(memory=Unreadable(), maintenance=(window,)).turn(BAD, BAD).turn(FINE).turn(FINE)
    assert [what for what, _ in scene.told] == ["opened", "resolved"]


def test_a_database_that_takes_nothing_costs_nothing(stored, capfd):
    """Locked by another, as a full disk would be: alerts go on, and are written when it is free."""
    with closing(Memory.open(stored)) as memory:
        scene = Scene(memory=memory)
        path = stored.removeprefix("sqlite:///")
        memory._database.write(lambda connection: connection.exec_driver_sql("pragma busy_timeout = 1"))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            scene.turn(BAD, BAD).turn(FINE).turn(FINE)
            assert memory.fault
            assert [notice.told.value for notice in memory.undelivered()] == ["opened", "resolved"]
            other.execute("rollback")
        scene.turn(BAD, BAD)
        assert memory.fault is None
    with closing(Memory.open(stored)) as memory:
        assert [notice.told.value for notice in memory.undelivered()] == ["opened", "resolved", "opened"]
        assert len(memory.alerts()) == 1
