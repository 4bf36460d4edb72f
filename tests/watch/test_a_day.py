"""Is a canary's day right as a whole: every fault told in time, nothing else told, and all of it over in the end?"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from days import day

from probes.canary import Missed
from probes.lab.faults import Faults
from probes.model import Verdict
from probes.strict_yaml import check

EVERY, SELDOM = 1 / 4, 1 / 2
"""Hours between two turns of `chat`, and of `list`."""
CANARY = """\
version: 1
listen: null
must_fail: null
sinks: [{name: hook, webhook_env: HOOK, secret_env: HOOK_KEY}]
"""
CHAT = "  - {name: chat, suite: chat, target: lab, every: 15m}\n"
LIST = "  - {name: list, suite: list, target: lab, every: 30m}\n"
UPGRADE = "maintenance: [{name: upgrade, from: 2026-11-30T14:00:00Z, until: 2026-11-30T16:00:00Z}]\n"


def fault(name, do, **when):
    row = {"id": name, "about": "", "do": do, "when": when}
    return check({"faults": [row]}, Faults, path=Path("a.yaml")).faults[0]


BLIP = fault("blip", {"answer": {"page": "nginx-502", "proxied": True}}, path=".*completions", every=20)
"""One of twenty: what is asked again at once passes."""
LIMITED = fault(
    "limited",
    {
        "answer": {
            "status": 429,
            "headers": {"content-type": "application/json", "retry-after": "2400"},
            "body": json.dumps({"error": {"message": "Rate limit reached", "type": "requests", "param": None, "code": None}}),
            "proxied": True,
        }
    },
)  # fmt: skip


@pytest.fixture
def today(tmp_path, monkeypatch):
    with day(tmp_path, monkeypatch) as made:
        made.write(f"{CANARY}entries:\n{CHAT}")
        yield made


def told_in_time(day, *real, looks=0):
    """Each (code, from, until) is one alert: opened within two intervals, resolved within two of the entry that is asked
    most seldom; there is no other. `looks`: how often the edge looked otherwise, unmarked.
    """
    found = day.outbreaks()
    assert [code for code, _, _ in found] == [code for code, _, _ in real], found
    for (code, opened, resolved), (_, begin, end) in zip(found, real, strict=True):
        assert begin <= opened <= begin + 2 * EVERY, code
        assert resolved is not None, code
        assert end <= resolved <= end + 2 * SELDOM, code
    looked = [one for one in day.heard if one.about == "change"]
    assert {one.about for one in day.heard if one not in looked} == {"service"}
    assert len(looked) == looks, [one.alert["title"] for one in looked]


def test_faults_come_and_go(today, capfd):
    """Refusals, an origin that is down, a refusal of everybody, in a day of restarts and reloads, good and bad ones."""
    more = LIST.replace("name: list", "name: more")
    today.write(f"{CANARY}{UPGRADE}entries:\n{CHAT}{LIST}")
    today.broken(1, 3, "ai-crawler-rule")
    today.at(1.8, today.again)
    today.broken(4, 4.9, BLIP)
    today.broken(5, 7, "page-522")
    today.at(5.6, lambda: today.write(f"{CANARY}{UPGRADE}entries:\n{CHAT}{LIST}{more}"))
    today.at(6.1, lambda: today.write(f"{CANARY}entries:\n{CHAT.replace('every', 'evry')}"))
    today.at(7.9, lambda: today.write(f"{CANARY}{UPGRADE}entries:\n{CHAT}{LIST}"))
    today.broken(9, 11, "challenge-all")
    today.at(10, today.again)
    today.broken(12, 13, "unlisted-model")
    today.broken(14.5, 15.5, "ai-crawler-rule")
    today.at(17, today.again)
    today.run(19)
    told_in_time(
        today,
        ("blocked.client", 1, 3),
        ("unreachable.origin", 5, 7),
        ("regression.outcome", 9, 11),
        ("blocked.client", 14.5, 15.5),
        looks=1,  # a models list without the model has none of the API's own headers
    )
    assert today.processes == 4
    hurt = [one for one in today.heard if one.about == "service"]
    planned = {one.at > 14: (one.alert["severity"], one.alert["window"]) for one in hurt}
    assert planned == {False: ("fail", None), True: ("warn", "upgrade")}
    lost = [one.alert["title"] for one in today.heard if one.code == "regression.outcome"]
    assert [title for title in lost if "down" in title] == []
    said = capfd.readouterr().err
    assert said.count("unknown key; did you mean every?") == 1
    assert said.count("taken over: ") == 2
    assert 75 <= len(today.turns("chat")) <= 77
    assert {turn.missed for turn in today.turns("chat")} == {None}


def test_a_fault_that_comes_and_goes_is_one_alert_that_says_so(today):
    """Four times half an hour of it."""
    for hour in (1, 2, 3, 4):
        today.broken(hour, hour + 0.5, "ai-crawler-rule")
    today.run(9)
    found = today.outbreaks()
    assert {code for code, _, _ in found} == {"blocked.client"}
    assert len(found) < 4
    assert 4.5 <= found[-1][2] <= 9
    assert "flapping" in today.heard[-2].alert["title"] + today.heard[-2].alert["text"]


STEPS = {
    "forward and back in an outage": (2.5, 3.0, 6.6, -2.0),
    "back and forward in an outage": (3.0, -1.5, 3.5, 1.0),
    "forward before it, back after it": (0.6, 0.3, 5.9, -1.0),
}


@pytest.mark.parametrize(("first", "by", "second", "back"), STEPS.values(), ids=STEPS)
def test_a_clock_that_is_set_makes_no_burst_and_no_silence(today, first, by, second, back):
    """And tells nothing twice."""
    today.at(first, lambda: today.step(by))
    today.broken(1, 5, "ai-crawler-rule")
    today.at(second, lambda: today.step(back))
    today.run(8)
    told_in_time(today, ("blocked.client", 1, 5))
    passed = [hour for _, hour in today.taken]
    assert all(EVERY / 4 < later - hour < EVERY * 2.1 for hour, later in pairwise(passed)), passed


def test_a_full_disk_hides_no_outage(today, capfd):
    """It is told of while nothing can be written, and another process knows of it once something can."""
    today.at(1, lambda: today.full(disk=True))
    today.broken(2, 3.5, "ai-crawler-rule")
    today.at(2.9, lambda: today.full(disk=False))
    today.at(3.2, today.again)
    today.at(4.2, today.again)
    today.run(6)
    told_in_time(today, ("blocked.client", 2, 3.5))
    assert "disk is full" in capfd.readouterr().err
    assert [turn.verdict for turn in today.turns("chat")].count(Verdict.FAIL) == 6


def test_a_webhook_that_is_away_hears_of_everything_later(today):
    """In order, once, with the times at which it was, though the canary was started anew meanwhile."""
    waiting = []
    today.at(0.5, lambda: today.deaf(sink=True))
    today.broken(1, 2, "ai-crawler-rule")
    today.at(1.4, today.again)
    today.broken(3, 4, "page-522")
    today.at(4.9, lambda: waiting.extend((len(today.parts.alerting.undelivered()), len(today.heard))))
    today.at(5, lambda: today.deaf(sink=False))
    today.run(6)
    assert waiting == [4, 0]
    told_in_time(today, ("blocked.client", 1, 2), ("unreachable.origin", 3, 4))
    assert [one.told for one in today.heard if one.told != "updated"] == ["opened", "resolved"] * 2
    assert today.parts.alerting.undelivered() == []


def test_a_limit_of_our_own_key_pauses_us_and_is_no_outage(today):
    """For as long as was asked, over restarts; what it costs is sight, and that is what is told."""
    today.broken(1, 3.5, LIMITED)
    for hour in (1.6, 2.2, 2.8):
        today.at(hour, today.again)
    today.run(6)
    assert today.outbreaks() == []
    (blind,) = today.outbreaks("blind")
    assert blind[0] == "not_measured"
    assert 3.5 <= blind[2] <= 3.5 + 2400 / 3600 + 2 * EVERY
    meanwhile = [turn for turn in today.turns("chat") if 1 < today.hour_of(turn.due) < 3.5]
    assert {turn.missed for turn in meanwhile} == {None, Missed.PAUSED}
    asked = [turn for turn in meanwhile if turn.missed is None]
    assert 2 <= len(asked) <= 4
    assert all((later.due - turn.due).total_seconds() >= 2400 for turn, later in pairwise(asked))
    assert sum(turn.spend.requests for turn in asked) <= 3 * len(asked)
    assert today.turns("chat")[-1].verdict is Verdict.PASS


EVERYBODY = {"challenge-all": "regression.outcome", "status-529": "overloaded"}


@pytest.mark.parametrize("fault", EVERYBODY)
def test_what_everybody_meets_is_told_once_and_ends(today, fault):
    """By all the cases of a suite, each through clients of its own: its end is seen in the cases that it was met in."""
    today.write(f"{CANARY}entries:\n  - {{name: smoke, suite: smoke, target: lab, every: 30m}}\n")
    today.broken(1.4, 2.6, fault)
    today.run(4.5)
    found = today.outbreaks()
    assert [code for code, _, _ in found] == [EVERYBODY[fault]], found
    assert 1.4 <= found[0][1] <= 2.5
    assert found[0][2] is not None
    assert 2.6 <= found[0][2] <= 3.8


ALONE = {
    "challenge-all": "regression.outcome",
    "block-all": "regression.outcome",
    "status-529": "overloaded",
    "page-522": "unreachable.origin",
    "silent": "timeout.first_byte",
    "ua-hang": "timeout.first_byte",
}


@pytest.mark.parametrize("fault", ALONE)
def test_who_only_knocks_hears_of_an_outage_too(today, fault):
    """Where no entry buys an answer, the memory of who was let in makes it a failure, and nothing blinds us."""
    today.write(f"{CANARY}entries:\n  - {{name: who, suite: identity, target: lab, every: 30m}}\n")
    today.broken(1.2, 2.2, fault)
    today.run(4)
    [(code, opened, resolved)] = today.outbreaks()
    assert code == ALONE[fault]
    assert 1.2 <= opened <= 1.2 + 2 * SELDOM
    assert resolved is not None
    assert 2.2 <= resolved <= 2.2 + 3 * SELDOM
    assert {one.about for one in today.heard} == {"service"}
    assert not any("down" in one.alert["title"] for one in today.heard)
    hurt = {name for one in today.heard for name in one.alert["clients"]}
    assert set(today.heard[-1].alert["clients"]) == hurt
