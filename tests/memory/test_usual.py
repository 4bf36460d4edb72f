"""Figures over time are of one kind of request, whatever else a suite asks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import answer

from probes.memory.outcomes import clocks
from probes.model import Ask, Call, Timeline, Trial

LINE = Timeline(upload_start=0.0, upload_end=0.0, headers=0.1, first_token=0.4, last_token=0.9, end=1.0)
PLAIN = {"connection": "new", "client": "cold", "cache": "cold", "concurrency": 1, "position": 0}


@pytest.mark.parametrize(
    ("ask", "conditions", "counted"),
    [
        ({}, PLAIN, True),
        ({}, {}, True),
        ({}, {**PLAIN, "connection": "reused", "client": "warm"}, False),
        ({"prompt_tokens": 4000}, PLAIN, False),
        ({"arm": "primed"}, {**PLAIN, "cache": "primed"}, False),
        ({"arm": "cold"}, PLAIN, False),
    ],
    ids=["plain", "from before it was told", "a kept connection", "a long prompt", "from the cache", "past the cache"],
)  # fmt: skip
def test_which_answers_are_timed_over_time(ask, conditions, counted):
    """Short prompts on new connections; all others are counted as answers and have no time."""
    exchange = replace(answer("good stream"), timeline=LINE)
    trial = Trial("t", "httpx", "edge", Ask("chat", stream=True, **ask))
    seen = clocks(Call("c", "s", trial, 0, (exchange,), conditions=conditions))
    assert (seen.ttft, seen.total) == ((0.4, 1.0) if counted else (None, None))
