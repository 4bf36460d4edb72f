"""What does a person read?"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from watched import EVERY, START, Planned, Scene, Wall, finding, good, unclear

from probes.canary import Mark, Missed, Severity
from probes.model import Confidence, Factor, Layer, Observed, WhoActs
from probes.watch import wall as watch_wall

SAMPLES = Path(__file__).parents[2] / "reports" / "samples"

BLOCKED = finding(
    clients=("openai-py",),
    title="openai-py and openai-py-async are refused at the edge",
    observed=Observed(4, 4),
    factor=Factor.USER_AGENT,
    detail=(
        ("seen", '403 "error code: 1010" in 12 ms; curl with the same request in the same minute: 401 JSON, let pass 3 of 3'),
        ("because", "the user agent alone: 'OpenAI/Python 3.57.0' is refused with or without x-stainless-* headers"),
        ("so", "every customer on openai-py and openai-py-async is locked out; curl and httpx pass"),
        ("emulated", "nobody"),
        ("look up", "ray 8f3a0c1d2e3f4a5b, colo FRA"),
    ),
    advice="Let the API path skip the AI-crawler and bot rules for this hostname (Security -> Bots), then test again with the SDK itself.",
)  # fmt: skip
RESET = finding(
    "unreachable.reset", ("curl", "httpx", "openai-py"), layer=Layer.NETWORK, product=None, vendor_code=None,
    title="Ended before any answer", observed=Observed(9, 9), confidence=Confidence.MEDIUM, who_acts=WhoActs.OPERATOR,
    detail=(("seen", "no answer (reset) after 4 ms through curl, httpx and openai-py"),),
    advice="Repeat on a fresh connection; if only reuse fails, keep idle connections for a shorter time.",
)  # fmt: skip


def opened():
    scene = Scene(link="https://canary.example.com/runs/{run}")
    scene.memory.said = [
        Mark(
            START + timedelta(minutes=4),
            "bot_management.ai_bots_protection: disabled -> block",
            "ops@example.com",
        ),
        Mark(START - timedelta(hours=9), "an old one"),
    ]
    scene.turn([BLOCKED, good(("curl", "httpx"))], [BLOCKED, good(("curl", "httpx"))])
    return scene.turn([BLOCKED, good(("curl", "httpx"))])


def resolved():
    return opened().turn([good()]).turn([good()])


def planned():
    window = Planned("db upgrade", START, START + timedelta(hours=1), targets=("prod",))
    scene = Scene(maintenance=(window,))
    names = ("curl", "httpx", "openai-py")
    scene.memory.last_passes = {name: START - timedelta(minutes=3, seconds=n) for n, name in enumerate(names)}
    return scene.turn([RESET], [RESET])


def outlived():
    return planned().turn([RESET], after=timedelta(hours=2))


def flapping():
    scene = Scene()
    for _ in range(2):
        scene.turn([RESET], [RESET]).turn([good()]).turn([good()])
    return scene.turn([RESET], [RESET])


def blind():
    scene = Scene()
    scene.turn(missed=Missed.PAUSED, reason="the server asked for a pause of 3,600 s")
    scene.turn(
        [unclear()], conclusive=False, reason="our own network: https://example.com/ does not answer either"
    )
    return scene.turn(missed=Missed.PAUSED, reason="the server asked for a pause of 3,600 s")


STORIES = [opened, resolved, planned, outlived, flapping, blind]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_texts_are_those_of_the_samples(story):
    """What is kept of the alert, word by word; EDGEPROBE_UPDATE_SAMPLES=1 writes them anew."""
    newest = max(story().memory.rows.values(), key=lambda alert: alert.updated)
    path, text = SAMPLES / f"alert-{story.__name__}.txt", f"{newest.title}\n{newest.text}\n"
    if os.environ.get("EDGEPROBE_UPDATE_SAMPLES"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def test_a_plan_makes_it_mild_and_what_outlives_it_severe():
    """It is told at once, and again when the plan is over and it is not."""
    scene = planned()
    assert (scene.last.alert.window, scene.last.alert.severity) == ("db upgrade", Severity.WARN)
    scene.turn([RESET])
    assert len(scene.memory.notices) == 1
    scene.turn([RESET], after=timedelta(hours=2)).turn([RESET])
    assert [what for what, _ in scene.told] == ["opened", "updated"]
    assert scene.last.alert.severity is Severity.FAIL
    assert scene.last.alert.window == "db upgrade"


def test_a_plan_that_is_not_of_this_target_is_none():
    """Nor is one that is over."""
    windows = (Planned("other", START, START + timedelta(hours=1), targets=("dr",)),
               Planned("past", START - timedelta(hours=2), START))  # fmt: skip
    scene = Scene(maintenance=windows).turn([RESET], [RESET])
    assert scene.last.alert.window is None
    assert scene.last.alert.severity is Severity.FAIL


BERLIN = Planned("weekly", cron="0 3 * * sun", lasts=timedelta(hours=1), timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("at", "inside"),
    [
        (datetime(2026, 11, 29, 1, 59, 59, tzinfo=UTC), False),
        (datetime(2026, 11, 29, 2, 0, tzinfo=UTC), True),
        (datetime(2026, 11, 29, 2, 59, 59, tzinfo=UTC), True),
        (datetime(2026, 11, 29, 3, 0, tzinfo=UTC), False),
        (datetime(2026, 7, 5, 1, 30, tzinfo=UTC), True),
        (datetime(2026, 7, 5, 2, 30, tzinfo=UTC), False),
        (datetime(2026, 11, 30, 2, 30, tzinfo=UTC), False),
    ],
    ids=["before", "begins", "last second", "over", "summer", "over in summer", "another day"],
)
def test_a_weekly_window_is_of_its_own_zone(at, inside):
    """Its first second is in it, its last is not."""
    from probes.alerts.windows import window_at

    found = window_at((BERLIN,), "prod", at)
    assert (found is not None) is inside
    assert found is None or found.begin <= at < found.until


HOSTILE = (
    "a\x1b[31m\x00\u202e\r\n[link](http://evil.example) <!channel> @here sk-proj-abcDEF1234567890abcdef "
    + "x" * 9000
)


def test_a_stranger_s_words_do_nothing_and_tell_no_key():
    """One line each, cut, without controls or anything shaped like a key."""
    bad = finding(
        title=HOSTILE, detail=(("seen", HOSTILE), ("so", "\n\n")), vendor_code="1010\n\x07", advice=HOSTILE
    )
    scene = Scene()
    scene.memory.said = [Mark(START, HOSTILE, HOSTILE)]
    scene.turn([bad], [bad])
    alert = scene.last.alert
    assert len(alert.title) <= 240
    assert all(len(line) < 440 for line in alert.text.split("\n"))
    for text in (alert.title, alert.text.replace("\n", "")):
        assert not any(ord(c) < 32 or c in "\x7f\u202e\r" for c in text)
        assert "sk-proj-abc" not in text
    assert alert.text.count("\n") < 12


def test_the_best_finding_gives_the_words():
    """One that isolated the cause is not replaced by one that only met it."""
    plain = finding(case="smoke/completion")
    scene = Scene()
    scene.turn([plain], [plain])
    assert "(openai-py, the only one asked)" in scene.last.alert.title
    scene.turn([BLOCKED]).turn([plain])
    assert "are refused at the edge" in scene.open[0].title


def test_yesterday_is_said_with_its_date():
    """What began before midnight."""
    scene = Scene()
    scene.turn([RESET], [RESET], after=timedelta(hours=9))
    for _ in range(4):
        scene.turn([RESET], after=EVERY * 12)
    assert "since 2026-11-30 23:01 UTC (" in scene.open[0].title


def test_an_outbreak_ends_with_the_last_turn_that_met_it():
    """When that ended, not when it began: a time-out lasts; from the first answer to that is how long it was."""
    scene, minutes = Scene(), timedelta(minutes=2)
    scene.turn([RESET], [RESET], took=minutes).turn([RESET], took=minutes).turn([good()]).turn([good()])
    alert = scene.last.alert
    assert alert.title.endswith(" from 14:06 UTC to 14:15 UTC (9 min)")
    assert alert.text.startswith("resolved: met last at 14:15 UTC; over at 14:25 UTC\n")


def test_in_scaled_time_people_read_the_time_of_their_own_clock():
    """A canary whose hours take minutes says minutes."""
    wall = watch_wall.Wall(0.1)
    wall._began = wall._origin = START

    class Fast(Wall):
        def shown(self, at):
            return wall.shown(at)

    scene = Scene()
    scene.wall = Fast(START)
    scene.restart()
    began = START + EVERY / 10
    scene.turn([RESET], [RESET]).turn([good()]).turn([good()])
    opened, resolved = (notice.alert for notice in scene.memory.notices.values())
    assert f"since {began:%H:%M} UTC (1 interval)" in opened.title
    assert resolved.text.startswith(
        f"resolved: met last at {began:%H:%M} UTC; over at {START + 3 * EVERY / 10:%H:%M} UTC\n"
    )
    assert wall.shown(START - EVERY) is None


def test_a_title_counts_no_cases():
    """Asked again and again in several cases a sum says nothing; of clients it is said how many are hurt."""
    alert = opened().last.alert
    assert alert.title.endswith("prod since 14:06 UTC (1 interval)")
    assert "clients: openai-py (1 of 3); curl and httpx are fine" in alert.text


def test_after_a_restart_in_scaled_time_no_time_is_told_that_is_not_known():
    """A wrong one would have the end before the beginning."""
    first, second = watch_wall.Wall(0.1), watch_wall.Wall(0.1)
    first._began = first._origin = second._origin = START
    scene = Scene()
    scene.wall.shown = first.shown
    scene.turn([RESET], [RESET])
    second.go_on(scene.wall.time)
    second._began = START + timedelta(minutes=30)
    scene.wall.shown = second.shown
    scene.restart()
    scene.turn([good()]).turn([good()])
    alert = scene.last.alert
    assert alert.title.endswith("(every client asked): prod")
    assert alert.text.startswith("resolved: over at 14:32 UTC\n")
    scene.turn([RESET], [RESET])
    scene.turn([good()]).turn([good()])
    assert scene.last.alert.title.endswith("prod from 14:32 UTC to 14:32 UTC (0 s)")


def test_days_that_run_faster_never_come_twice():
    """The next process goes on where the one before it stopped; in real time the clock alone counts."""
    later = datetime.now(UTC) + timedelta(days=3)
    for scale in (0.1, 1.0):
        wall = watch_wall.Wall(scale)
        wall.go_on(later)
        wall.go_on(None)
        wall.go_on(later - timedelta(days=9))
        assert (wall.now() > later) is (scale != 1.0)
        assert wall.shown(later) == (None if scale != 1.0 else later)
        assert abs(wall.shown(wall.now()) - datetime.now(UTC)) < timedelta(seconds=60)


def test_an_outbreak_begins_with_the_first_bad_answer():
    """Not with the run, which may have lasted for minutes by then."""
    scene, late = Scene(), timedelta(minutes=2)
    scene.turn([RESET], [RESET], answered=late, took=2 * late)
    assert "since 14:08 UTC (1 interval)" in scene.last.alert.title
    scene.turn([RESET], [RESET], answered=2 * late)
    assert scene.open[0].intervals == 2


EVERYBODY = replace(RESET, code="regression.outcome")
ALONE = replace(RESET, client="curl", evidence=("x-curl",))


@pytest.mark.parametrize(
    "before", [([ALONE],), ([EVERYBODY], [good()])], ids=["one had trouble", "all had, then one was let in"]
)
def test_what_hurts_everybody_did_not_begin_before_one_was_let_in(before):
    """What was earlier was no outage of all."""
    scene = Scene().turn(*before)
    scene.turn([EVERYBODY], served=scene.wall.time + timedelta(minutes=3))
    assert "since 14:09 UTC" in scene.last.alert.title


@pytest.mark.parametrize("order", [1, -1])
def test_the_strongest_finding_tells_an_outage(order):
    """The one that speaks of most clients and requests, wherever it stands."""
    least = replace(
        RESET, case="smoke/error_format", client="httpx", evidence=("x-httpx",), observed=Observed(1, 19),
        detail=(("seen", "no answer (reset) after 5 ms to httpx"), ("because", "one"), ("so", "two")),
        confidence=Confidence.HIGH,
    )  # fmt: skip
    found = [least, RESET][::order]
    text = Scene().turn(found, found).last.alert.text
    assert "through curl, httpx and openai-py, 9 of 9" in text
    assert "1 of 19" not in text


def test_a_resolve_bears_the_title_that_was_told():
    """Not that of the last run, which was half mended; whom it hurt stands below it as before."""
    less = replace(
        RESET,
        title="Ended before any answer, of curl",
        client="curl",
        evidence=("x-curl",),
        confidence=Confidence.HIGH,
    )
    scene = Scene().turn([RESET], [RESET])
    told = scene.last.alert.title.partition(": prod")[0]
    scene.turn([less, good(("httpx", "openai-py"))]).restart()
    scene.turn([good()]).turn([good()])
    assert scene.last.alert.title.startswith(f"[resolved] {told}: prod from ")
    assert "clients: curl, httpx, openai-py\n" in scene.last.alert.text
