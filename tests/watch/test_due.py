"""What is due when the clock is set, when the machine slept, and when the file changes."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from entries import entry, hours, moment

from probes.watch.due import MOST_GRACE, Agenda
from probes.watch.times import Timetable, interval

START = moment("2026-06-01 00:00")
MANY = [entry(f"e{n}", every="5m") for n in range(40)]
STEPS = {
    f"{sign}{amount}": timedelta(seconds=seconds if sign == "+" else -seconds)
    for sign in "+-"
    for amount, seconds in {"1 s": 1, "1 h": 3600, "1 day": 86400}.items()
}


def looks(agenda, wall, seconds, each=1.0):
    """(machine second, what was due) of a canary that looks so often; `wall`: machine second → time of day."""
    second = 0.0
    while second <= seconds:
        for due in agenda.due(wall(second)):
            yield second, due
        second += each


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_clock_that_is_set_makes_no_burst_and_no_silence(step):
    """Whichever way: each entry goes on at its interval, few at once, and what passed unseen is told once."""
    at = 900.0

    def wall(second):
        return START + timedelta(seconds=second) + (step if second >= at else timedelta())

    said = list(looks(Agenda(MANY, START), wall, 3600))
    taken = [(second, due.entry.name) for second, due in said if not due.late]
    for one in MANY:
        times = [0.0, *(second for second, name in taken if name == one.name), 3600.0]
        gaps = [b - a for a, b in pairwise(times)]
        # Set just before one was due to just after it: two intervals with their jitter, once.
        assert max(gaps) <= 2 * 300 + 60, one.name
        assert sum(gap > 331 for gap in gaps) <= 1, one.name
        assert sum(gap < 300 - 15 - 31 for gap in gaps[1:-1]) <= 1, one.name  # by the grace, and the jitter
    assert max(Counter(second for second, _ in taken).values()) <= 5  # of 40
    late = Counter(due.entry.name for _, due in said if due.late)
    assert set(late.values()) == ({1} if step >= timedelta(hours=1) else set())
    assert len(late) == (len(MANY) if step >= timedelta(hours=1) else 0)


@pytest.mark.parametrize("back", [1, 60, 149])
def test_a_clock_set_back_a_little_runs_nothing_twice(back):
    """What it just had is not due again."""
    one = entry(every="5m")
    agenda = Agenda([one], START)
    due = Timetable(one).after(START)
    assert [said.due for said in agenda.due(due)] == [due]
    after = due - timedelta(seconds=back)
    assert agenda.due(after) == []
    assert agenda.due(due) == []
    assert [said.due for said in agenda.due(due + timedelta(minutes=6))] == [Timetable(one).after(due)]


def test_what_came_a_little_late_is_taken():
    """By less than the grace: a look that was held up is no missed turn."""
    one = entry(at="03:10")
    agenda = Agenda([one], START)
    said = agenda.due(moment("2026-06-01 03:10") + MOST_GRACE)
    assert [(due.due, due.late) for due in said] == [(moment("2026-06-01 03:10"), False)]


def test_what_came_too_late_is_told_once_and_not_run():
    """A daily entry whose hour passed while the machine slept."""
    agenda = Agenda([entry(at="03:10")], START)
    said = agenda.due(moment("2026-06-04 12:00"))
    assert [(due.due, due.late) for due in said] == [(moment("2026-06-01 03:10"), True)]
    assert agenda.due(moment("2026-06-05 03:09")) == []
    assert [due.late for due in agenda.due(moment("2026-06-05 03:10"))] == [False]


def test_after_a_sleep_the_time_that_is_now_is_taken():
    """Of several that passed only the first is told, and the last runs if it is in time."""
    agenda = Agenda([entry(cron="*/5 * * * *")], START)
    said = agenda.due(moment("2026-06-01 02:00") + timedelta(seconds=5))
    assert [(f"{due.due:%H:%M}", due.late) for due in said] == [("00:05", True), ("02:00", False)]


def test_what_passed_while_the_canary_was_not_running_is_told_once():
    """By its last turn; one that never had a turn has missed none."""
    known, new = entry("known", at="03:10"), entry("new", at="03:10")
    last = {"known": moment("2026-05-28 03:10")}
    agenda = Agenda([known, new], START, last=last.get)
    assert [(due.entry.name, due.due, due.late) for due in agenda.due(START)] == [
        ("known", moment("2026-05-29 03:10"), True)
    ]


def test_a_last_turn_in_the_future_does_not_silence():
    """The clock was wrong when it was written."""
    agenda = Agenda([entry(at="03:10")], START, last=lambda _: moment("2031-01-01 00:00"))
    assert [due.late for due in agenda.due(moment("2026-06-01 03:10"))] == [False]


def test_a_new_file_keeps_the_times_of_what_is_the_same():
    """What changed begins anew, what is gone is due no more, and nothing of it is late."""
    same, changed, gone = entry("same", every="5m"), entry("changed", every="5m"), entry("gone", every="5m")
    agenda = Agenda([same, changed, gone], START)
    agenda.due(START + timedelta(seconds=10))
    before = {job.entry.name: job.next_run for job in agenda.appointments}
    agenda.take_over([same, entry("changed", every="1h"), entry("more", every="5m")])
    after = {job.entry.name: job.next_run for job in agenda.appointments}
    assert after.keys() == {"same", "changed", "more"}
    assert after["same"] == before["same"]
    assert not any(due.late for due in agenda.due(START + timedelta(seconds=20)))


@pytest.mark.parametrize("days", [1, 400])
def test_a_long_sleep_costs_no_more_than_a_short_one(days):
    """Nothing counts the seconds that passed."""
    agenda = Agenda([entry(every="1s")], START)
    said = agenda.due(START + timedelta(days=days))
    assert [due.late for due in said] == [True, False]


def test_how_long_nothing_is_due():
    """In seconds; never below zero, and nothing at all where nothing comes."""
    agenda = Agenda([entry(at="00:10"), entry("b", at="01:00")], START)
    assert agenda.until_next(START) == 600
    assert agenda.until_next(START + timedelta(hours=5)) == 0
    assert Agenda([], START).until_next(START) is None


def test_active_hours_keep_the_night_quiet():
    """Nothing is due and nothing is late outside of them."""
    one = entry(every="5m", active=hours("mon-fri", "07:00", "22:00"))
    agenda = Agenda([one], moment("2026-06-05 21:00"))
    found = [
        due
        for _, due in looks(agenda, lambda s: moment("2026-06-05 21:00") + timedelta(seconds=s), 90_000, 5)
    ]
    assert all(7 <= due.due.hour < 22 and due.due.weekday() < 5 for due in found)
    assert not any(due.late for due in found)
    assert interval(one) == timedelta(minutes=5)
