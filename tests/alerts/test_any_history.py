"""Whatever happens, in whatever order: what always holds of alerts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from watched import EVERY, NAMES, Scene, finding, good, unclear

from probes.alerts import Alerting
from probes.canary import AlertState, Missed, Told

HURT = {
    "block": "blocked.client",
    "reset": "unreachable.reset",
    "error": "server.error",
}
QUIET = 60
"""Good turns after which everything has to be over: six passes of the slowest, and more."""

kinds = st.sampled_from(["fine", "block", "reset", "error", "unclear", "missed"])
clients = st.sets(st.sampled_from(NAMES), min_size=1).map(lambda names: tuple(sorted(names)))
turns = st.lists(st.tuples(kinds, clients, st.booleans()), max_size=40)


def found(kind, hurt):
    if kind == "unclear":
        return [unclear(NAMES)]
    bad = [finding(HURT[kind], hurt)] if kind in HURT else []
    fine = tuple(name for name in NAMES if not bad or name not in hurt)
    return [*bad, *([good(fine)] if fine else [])]


def take(scene, kind, hurt, *, again):
    """One turn; a bad one may be asked again and be the same."""
    if kind == "missed":
        scene.turn(missed=Missed.BUDGET)
        return
    asked = [found(kind, hurt)] * (2 if again and kind in HURT else 1)
    scene.turn(*asked, conclusive=kind != "unclear")


def states(scene):
    """All that was ever kept, without what depends on nothing but identity."""
    return sorted(map(repr, scene.memory.rows.values())), [
        (n.told, n.alert.key, n.alert.text) for n in scene.memory.notices.values()
    ]


@settings(deadline=None)
@given(turns)
def test_never_two_open_alerts_of_one_key(history):
    """In the memory, too, after every turn."""
    scene = Scene()
    for kind, hurt, again in history:
        take(scene, kind, hurt, again=again)
        live = [a.key for a in scene.memory.alerts() if a.state in {AlertState.OPEN, AlertState.SUSPECTED}]
        assert len(live) == len(set(live))


@settings(deadline=None)
@given(turns)
def test_no_alert_without_a_failing_finding(history):
    """Whatever is told was found in a run before; blindness was never a fault of the service."""
    scene, met = Scene(), {"not_measured"}
    for kind, hurt, again in history:
        met |= {HURT[kind]} if kind in HURT else set()
        take(scene, kind, hurt, again=again)
        assert {alert.key.code for alert in scene.open} <= met


@settings(deadline=None)
@given(turns, st.sampled_from(sorted(HURT)), clients, st.booleans())
def test_an_outbreak_of_two_intervals_is_open_within_them(history, kind, hurt, again):
    """Whatever was before, and whether or not it could be asked again at once."""
    scene = Scene()
    for before, whom, twice in history:
        take(scene, before, whom, again=twice)
    for _ in range(2):
        take(scene, kind, hurt, again=again)
    mine = [alert for alert in scene.open if alert.key.code == HURT[kind]]
    assert len(mine) == 1
    assert set(hurt) <= set(mine[0].clients)


@settings(deadline=None)
@given(turns)
def test_all_of_them_end(history):
    """Everything that was opened is resolved once everything passes, as often as it was opened."""
    scene = Scene()
    for kind, hurt, again in history:
        take(scene, kind, hurt, again=again)
    for _ in range(QUIET):
        take(scene, "fine", (), again=False)
    assert scene.memory.alerts() == []
    assert scene.count(Told.OPENED) == scene.count(Told.RESOLVED)
    for alert in scene.memory.rows.values():
        heard = [n.told for n in scene.memory.notices.values() if n.alert.id == alert.id]
        begun_and_ended = [told for told in heard if told is not Told.UPDATED]
        assert begun_and_ended in ([Told.OPENED, Told.RESOLVED], [])


@settings(max_examples=60, deadline=None)
@given(turns, st.sets(st.integers(0, 40)))
def test_restarts_change_nothing(history, at):
    """Another process that knows what was kept goes on as this one would have."""
    steady, restarted = Scene(), Scene()
    for number, (kind, hurt, again) in enumerate(history):
        take(steady, kind, hurt, again=again)
        take(restarted, kind, hurt, again=again)
        if number in at:
            restarted.restart()
    assert states(steady) == states(restarted)


@pytest.mark.parametrize("step", [timedelta(hours=-1), timedelta(days=-1), timedelta(days=1)], ids=str)
def test_a_clock_that_is_set_opens_and_ends_nothing(step):
    """What was open stays so until it passes; what follows is judged as ever."""
    scene = Scene()
    bad, fine = found("block", ("openai-py",)), found("fine", ())
    scene.turn(bad, bad)
    scene.wall.time += step
    scene.tick(after=timedelta())
    assert [what for what, _ in scene.told] == ["opened"]
    scene.turn(bad).turn(fine).turn(fine)
    assert [what for what, _ in scene.told] == ["opened", "resolved"]
    scene.turn(bad, bad)
    assert scene.told[-1][0] == "opened"


def test_a_new_process_reads_what_there_is_once():
    """It knows of open alerts, of suspicions, and of how often this came lately."""
    scene = Scene()
    scene.turn(found("block", ("curl",)))
    other = Alerting(scene.memory, scene.watching, scene.wall, interval=lambda _: EVERY)
    assert other.open() == []
    scene.restart()
    scene.turn(found("block", ("curl",)))
    assert [alert.key.code for alert in scene.open] == ["blocked.client"]
