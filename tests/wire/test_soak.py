"""Does a stream that goes on and on take no more memory than one that is merely long?"""

from __future__ import annotations

import gc
import json
import tracemalloc

import pytest

from probes.wire import content, facts
from probes.wire.content import Content

COLUMN = 2_000
KINDS = {
    "tokens": {
        "choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}],
        "usage": None,
    },
    "tool calls": {
        "choices": [
            {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"a": "'}}]}}
        ]
    },
    "errors": {"error": {"message": "x" * 100}},
    "usage each time": {"choices": [{"delta": {"content": "a"}}], "usage": {"completion_tokens": 1}},
}


def held(data: bytes, chunks: int) -> tuple[int, Content]:
    """Bytes that are held after so many chunks, and what holds them."""
    body = Content("text/event-stream", "", 1 << 40)
    gc.collect()
    tracemalloc.start()
    for at in range(chunks):
        body.feed(data, float(at))
    body._read()  # what waits to be read has a bound of its own
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size, body


def test_what_waits_to_be_read_is_bounded_in_parts_too():
    """Of a byte each, 64 KiB would be 65,536 of them."""
    body = Content("text/event-stream", "", 1 << 40)
    longest = 0
    for at in range(2_000):
        body.feed(b":", float(at))
        longest = max(longest, len(body._batch))
    assert 0 < longest < 1_000


@pytest.mark.parametrize(
    "data",
    [
        *(b"data: %b\n\n" % json.dumps(body).encode() for body in KINDS.values()),
        b": keep-alive\n\n",
        b"id: 1\n\n",
        b"\n",
        b"data: {not json\n\n",
        b"event: e\ndata: {}\n\n",
    ],
    ids=[*KINDS, "comments", "blocks without data", "blank lines", "malformed", "named events"],
)
def test_memory_does_not_grow_with_a_streams_length(data, monkeypatch):
    """Five times as many chunks hold as much: beyond its cap a column ends, and counting goes on."""
    for module in (content, facts):
        monkeypatch.setattr(module, "MAX_COLUMNS", COLUMN)
    # Each is long enough for head, tail, batch and columns to be full.
    least = max(2 * COLUMN, 200_000 // len(data))
    short, _ = held(data, least)
    long, body = held(data, 5 * least)
    assert long < 1.2 * short, (short, long)
    got = body.result(complete=True)
    assert got["chunks"] == 5 * least
    assert len(got["event_times"]) == len(got["event_kinds"]) <= COLUMN
    assert sum(event["n"] for event in got["facts"]["events"].values()) == 5 * least
