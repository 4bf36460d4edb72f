"""Turns, alerts, notices and marks: each comes back as it was last told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from memories import NOW, alert, notice, turn

from probes.canary import AlertState, Mark, Missed
from probes.memory import Memory
from probes.model import Spend, Verdict

MINUTE = timedelta(minutes=1)
RAN = turn(
    began=NOW, ended=NOW + MINUTE, run="r", verdict=Verdict.PASS, conclusive=True, spend=Spend(1, 2, 3, 0.1)
)


def test_turns(memory):
    """Newest first; what is told of one due time takes the place of what was told before."""
    memory.turn(turn(began=NOW))
    memory.turn(RAN)
    late = turn(NOW + MINUTE, missed=Missed.OVERLAP, reason="its run before was still under way")
    memory.turn(late)
    memory.turn(turn(entry="other"))
    assert memory.turns("smoke-prod") == [late, RAN]
    assert memory.turns("smoke-prod", 1) == [late]
    assert memory.last_conclusive("smoke-prod") == NOW + MINUTE
    assert memory.last_conclusive("other") is None


def test_alerts(memory):
    """With all that they hold; a resolved one is only told where it is asked for."""
    opened = alert("a1")
    resolved = alert("a2", AlertState.RESOLVED, title="back")
    memory.keep(opened)
    memory.keep(replace(resolved, state=AlertState.OPEN, resolved=None))
    memory.keep(resolved)
    assert memory.alerts() == [opened]
    assert memory.alerts(open_only=False) == [opened, resolved]


def test_notices(memory):
    """Until they are delivered, in the order in which they were made."""
    first = notice("n1", tries=2, fault="refused", next_try=NOW)
    second = replace(notice("n0"), made=NOW + MINUTE)
    for one in (second, first, notice("n2")):
        memory.notice(one)
    memory.notice(notice("n2", delivered=NOW))
    assert memory.undelivered() == [first, second]


def test_marks(memory):
    """By their time; the same one told twice is one."""
    marks = [Mark(NOW, "bot rules: block"), Mark(NOW, "dns"), Mark(NOW + MINUTE, "deploy", "audit log")]
    for mark in (*marks, marks[0]):
        memory.mark(mark)
    assert memory.marks(NOW) == marks
    assert memory.marks(NOW, NOW + MINUTE) == marks[:2]
    assert memory.marks(NOW + MINUTE) == marks[2:]


def test_they_survive_a_restart(reports):
    """All of them."""
    with Memory.open() as memory:
        memory.turn(RAN)
        memory.keep(alert())
        memory.notice(notice())
        memory.mark(Mark(NOW, "deploy"))
    with Memory.open() as memory:
        assert (memory.turns("smoke-prod"), memory.alerts(), memory.undelivered()) == (
            [RAN],
            [alert()],
            [notice()],
        )
        assert memory.marks(NOW) == [Mark(NOW, "deploy")]


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "x" * 100_000], ids=["NUL", "half a pair", "endless"])
def test_hostile_texts_are_kept(memory, text):
    """But for half a pair, which no text can hold."""
    memory.keep(alert(text=text, title=text))
    memory.mark(Mark(NOW, text))
    memory.turn(turn(reason=text))
    shown = text.replace("\ud800", "\ufffd")
    assert (
        memory.alerts()[0].text == memory.marks(NOW)[0].text == memory.turns("smoke-prod")[0].reason == shown
    )
