"""Is it read when a server says that it made what it sends?"""

from __future__ import annotations

import json

import pytest

from probes.wire.facts import Facts


def made(*events):
    facts = Facts("text/event-stream")
    for body, at in events:
        facts.feed(f"data: {json.dumps(body)}\n\n".encode(), at)
    return facts.result(complete=True)["made"]


def chunk(created, **more):
    return {"choices": [{"delta": {"content": "x"}}], "created": created, **more}


@pytest.mark.parametrize(
    "events, by, seconds, late",
    [
        ([(chunk(100), 7.0), (chunk(103), 7.0), (chunk(106), 7.0)], "created", 6, 5.0),
        ([(chunk(100), 1.0), (chunk(103), 4.2), (chunk(106), 7.1)], "created", 6, 0.0),
        ([(chunk(1), 1.0), (chunk(1, timings={"predicted_ms": 2500.5}), 3.0)], "timings.predicted_ms", 2.5005, None),
        ([(chunk(1), 1.0), ({"choices": [], "x_groq": {"usage": {"completion_time": 0.4}}}, 2.0)], "usage.completion_time", 0.4, None),
        ([(chunk(1), 1.0), ({"choices": [], "usage": {"timing_token_generation": 512.7}}, 2.0)], "usage.timing_token_generation", 0.5127, None),
    ],
    ids=["held", "as made", "llama.cpp", "Groq", "LocalAI"],
)  # fmt: skip
def test_stamps(events, by, seconds, late):
    """How long it was made over, and how much longer one event was on its way than another."""
    found = made(*events)
    assert (found["by"], found["late"]) == (by, late)
    assert found["seconds"] == pytest.approx(seconds)


@pytest.mark.parametrize(
    "events",
    [
        [(chunk(100), 1.0), (chunk(100), 9.0)],
        [(chunk(103), 1.0), (chunk(100), 9.0)],
        [(chunk("100"), 1.0), (chunk(True), 2.0), (chunk(None), 3.0)],
        [(chunk(1), 1.0), (chunk(10**11), 2.0)],
        [(chunk(1, timings={"predicted_ms": -5}), 1.0), (chunk(1, timings=[]), 1.0), (chunk(1, usage="x", x_groq=3), 1.0)],
    ],
    ids=["of the request", "backwards", "no numbers", "beyond all time", "nonsense"],
)  # fmt: skip
def test_what_is_no_stamp(events):
    """One that stays the same is the request's; what makes no sense is not believed."""
    assert made(*events) is None
