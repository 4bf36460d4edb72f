"""Is a response read whatever it says?"""

import email.utils
import json
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from exchanges import GOOD_CHAT, exchange
from hypothesis import example, given
from hypothesis import strategies as st

from probes.attribution import attribute
from probes.model import BODY_HEAD, BODY_TAIL
from probes.redact import REDACTED, Redactor
from probes.response import ABSENT, Response, in_words, retry_after
from probes.signatures import catalogue
from probes.wire import content

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


KEY, JWT = (
    "sk-test-GOODKEY1234567890abcdefXYZ",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc123abc123",
)


def good(text, **more):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return GOOD_CHAT | {"choices": [choice]} | more


def refused(text):
    return {
        "error": {"message": text, "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}
    }


@pytest.mark.parametrize("secret", [KEY, "1234567890", 'nine"s\\pecial', "nab cdefgh", "clé-très-secrète"])
@pytest.mark.parametrize("size", [0, 70_000, 100_000], ids=["short", "with-a-tail", "elided"])
@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, lambda secret: good(JWT), "ok"),
        (200, lambda secret: good("hello", access_token=JWT), "ok"),
        (200, lambda secret: good(f"your key is {secret}"), "ok"),
        (401, lambda secret: refused(f"Incorrect API key provided: {secret}."), "auth.rejected"),
        (401, lambda secret: refused(f"Incorrect API key provided: {KEY[:20]}***"), "auth.rejected"),
        (401, lambda secret: refused(f"Incorrect API key:\n{secret[1:]}"), "auth.rejected"),
    ],
    ids=["jwt", "secret-field", "key-in-text", "key-in-error", "piece-of-key", "escape-before"],
)
def test_what_is_taken_out_of_json_leaves_json(secret, size, status, body, code):
    """The verdict is that of the body as it came, and a secret is gone from it."""
    sent = exchange(status, body(secret) | {"padding": "x" * size})
    redacted = Redactor([secret])._exchange(sent)
    seen = Response.of(redacted)
    assert attribute(redacted, catalogue()).code == attribute(sent, catalogue()).code == code
    assert seen.elided is (size == 100_000)
    assert seen.document is not ABSENT
    assert not re.search(r"(?<!\\)\b" + re.escape(json.dumps(secret)[1:-1]), seen.text)


@pytest.mark.parametrize("size", [0, 70_000], ids=["short", "with-a-tail"])
def test_a_secret_within_a_number(size):
    """A key of digits alone may stand in a figure, which then becomes a text."""
    sent = exchange(200, good("x" * size, created=1712345678900, total=0.5))
    redacted = Redactor(["12345678"])._exchange(sent)
    assert attribute(redacted, catalogue()).code == "ok"
    assert Response.of(redacted).document["created"] == REDACTED
    assert Response.of(redacted).document["total"] == 0.5


@pytest.mark.parametrize("at", range(BODY_HEAD - len(KEY) - 1, BODY_HEAD + 2, 5))
def test_a_secret_across_the_edge_of_the_head(at):
    """Where head and tail are the whole body, they are one text."""
    sent = exchange(200, b'{"a":"' + b"x" * (at - 6) + KEY.encode() + b'"}' + b" " * 500)
    redacted = Redactor([KEY])._exchange(sent)
    assert redacted.body_head + redacted.body_tail == (
        b'{"a":"' + b"x" * (at - 6) + REDACTED.encode() + b'"}' + b" " * 500
    )


def test_a_body_that_broke_off_inside_a_secret():
    """What was received of it goes, too."""
    sent = exchange(200, b'{"a":"' + KEY[:-3].encode(), error=("closed", "body"))
    assert (
        Redactor(["my-own-" + KEY])._exchange(replace(sent, body_head=b"x my-own-sk-te")).body_head
        == b"x [redacted]"
    )


def test_the_bounds_are_those_of_the_recorder():
    """Whether the middle was left out is told from the length alone."""
    assert (BODY_HEAD, BODY_TAIL) == (content.HEAD, content.TAIL)


@pytest.mark.parametrize("value", [" a b", "a  b\t", "a\r\n b"], ids=["before", "after", "folded"])
def test_white_space_in_a_header_says_nothing(value):
    """A value is the same however it is padded and folded."""
    assert Response.of(exchange(200, headers={"Server": value})).headers == {"server": ("a b",)}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"),
        (1.5, "1.5 s"),
        (90.0, "90 s"),
        (600.0, "10 min"),
        (287441.0, "3.3 days"),
        (30 * 86400.0, "30 days"),
        (1e9, "years"),
        (float("inf"), "years"),
    ],
)
def test_a_wait_in_words(seconds, words):
    """In the unit that people think of it in."""
    assert in_words(seconds) == words
