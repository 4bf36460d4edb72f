"""Is a response read whatever it says?"""

import email.utils
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from probes.response import retry_after

DATES = st.builds(
    "{}, {} {} {} {}:{}:{} {}".format,
    st.sampled_from(["Mon", "Sun", ""]),
    st.integers(-1, 40),
    st.sampled_from(["Jan", "Feb", "Dec", "Foo"]),
    st.sampled_from(["2024", "0", "1", "99", "9999", "10000", "9" * 30]),
    *[st.integers(-1, 99)] * 3,
    st.sampled_from(
        ["GMT", "", "-0000", "+99999999999999999999", "-2359", "+2400", "+\u0661\u0661\u0661\u0661"]
    ),
)


@given(st.text() | DATES)
@example("Mon, 01 Jan 2024 00:00:00 +99999999999999999999")
@example("Fri, 31 Dec 9999 23:59:59 -2359")
@example("Mon, 01 Jan 0001 00:00:00 +2359")
@example("9" * 5000)
def test_any_retry_after_is_seconds_or_none(value):
    """A server may write what it likes."""
    seconds = retry_after(value)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize("ahead", [90, -90])
def test_a_date_is_the_seconds_left(ahead):
    """A date that is past asks for no wait."""
    when = email.utils.format_datetime(email.utils.localtime() + timedelta(seconds=ahead))
    assert retry_after(when) == pytest.approx(max(ahead, 0), abs=30)
