"""What is left of a day, over midnight, restarts and clocks that are set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from turned import Daily

from probes.model import Prices, Route, Spend, Target
from probes.watch.daily import Days, left, used_up

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TARGET = Target("prod", "openai", "m", {"edge": Route("edge", "http://x/v1")}, prices=Prices(1.0, 2.0))


class Spent:
    """Knows what was spent on each day, and since when it was asked."""

    def __init__(self, **days) -> None:
        self.days, self.asked = (
            {datetime.fromisoformat(day).replace(tzinfo=UTC): s for day, s in days.items()},
            [],
        )

    def spent(self, target, since):
        self.asked.append(since)
        return self.days.get(since, Spend())


def test_a_day_is_that_of_utc():
    """Whichever zone the machine is in; midnight opens a new one."""
    memory = Spent()
    memory.days = {datetime(2026, 11, 30, tzinfo=UTC): Spend(7, 10, 5)}
    days = Days(memory)
    late = datetime(2026, 12, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert days.ledger(TARGET, Daily(10), late).spend == Spend(7, 10, 5, 2e-05)
    assert days.ledger(TARGET, Daily(10), late + timedelta(minutes=31)).spend.requests == 0
    assert memory.asked == [datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)]


def test_within_a_day_the_books_are_kept_here():
    """A store that cannot be written to just now makes no money of what was spent."""
    days = Days(Spent())
    first = days.ledger(TARGET, Daily(10), NOON)
    first.book((3, 0, 0))
    assert days.ledger(TARGET, Daily(5), NOON + timedelta(hours=1)) is first
    assert left(first) == {"requests": 2.0}


def test_a_clock_that_is_set_back_over_midnight_gives_no_second_day():
    """What memory knows of that day counts."""
    memory = Spent()
    days = Days(memory)
    days.ledger(TARGET, Daily(10), NOON + timedelta(days=1)).book((4, 0, 0))
    memory.days = {datetime(2026, 11, 30, tzinfo=UTC): Spend(9)}
    assert days.ledger(TARGET, Daily(10), NOON).spend.requests == 9


def test_no_ceiling_keeps_no_books():
    """Of a target that no budget names."""
    assert Days(Spent()).ledger(TARGET, None, NOON) is None


USED = {
    "requests": (Daily(10), Spend(10), "10 of 10 requests"),
    "tokens": (Daily(None, 1000), Spend(1, 900, 60), "960 of 1,000 tokens"),
    "money": (Daily(usd_per_day=0.001), Spend(1, 0, 500), "$0.00 of $0.00"),
    "enough of all": (Daily(10, 1000, 5.0), Spend(9, 100, 100), None),
    "no ceiling at all": (Daily(), Spend(10**6, 10**9, 10**9), None),
}


@pytest.mark.parametrize(("daily", "spent", "said"), USED.values(), ids=USED)
def test_when_a_day_is_used_up(daily, spent, said):
    """Where not even a short question is left."""
    memory = Spent()
    memory.days = {datetime(2026, 11, 30, tzinfo=UTC): spent}
    ledger = Days(memory).ledger(TARGET, daily, NOON)
    why = used_up("prod", ledger, NOON)
    if said is None:
        assert why is None
    else:
        assert why == f"the day's budget of prod is used up: {said}; until 2026-12-01 00:00 UTC"


def test_what_is_left_is_never_below_nothing():
    """Usage may be counted above what was reserved for it."""
    memory = Spent()
    memory.days = {datetime(2026, 11, 30, tzinfo=UTC): Spend(11, 900, 900)}
    assert left(Days(memory).ledger(TARGET, Daily(10, 1000, 1.0), NOON)) == {
        "requests": 0.0,
        "tokens": 0.0,
        "usd": pytest.approx(0.9973),
    }
