"""Is a change told once, with the mark that explains it, and nothing else?"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from days import START, day
from test_a_day import CANARY, CHAT, fault

from probes.canary import Mark
from probes.memory import Memory

LIST = "  - {name: list, suite: list, target: lab, every: 20m}\n"
LOOK = fault("look", {"add_headers": {"x-request-policy": "v2"}})
SETTLE = 0.085
"""Hours, a little more than `settle` is by itself."""


@pytest.fixture
def today(tmp_path, monkeypatch):
    with day(tmp_path, monkeypatch) as made:
        made.write(f"{CANARY}entries:\n{CHAT}{LIST}")
        yield made


def mark(day, hour, text="bot rule on", *, imported=None):
    """Written as another process does, at its time or `imported` later; the canary looks again when it may have settled."""

    def write():
        with Memory.open(now=day.wall.now) as memory:
            memory.mark(Mark(START + timedelta(hours=hour), text, author="ops"))

    day.at(imported or hour, write)
    day.at((imported or hour) + SETTLE, lambda: None)


def changes(day):
    return [one for one in day.heard if one.about == "change"]


def asked(day, entry, begin, end):
    """Hours at which it began a turn in that time."""
    hours = [round(day.hour_of(turn.began), 3) for turn in day.turns(entry) if turn.began is not None]
    return [hour for hour in hours if begin <= hour < end]


@pytest.mark.parametrize("again", [(), (2.05,), (2.05, 2.0901)], ids=["one process", "a restart", "restarts"])
def test_what_a_mark_broke_is_told_once_and_names_it(today, again):
    """Each entry is asked at once and after settling, also by another process; the service's own alert is told as ever."""
    mark(today, 2.03)
    today.broken(2.03, 3.6, "ai-crawler-rule")
    for hour in again:
        today.at(hour, today.again)
    today.run(4.6)
    [told] = changes(today)
    assert (told.told, told.code, told.alert["severity"]) == ("noted", "regression.outcome", "warn")
    assert told.at == pytest.approx(2.03 + SETTLE, abs=0.01)
    assert 'after "bot rule on", marked at 02:01 UTC' in told.alert["title"]
    assert told.alert["title"].startswith("[change] openai-py worked before and fails now, ")
    assert told.alert["entries"] == ["chat", "list"]
    for entry in ("chat", "list"):
        assert {2.03, round(2.03 + SETTLE, 3)} <= set(asked(today, entry, 2.0, 2.2)), entry
    assert [code for code, _, _ in today.outbreaks()] == ["blocked.client"]


def test_a_mark_that_did_nothing_is_told_as_that(today):
    """With what so few samples could have shown, and once, whatever else is restarted or imported later."""
    mark(today, 2.03, "cache purged")
    mark(today, 2.08, "cache purged again")
    mark(today, 3.02, "from the log", imported=3.3)
    today.at(2.5, today.again)
    today.run(4)
    first, second = changes(today)
    assert first.alert["title"].startswith("[change] nothing changed for customers that ")
    assert 'after "cache purged" and 1 mark more' in first.alert["title"]
    assert first.at == pytest.approx(2.08 + SETTLE, abs=0.01)
    assert "from the log" in second.alert["title"]
    assert today.outbreaks() == []


def test_a_look_that_changes_unmarked_is_told_once(today):
    """Though two entries see it, and another process goes on; before and after stand side by side."""
    today.broken(2.6, 6, LOOK)
    today.at(3.3, today.again)
    today.run(4)
    [told] = changes(today)
    assert (told.told, told.code, told.alert["severity"]) == ("noted", "regression.fingerprint", "warn")
    assert 2.6 < told.at < 3.3
    assert "The header x-request-policy is new" in told.alert["title"]
    assert "absent → there" in told.alert["text"]
    assert today.outbreaks() == []


def test_a_look_that_was_marked_is_told_by_the_mark_alone(today):
    """In the run it stands as marked."""
    mark(today, 2.6, "policy header")
    today.broken(2.6, 6, LOOK)
    today.run(3.6)
    [told] = changes(today)
    assert 'after "policy header"' in told.alert["title"]
    assert "look: As marked: The header x-request-policy is new" in told.alert["text"]
    with Memory.open(now=today.wall.now) as memory:
        found = [
            finding.title
            for turn in today.turns("chat")
            for finding in memory.load(turn.run).findings
            if finding.kind == "fingerprint"
        ]
    assert len(found) == 1
    assert found[0].startswith("As marked: The header x-request-policy is new")


def test_a_day_on_which_nothing_changes_is_silent(today):
    """Files and faults that are loaded anew, and a look that comes and goes within one run."""
    today.at(2, partial(today.lab.arm, ()))
    today.broken(2.6, 2.8, LOOK)
    today.at(3.1, today.again)
    today.run(4.5)
    assert today.heard == []


def test_nobody_is_asked_after_marks_where_that_is_switched_off(today):
    """Alerts name them all the same."""
    today.write(f"{CANARY}settle: null\nentries:\n{CHAT}")
    mark(today, 2.03)
    today.run(3)
    assert changes(today) == []
    assert len(asked(today, "chat", 2, 3)) == 4
