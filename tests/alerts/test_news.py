"""Is what nobody waits for the end of told once, to whom it is for, whatever process tells it?"""

from __future__ import annotations

from datetime import timedelta

import pytest
from watched import EVERY, START, Planned, Receiver, Scene, finding, good

from probes.alerts import News
from probes.alerts.text import Words
from probes.canary import About, AlertKey, AlertState, Mark, Severity, Told
from probes.model import Layer

KEY = AlertKey("prod", About.CHANGE, Layer.EDGE, "Cloudflare", "regression.fingerprint")


def news(*names, unless=START, **more):
    words = Words(
        "The header x is new", (("changed", "absent → there"),), "operator: Find out who changed what."
    )
    return News(KEY, names or ("x",), words, START, unless, ("smoke-prod",), "20261130-000001-abcd", **more)


def test_news_are_told_once_and_are_never_open():
    """Mildly, with where to read on; a restart knows of them."""
    scene = Scene(link="https://canary.example.com/runs/{run}")
    assert scene.alerting.note(news())
    scene.restart()
    assert not scene.alerting.note(news())
    assert (scene.told, scene.open) == ([("noted", "regression.fingerprint")], [])
    alert = scene.last.alert
    assert (scene.last.told, alert.state, alert.severity) == (Told.NOTED, AlertState.RESOLVED, Severity.WARN)
    assert alert.title == "[change] The header x is new: prod"
    assert alert.text.splitlines()[-1] == "report: https://canary.example.com/runs/20261130-000001-abcd"


AGAIN = {
    "the same that another saw": ((news(),), news(), 0),
    "the same after it was otherwise in between": ((news(),), news(unless=START + EVERY), 1),
    "of two one that is new": ((news("x"),), news("x", "y"), 1),
    "of two both told apart": ((news("x"), news("y")), news("x", "y"), 0),
}  # fmt: skip


@pytest.mark.parametrize(("before", "now", "told"), AGAIN.values(), ids=AGAIN)
def test_what_was_told_since_it_was_otherwise_is_no_news(before, now, told):
    """By what it is made of, in whichever entry."""
    scene = Scene()
    for one in before:
        scene.wall.time += timedelta(seconds=1)
        assert scene.alerting.note(one)
    scene.wall.time += 2 * EVERY
    assert scene.alerting.note(now) is bool(told)
    assert scene.count(Told.NOTED) == len(before) + told


@pytest.mark.parametrize(
    ("receiver", "heard"),
    [(Receiver(), 1), (Receiver(min="fail"), 0), (Receiver(about=(About.SERVICE,)), 0), (Receiver(about=(About.CHANGE,)), 1)],
    ids=["all", "severe", "service", "change"],
)  # fmt: skip
def test_who_hears_of_a_change(receiver, heard):
    """As of every alert, by `about` and `min`."""
    scene = Scene(sinks=(receiver,))
    scene.alerting.note(news())
    assert len(scene.memory.notices) == heard


HOUR = timedelta(hours=1)
PLANS = {
    "seen first in it": (Planned("move", START + EVERY, START + HOUR), True),
    "over before it was seen": (Planned("move", START + EVERY / 4, START + EVERY / 2), True),
    "the old look seen last in it": (Planned("move", START - HOUR, START + EVERY / 2), True),
    "by the clock": (Planned("move", cron="0 * * * *", lasts=HOUR), True),
    "over before": (Planned("move", START - HOUR, START), False),
    "begun after": (Planned("move", START + 3 * EVERY, START + HOUR), False),
    "of another target": (Planned("move", START, START + HOUR, targets=("dr",)), False),
}


@pytest.mark.parametrize(("window", "planned"), PLANS.values(), ids=PLANS)
def test_a_look_that_changed_during_a_maintenance_is_told_as_planned(window, planned):
    """Whatever lies between the old look and the new one; it says so, and what is to be done is another thing."""
    scene = Scene(maintenance=(window,))
    scene.alerting.note(news(seen=START + 2 * EVERY))
    alert = scene.last.alert
    assert alert.window == ("move" if planned else None)
    assert alert.title.endswith(": prod, during maintenance move" if planned else ": prod")
    assert ("maintenance: it came about during move, or beside it" in alert.text) is planned
    assert ("do: operator: See that move was for it" in alert.text) is planned


def test_news_of_a_mark_are_of_no_maintenance():
    """The mark says what was meant."""
    scene = Scene(maintenance=(Planned("move", START - HOUR, START + HOUR),))
    scene.alerting.note(news())
    assert scene.last.alert.window is None


def test_an_alert_names_the_marks_that_can_be_of_it():
    """Of its own target, or of whichever, with who made them."""
    scene = Scene()
    scene.memory.said = [
        Mark(START, "everywhere", author="ops@example.com"),
        Mark(START, "here", target="prod"),
        Mark(START, "elsewhere", target="dr", author="ops@example.com"),
    ]
    scene.turn([finding()], [finding()])
    said = [line for line in scene.last.alert.text.splitlines() if line.startswith("change: ")]
    assert [line.partition('"')[2] for line in said] == [
        'everywhere" (ops@example.com, edgeprobe mark)',
        'here" (edgeprobe mark)',
    ]


def test_news_neither_open_nor_end_an_alert():
    """Of the same target, opened before and resolved after them."""
    scene = Scene()
    scene.turn([finding()], [finding()])
    scene.alerting.note(news())
    assert [alert.key.code for alert in scene.open] == ["blocked.client"]
    scene.turn([good()]).turn([good()])
    assert [what for what, _ in scene.told] == ["opened", "noted", "resolved"]


def test_a_strangers_words_stay_in_their_line():
    """A mark's text comes from an audit log, a header's name from a server."""
    words = Words('after "a\nForged: yes\x1b[2J"', (("change", "b\nforged: yes\x07"),))
    scene = Scene()
    scene.alerting.note(News(KEY, ("x",), words, START, START, ("smoke-prod",)))
    said = f"{scene.last.alert.title}\n{scene.last.alert.text}"
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        '[change] after "a',
        "change",
        "watched",
    ]
    assert said.replace("\n", "").isprintable()
