"""A time as a person writes it is the moment that they mean, or an error that says what is understood."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from probes.errors import UsageError
from probes.marks.times import moment

NOW = datetime(2026, 11, 30, 14, 20, 30, 500, tzinfo=UTC)  # 15:20:30 in Berlin

MEANT = {
    "RFC 3339": ("2026-11-30T14:05:00Z", "2026-11-30T14:05:00"),
    "in small letters": ("2026-11-30t14:05:00z", "2026-11-30T14:05:00"),
    "with an offset": ("2026-11-30T14:05:00+02:00", "2026-11-30T12:05:00"),
    "with fractions": ("2026-11-30T14:05:00.987654Z", "2026-11-30T14:05:00"),
    "as a log writes it, here": ("2026-11-30 14:05", "2026-11-30T13:05:00"),
    "in summer, here": ("2026-07-01 14:05:09", "2026-07-01T12:05:09"),
    "time of day": ("14:05", "2026-11-30T13:05:00"),
    "with seconds": ("14:05:30", "2026-11-30T13:05:30"),
    "one digit": ("9:05", "2026-11-30T08:05:00"),
    "still to come today, so yesterday's": ("23:10", "2026-11-29T22:10:00"),
    "a minute by another clock": ("15:21", "2026-11-30T14:21:00"),
    "ago": ("-10m", "2026-11-30T14:10:30"),
    "ago without a dash": ("24h", "2026-11-29T14:20:30"),
    "seconds": ("-90s", "2026-11-30T14:19:00"),
    "composed": ("-1h30m", "2026-11-30T12:50:30"),
    "days": ("7d", "2026-11-23T14:20:30"),
    "blanks": (" 14:05 ", "2026-11-30T13:05:00"),
}


@pytest.mark.parametrize(("text", "meant"), MEANT.values(), ids=MEANT)
def test_what_is_meant(berlin, text, meant):
    """Each form is one moment, in UTC and to the second."""
    assert moment(text, NOW, "--at") == datetime.fromisoformat(f"{meant}+00:00")


# In Berlin the clock is put back on 25 October 2026 at 3:00, and forward on 29 March at 2:00.
SHIFTED = {
    "twice, both gone by: the last": ("02:30", "2026-10-25T12:00", "2026-10-25T01:30"),
    "twice, the second still to come": ("02:30", "2026-10-25T00:45", "2026-10-25T00:30"),
    "yesterday, which was longer": ("23:00", "2026-10-26T08:00", "2026-10-25T22:00"),
    "before the shift": ("01:30", "2026-03-29T12:00", "2026-03-29T00:30"),
    "after the shift": ("03:30", "2026-03-29T12:00", "2026-03-29T01:30"),
}


@pytest.mark.parametrize(("text", "now", "meant"), SHIFTED.values(), ids=SHIFTED)
def test_where_the_clock_is_put_forward_or_back(berlin, text, now, meant):
    """A time that comes twice is the last that went by."""
    at = datetime.fromisoformat(f"{now}+00:00")
    assert moment(text, at, "--at") == datetime.fromisoformat(f"{meant}+00:00")


@pytest.mark.parametrize(
    "text",
    ["", "now", "yesterday", "25:00", "14:60", "14", "2026-11-30", "2026-13-01T00:00Z", "2026-11-30T14:05:00+99:00",
     "10", "-10", "-m", "--10m", "0s", "-999999d", "1767189600", "0001-01-01T00:00+10:00", "\u0661\u0664:\u0660\u0665", "14:05x"],
)  # fmt: skip
def test_what_is_no_time(berlin, text):
    """It is refused, with the forms that are understood."""
    with pytest.raises(UsageError, match=r"--since .*: no time; such as 2026-11-30T14:05:00Z, 14:05"):
        moment(text, NOW, "--since")


@pytest.mark.parametrize(
    ("text", "now"),
    [
        ("02:30", datetime(2026, 3, 29, 12, tzinfo=UTC)),
        ("2026-03-29 02:30", datetime(2026, 4, 1, tzinfo=UTC)),
    ],
)
def test_a_time_that_the_clock_left_out(berlin, text, now):
    """Nobody knows what was meant, and yesterday's surely was not."""
    with pytest.raises(UsageError, match="no time"):
        moment(text, now, "--at")


@pytest.mark.parametrize("text", ["2026-11-30T14:22Z", "2026-12-01T00:00Z", "2027-01-01 10:00"])
def test_what_is_still_to_come(berlin, text):
    """A mark says what was changed; what is planned has a place of its own."""
    with pytest.raises(UsageError, match=r"still to come; what is planned stands in .* maintenance"):
        moment(text, NOW, "--at")
