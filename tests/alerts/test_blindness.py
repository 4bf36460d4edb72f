"""When is it told that nothing is seen?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from watched import Entry, Scene, finding, good, unclear

from probes.alerts.blindness import counted, kinds
from probes.canary import About, Missed, Severity, Turn
from probes.model import Layer, Verdict, WhoActs

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def blind(scene):
    return [alert for alert in scene.open if alert.key.about is About.BLIND]


@pytest.mark.parametrize(
    ("missed", "reason", "do"),
    [
        (Missed.OVERLAP, None, "longer interval"),
        (Missed.BUDGET, "5,000 requests of today are used up", "budget"),
        (Missed.PAUSED, "Retry-After: 3600", "`edgeprobe store resume prod` ends the pause"),
        (Missed.LATE, None, "did not run"),
        (Missed.ERROR, "no such suite", "validate"),
        (None, "our own network: example.com does not answer either", "report"),
    ],
    ids=lambda value: value.value if isinstance(value, Missed) else None,
)
def test_two_intervals_without_a_word_are_told_with_their_reason(missed, reason, do):
    """Mildly, and never as an outage."""
    scene = Scene()
    for number in (1, 2):
        assert blind(scene) == []
        scene.turn(*([] if missed else [[unclear()]]), missed=missed, reason=reason, conclusive=False)
        assert bool(blind(scene)) is (number == 2)
    alert = scene.last.alert
    assert alert.severity is Severity.WARN
    assert alert.title.startswith("[blind] what customers see is unknown: prod since")
    assert f"because: 2 x {missed.value if missed else 'inconclusive'}" in alert.text
    assert reason is None or reason in alert.text
    assert do in alert.text
    assert "down" not in (alert.title + alert.text)


@pytest.mark.parametrize("missed", [Missed.SAMPLED, Missed.DRAINED])
def test_what_is_left_out_on_purpose_is_no_blindness(missed):
    """Nor does it end one."""
    scene = Scene()
    for _ in range(5):
        scene.turn(missed=missed)
    assert scene.open == []
    scene.turn(missed=Missed.BUDGET).turn(missed=missed).turn(missed=Missed.BUDGET)
    assert len(blind(scene)) == 1
    scene.turn(missed=missed).turn(missed=missed)
    assert len(blind(scene)) == 1


def test_a_sampled_entry_is_asked_seldom():
    """Its runs are far apart, and neighbours all the same."""
    scene = Scene(entries=(Entry(sample=0.1),))
    for missed in (Missed.BUDGET, *[Missed.SAMPLED] * 12, Missed.BUDGET):
        scene.turn(missed=missed)
    assert len(blind(scene)) == 1


def test_anything_conclusive_is_a_word():
    """Good or bad; two of them in a row end it."""
    scene = Scene()
    scene.turn(missed=Missed.BUDGET).turn([good()]).turn(missed=Missed.BUDGET)
    assert scene.open == []
    scene.turn(missed=Missed.BUDGET)
    assert len(blind(scene)) == 1
    scene.turn([finding()]).turn([good()])
    assert blind(scene) == []
    assert scene.told[-1] == ("resolved", "not_measured")


def test_the_entries_of_a_target_are_one_alert():
    """That names them; another target's is another."""
    one, two, other = Entry(), Entry("long-prod"), Entry("smoke-dr", "dr")
    scene = Scene(entries=(one, two, other))
    for entry in (one, two, other, one, two, other):
        scene.turn(missed=Missed.BUDGET, entry=entry)
    assert [alert.entries for alert in blind(scene)] == [("long-prod", "smoke-prod"), ("smoke-dr",)]
    assert [what for what, _ in scene.told] == ["opened", "updated", "opened"]


def test_another_reason_is_told_once():
    """Its text leads with what it is now; what differs within a reason, and what comes again, is no news."""
    scene = Scene()
    reasons = [
        (Missed.PAUSED, "paused until 15:00 UTC: the 429 before it asked for it"),
        (Missed.PAUSED, "paused until 15:00 UTC: the 429 before it asked for it"),
        (Missed.PAUSED, "paused until 16:00 UTC: the 429 before it asked for it"),
        (Missed.BUDGET, "5,000 of 5,000 requests"),
        (Missed.BUDGET, "5,020 of 5,000 requests"),
        (Missed.PAUSED, "paused until 16:00 UTC: the 429 before it asked for it"),
        (Missed.BUDGET, "5,020 of 5,000 requests"),
    ]
    told = []
    for missed, reason in reasons:
        scene.turn(missed=missed, reason=reason)
        scene.restart()
        told.append([what for what, _ in scene.told])
    assert [len(each) for each in told] == [0, 1, 1, 2, 2, 2, 2]
    assert told[-1] == ["opened", "updated"]
    text = scene.last.alert.text
    assert "because: 1 x budget: 5,000 of 5,000 requests; 2 x paused until 15:00 UTC: the 429" in text
    assert "do: operator: raise the day's budget" in text
    (now,) = blind(scene)
    assert "because: 2 x budget: 5,020 of 5,000 requests; " in now.text


def test_runs_that_prove_nothing_are_one_reason():
    """Whatever is said of each; reasons of turns without a run stand on their own."""
    counts = None
    for verdict in (Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.WARN, None):
        counts = counted(counts, Turn("smoke-prod", "prod", NOON, verdict=verdict, reason="our own lag"))
        assert kinds(counts) == ["not conclusive"]
    counts = counted(counts, Turn("smoke-prod", "prod", NOON, missed=Missed.LATE))
    assert kinds(counts) == ["late", "not conclusive"]


def test_the_move_is_that_of_what_proved_nothing():
    """Where a finding is the reason; of a turn without a run it is that of its own reason."""
    limit = replace(
        unclear(), code="ratelimited", layer=Layer.EDGE, title="The edge's rate limit turns all away",
        advice="Look at the rate limiting rules.", who_acts=WhoActs.OPERATOR,
    )  # fmt: skip
    scene = Scene()
    for _ in range(2):
        scene.turn([limit], conclusive=False, reason="ratelimited: The edge's rate limit turns all away")
    text = scene.last.alert.text
    assert "because: 2 x inconclusive: ratelimited: The edge's rate limit turns all away\n" in text
    assert "do: operator: Look at the rate limiting rules.\n" in text
    scene.turn(missed=Missed.BUDGET)
    assert "do: operator: raise the day's budget" in scene.last.alert.text


def test_blindness_leaves_an_outage_open():
    """Both are told, each on its own."""
    scene = Scene()
    scene.turn([finding()], [finding()]).turn(missed=Missed.BUDGET).turn(missed=Missed.BUDGET)
    assert sorted(alert.key.about for alert in scene.open) == [About.BLIND, About.SERVICE]


def test_faults_of_the_canary_itself():
    """Told once, told anew in other words without a second message, and over when they are mended."""
    scene = Scene()
    for fault in ("detection failed: the planted 1010 was not found", "detection failed", None, None):
        scene.alerting.own_fault("probe.bug", fault, "see the run of the lab")
        scene.restart()
    assert scene.told == [("opened", "probe.bug"), ("resolved", "probe.bug")]
    first = next(iter(scene.memory.notices.values())).alert
    assert first.title.startswith(
        "[canary] detection failed: the planted 1010 was not found: edgeprobe since"
    )
    assert "do: see the run of the lab" in first.text
