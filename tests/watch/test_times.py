"""When an entry is due: grids, times of day, cron, time zones, the nights on which clocks are changed, active hours."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from entries import entry, hours, moment
from hypothesis import given
from hypothesis import strategies as st

from probes.errors import UsageError
from probes.watch.cron import check_cron
from probes.watch.times import JITTER, MOST_JITTER, Timetable, closing, interval, is_active, opening

BERLIN = "Europe/Berlin"
# In Berlin 2026-03-29 02:00 becomes 03:00, and 2026-10-25 03:00 becomes 02:00, both at 01:00 UTC.
DUE = {
    "at, in UTC": (entry(at="03:10 15:10"), "2026-06-01 00:00", ["06-01 03:10", "06-01 15:10", "06-02 03:10"]),
    "at is later than itself": (entry(at="03:10"), "2026-06-01 03:10", ["06-02 03:10"]),
    "at, in summer": (entry(at="03:10", timezone=BERLIN), "2026-06-01 00:00", ["06-01 01:10", "06-02 01:10"]),
    "at, in winter": (entry(at="03:10", timezone=BERLIN), "2026-01-01 00:00", ["01-01 02:10", "01-02 02:10"]),
    "at, skipped in spring": (
        entry(at="02:30", timezone=BERLIN), "2026-03-28 00:00", ["03-28 01:30", "03-29 01:00", "03-30 00:30"],
    ),
    "at, twice in autumn": (
        entry(at="02:30", timezone=BERLIN), "2026-10-24 00:00", ["10-24 00:30", "10-25 00:30", "10-26 01:30"],
    ),
    "asked between the two": (
        entry(at="02:30", timezone=BERLIN), "2026-10-25 00:45", ["10-26 01:30", "10-27 01:30"],
    ),
    "two that spring makes one": (
        entry(at="02:10 02:40", timezone=BERLIN), "2026-03-29 00:30", ["03-29 01:00", "03-30 00:10", "03-30 00:40"],
    ),
    "cron": (entry(cron="*/20 7-8 * * mon-fri"), "2026-06-05 08:30", ["06-05 08:40", "06-08 07:00", "06-08 07:20"]),
    "cron, in a time zone": (entry(cron="0 9 * * *", timezone="Asia/Kolkata"), "2026-06-01 00:00", ["06-01 03:30"]),
    "cron, every 20 minutes of both hours": (
        entry(cron="*/20 * * * *", timezone=BERLIN), "2026-10-25 00:30",
        ["10-25 00:40", "10-25 01:00", "10-25 01:20", "10-25 01:40", "10-25 02:00"],
    ),
    "cron in active hours": (
        entry(cron="0 * * * *", active=hours("mon-fri", "07:00", "09:00", BERLIN)), "2026-06-05 06:30",
        ["06-08 05:00", "06-08 06:00", "06-09 05:00"],
    ),
    "active over midnight": (
        entry(cron="0 * * * *", active=hours("fri", "22:00", "02:00")), "2026-06-05 12:00",
        ["06-05 22:00", "06-05 23:00", "06-06 00:00", "06-06 01:00", "06-12 22:00"],
    ),
    "active from the hour that is skipped": (
        entry(cron="*/30 * * * *", active=hours("sun", "02:00", "04:00", BERLIN)), "2026-03-29 00:00",
        ["03-29 01:00", "03-29 01:30", "04-05 00:00"],
    ),
    "a leap day": (entry(cron="0 0 29 2 *"), "2026-01-01 00:00", ["02-29 00:00"]),
}  # fmt: skip


@pytest.mark.parametrize(("row", "after", "wanted"), DUE.values(), ids=DUE)
def test_due_times(row, after, wanted):
    """Each is the first later than the one before it."""
    table, found, last = Timetable(row), [], moment(after)
    for _ in wanted:
        last = table.after(last)
        found.append(f"{last:%m-%d %H:%M}")
        assert (last.second, last.microsecond) == (0, 0)
    assert found == wanted


@pytest.mark.parametrize("every", ["1s", "30s", "5m", "1h", "1d"])
def test_a_grid_is_never_off_by_more_than_its_jitter(every):
    """And each of its times comes once."""
    one = entry(every=every)
    times = list(
        Timetable(one).between(moment("2026-03-28 00:00"), moment("2026-03-28 00:00") + 50 * one.every)
    )
    most = min(JITTER * one.every, MOST_JITTER)
    assert 49 <= len(times) <= 51
    assert all(one.every - most <= b - a <= one.every + most for a, b in pairwise(times))
    assert len({b - a for a, b in pairwise(times)}) > 40  # it does move


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.sampled_from(["7s", "5m", "1h30m", "2d"]))
def test_a_grid_is_a_function_of_the_calendar(since, into, every):
    """However one comes to ask, the next time is the same: no restart moves it."""
    table = Timetable(entry(every=every))
    asked = moment("2020-01-01 00:00") + timedelta(seconds=since)
    due = table.after(asked)
    assert asked < due <= asked + 1.1 * entry(every=every).every
    between = asked + (due - asked) * (into / 10**6)
    assert table.after(between) == due or between == due


def test_entries_are_spread_over_the_interval():
    """A hundred do not meet: each tenth of five minutes has some of them, and none has three times its share."""
    start, tenths = moment("2026-06-01 00:00"), [0] * 10
    for number in range(100):
        due = Timetable(entry(f"entry-{number}", every="5m")).after(start)
        tenths[min(int((due - start) / timedelta(seconds=30)), 9)] += 1
    assert min(tenths) >= 3
    assert max(tenths) <= 25


def test_the_spread_is_of_the_target_and_the_name():
    """The same entry on two targets asks each at its own time, and in the same way after a restart."""
    start = moment("2026-06-01 00:00")
    a, b, again = (Timetable(entry(target=t, every="1h")).after(start) for t in ("a", "b", "a"))
    assert a == again != b


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (entry(every="5m"), "0:05:00"),
        (entry(at="03:10"), "1 day, 0:00:00"),
        (entry(at="03:00 09:00"), "18:00:00"),
        (entry(cron="*/20 * * * *"), "0:20:00"),
        (entry(cron="*/20 * * * *", active=hours("mon-fri", "07:00", "22:00")), "0:20:00"),
        (entry(cron="0 8,10,20 * * *", active=hours("mon-fri", "07:00", "12:00")), "2:00:00"),
        (entry(at="08:00", active=hours("mon-fri", "07:00", "12:00")), "3 days, 0:00:00"),
        (entry(cron="0 3 * * sun"), "7 days, 0:00:00"),
        (entry(cron="0 * * * *", active=hours("mon-fri", "22:00", "02:00")), "1:00:00"),
        (entry(at="02:30", timezone=BERLIN), "1 day, 0:00:00"),
    ],
    ids=lambda said: None if isinstance(said, str) else said.cron or str(said.at or said.every),
)
def test_the_interval_is_the_longest_wait_that_is_meant(row, wanted):
    """Nights and weekends outside active hours are no silence."""
    assert str(interval(row)) == wanted


HOURS = {
    "within": (hours("mon-fri", "07:00", "22:00"), "2026-06-05 07:00", True, "06-05 22:00"),
    "its end is out": (hours("mon-fri", "07:00", "22:00"), "2026-06-05 22:00", False, "06-08 07:00"),
    "a day off": (hours("mon-fri", "07:00", "22:00"), "2026-06-06 12:00", False, "06-08 07:00"),
    "after midnight": (hours("fri", "22:00", "02:00"), "2026-06-06 01:59", True, "06-06 02:00"),
    "before midnight of another day": (
        hours("fri", "22:00", "02:00"),
        "2026-06-06 23:00",
        False,
        "06-12 22:00",
    ),
    "days that meet": (hours("fri,sat"), "2026-06-05 12:00", True, "06-07 00:00"),
    "until 24:00": (hours("fri", "20:00", "24:00"), "2026-06-05 23:59", True, "06-06 00:00"),
    "a time zone": (hours("fri", "07:00", "22:00", BERLIN), "2026-06-05 05:00", True, "06-05 20:00"),
}


@pytest.mark.parametrize(("active", "at", "open_", "changes"), HOURS.values(), ids=HOURS)
def test_active_hours(active, at, open_, changes):
    """Whether they are open, and when that changes next."""
    assert is_active(active, moment(at)) is open_
    change = closing(active, moment(at)) if open_ else opening(active, moment(at))
    assert f"{change:%m-%d %H:%M}" == changes


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("* * * *", "five fields"),
        ("0 0 0 * * *", "five fields"),
        ("61 * * * *", "its minute is not valid"),
        ("* 24 * * *", "its hour is not valid"),
        ("* * * * funday", "its day-of-week is not valid"),
        ("* * 31 2 *", "never comes: none of its months has such a day"),
        ("*/0 * * * *", "its minute is not valid"),
        ("5-1 * * * *", "its minute is not valid"),
        ("٣ * * * *", "its minute is not valid"),
        ("@daily", "five fields"),
        ("", "five fields"),
    ],
)
def test_wrong_cron_expressions(expression, said):
    """Are told by their field."""
    with pytest.raises(UsageError, match=said):
        check_cron(expression)


def test_what_never_comes():
    """A cron expression that its active hours exclude has no next time, and is not searched for ever."""
    assert (
        Timetable(entry(cron="0 3 * * *", active=hours(begin="07:00", until="22:00"))).after(
            moment("2026-01-01 00:00")
        )
        is None
    )
