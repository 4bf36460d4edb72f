"""What does not become a mark: whatever is another for the next customer, or could not be shown as it is."""

from __future__ import annotations

import pytest
from exchanges import exchange
from hypothesis import given
from hypothesis import strategies as st

from probes.calibration.marks import Marks, marks
from probes.response import Response

TELLING = "This page belongs to Example Corporation"
VARYING = {
    "an IPv4 address": "Your address is 203.0.113.9 today",
    "an IPv6 address": "Your address is 2001:db8::9 today",
    "this probe's address": "You come from probe-address here",
    "a ray": "Ray ID 9f140b785e57c458 of yours",
    "a uuid": "Id 0b6f6a1e-3c55-4d1e-9a55-0c1de7b0a001 here",
    "a date": "Seen on 29 November 2026 by us",
    "a time": "Seen at 12:45 by our servers",
    "a long number": "Your incident number 884213 it is",
    "a token": "Reference aZ81kdLq02MmPx77Qw of yours",
    "a key": "You sent sk-abcdEFGH1234567890abcd to us",
    "a redacted secret": "You sent [redacted] as your key",
    "an escape": "Some \x1b[31mred text of ours",
    "a bidi mark": "Some \u202ereversed text of ours",
}


def page(text):
    return Response.of(exchange(403, f"<html><h1>{TELLING}</h1><p>{text}</p></html>"))


@pytest.mark.parametrize("text", VARYING.values(), ids=VARYING)
def test_what_varies_is_left_out_though_it_was_the_same_twice(text):
    """Two answers to us may well agree in it."""
    found = marks(page(text), page(text), 1010, ["probe-address"])
    assert isinstance(found, Marks)
    assert len(found.body) == 1
    assert found.sample == f"<h1>{TELLING}</h1>"


@pytest.mark.parametrize("text", VARYING.values(), ids=VARYING)
def test_json_likewise(text):
    """By its leaves."""
    document = {"error": {"message": TELLING, "note": text}, "trace": [{"id": text}]}
    seen = Response.of(exchange(403, document))
    found = marks(seen, seen, 1010, ["probe-address"])
    assert isinstance(found, Marks)
    assert found.json == {"$.error.message": TELLING}


def test_a_code_in_the_page_is_its_first_mark():
    """It tells the pages of one design apart."""
    text = "Error 1010 as we say"
    found = marks(page(text), page(text), 1010, ())
    assert isinstance(found, Marks)
    assert "1010" in found.body[0]


def test_scripts_and_styles_are_no_text():
    """They carry what nobody reads."""
    body = (
        "<style>h1 of Example Corporation here {}</style><script>var page = 'of Example Corporation'</script>"
    )
    seen = Response.of(exchange(403, body))
    assert isinstance(marks(seen, seen, 1010, ()), str)


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_any_bytes_are_borne(first, second):
    """Marks or a reason, never an exception."""
    seen = [Response.of(exchange(403, body)) for body in (first, second)]
    assert isinstance(marks(seen[0], seen[1], 1010, ()), Marks | str)


@given(st.text(max_size=300), st.sampled_from(["<h1>{}</h1>", "{}", '{{"message": "{}"}}']))
def test_what_is_found_matches_what_it_was_found_in(text, form):
    """Marks are patterns of their own page, whatever stands in it."""
    import re

    seen = Response.of(exchange(403, form.format(text)))
    found = marks(seen, seen, 1010, ())
    if isinstance(found, Marks):
        assert all(re.search(regex, seen.text) for regex in found.body)
        assert all(re.search(regex, found.sample) for regex in found.body)
