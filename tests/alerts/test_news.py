"""Is what nobody waits for the end of told once, to whom it is for, whatever process tells it?"""

from __future__ import annotations

from datetime import timedelta

import pytest
from watched import EVERY, START, Receiver, Scene, finding, good

from probes.alerts import News
from probes.alerts.text import Words
from probes.canary import About, AlertKey, AlertState, Severity, Told
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
