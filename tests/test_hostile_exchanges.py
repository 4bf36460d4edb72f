"""Is any exchange attributed, whatever a server wrote into it?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from exchanges import exchange, stream_facts
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.attribution import attribute, is_api_answer, is_refusal
from probes.endings import _ENDS
from probes.model import Attribution
from probes.signatures import catalogue

ENDINGS = [
    (kind, phase) for kind, phases in _ENDS.items() for phase in (*phases, "headers", "body", "upload", "?")
]
ENDINGS += [("new", "new"), ("", "")]

ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40)
JSON = st.recursive(
    ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
VALUES = st.text(max_size=60) | st.sampled_from([
    "application/json", "text/html", "text/event-stream", "cloudflare", "\x1b[2J", "9" * 5000, "\ud800",
    "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
])  # fmt: skip
NAMES = st.text(max_size=20) | st.sampled_from([
    "content-type", "server", "cf-ray", "retry-after", "location", "via", "x-cache", "x-ratelimit-reset", "cf-mitigated",
])  # fmt: skip
HEADERS = st.dictionaries(NAMES, st.lists(VALUES, max_size=3), max_size=5)
BODIES = st.binary(max_size=80) | st.text(max_size=80) | st.builds(lambda value: {"error": value}, JSON) | st.sampled_from([
    "[" * 50_000, '{"error":{"code":' + "9" * 5000 + "}}", '{"error":{"message":"\\ud800","code":"\\udfff"}}', "error code: " + "1" * 5000,
])  # fmt: skip
STATUSES = st.none() | st.integers(-1, 1000) | st.sampled_from([200, 307, 401, 403, 429, 503, 524])
URLS = st.text(max_size=30) | st.sampled_from(
    ["http://[::1", "https://x/v1/messages", "https://x/v1/chat/completions"]
)
FACTS = st.just({}) | st.fixed_dictionaries({}, optional={
    "stream": st.booleans(), "errors": st.lists(JSON, max_size=2), "terminal": st.none() | st.text(max_size=9),
    "finish_reason": ANY, "complete": st.none() | st.booleans(), "malformed": st.none() | st.text(max_size=9),
    "dialect": st.none() | st.sampled_from(["openai.chat", "anthropic.messages", "?"]), "usage": JSON,
}).map(lambda changed: stream_facts(**changed))  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    STATUSES,
    BODIES,
    HEADERS,
    st.none() | st.sampled_from(ENDINGS),
    URLS,
    st.none() | st.booleans(),
    FACTS,
    VALUES,
)
def test_nothing_that_a_server_writes_raises(status, body, headers, error, url, stream, facts, text):
    """Every exchange is attributed; what is not known is unknown."""
    seen = exchange(status, body, headers, error=error, url=url, stream=stream, facts=facts)
    if seen.error is not None:
        seen = replace(seen, error=replace(seen.error, text=text))
    assert isinstance(attribute(seen, catalogue()), Attribution)
    assert not (is_api_answer(seen) and is_refusal(seen))


@pytest.mark.parametrize(("kind", "phase"), ENDINGS)
@pytest.mark.parametrize("status", [None, 200, 403])
def test_every_ending_is_a_known_code(kind, phase, status):
    """With a next test, and never a pass."""
    found = attribute(exchange(status, b"" if status is None else b"{", error=(kind, phase)), catalogue())
    assert found.code != "ok"
    assert found.next_test
