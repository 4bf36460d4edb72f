"""The sentence above a picture: right for each way in which an answer can go, and understood without the picture."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reporters.test_picture import answered, ended, page, streamed
from reporters.test_tracks import events

from probes.model import Timeline
from probes.reporters.story import story
from probes.reporters.tracks import Track

STEADY = "v" * 20


def at_once():
    stream = streamed(9.0, 9.05)
    times = tuple(9.0 + n / 1000 for n in range(50))
    return replace(stream, event_times=times, event_kinds="v" * 50)


def with_facts(shown, **facts):
    return replace(shown, facts={**shown.facts, **facts})


def reasoned():
    stream = events("rrrrr" + STEADY)
    return replace(stream, timeline=replace(stream.timeline, first_content=6.0))


STORIES = {
    "whole": (
        with_facts(replace(events(STEADY), timeline=replace(events(STEADY).timeline, first_content=1.0))),
        "First token after 1.0 s; then tokens without a break for 19.0 s; whole after 20.0 s, with its finish reason (stop) and [DONE].",
    ),
    "reasoning first": (
        reasoned(),
        "First token after 1.0 s; first visible text after 6.0 s; then tokens without a break for 24.0 s; whole after 25.0 s, with its finish reason (stop) and [DONE].",
    ),
    "reasoning alone": (
        events("rrrrr"),
        "First token after 1.0 s; no visible text at all; then tokens without a break for 4.0 s; whole after 5.0 s, with its finish reason (stop) and [DONE].",
    ),
    "silence, then cut": (
        events("vv", step=0.4, error=("closed", "body"), end=31.8),
        "First token after 400 ms; then tokens without a break for 400 ms; after the last token 31.0 s of silence; at 31.8 s the connection was closed before the answer was over; no [DONE] came, so the answer is not whole.",
    ),
    "silence with heartbeats": (
        events("vvv" + "c" * 57, error=("reset", "body")),
        "First token after 1.0 s; then tokens without a break for 2.0 s; after the last token 57.0 s of silence but for 56 heartbeats; at 60.0 s the connection was reset; no [DONE] came, so the answer is not whole.",
    ),
    "a pause in the middle": (
        replace(events("vvvv"), event_times=(1.0, 1.2, 31.2, 31.4), timeline=Timeline(upload_end=0.0, first_token=1.0, first_content=1.0, last_byte=31.4, end=31.4)),
        "First token after 1.0 s; then 30.0 s of silence from 1.2 s on; whole after 31.4 s, with its finish reason (stop) and [DONE].",
    ),
    "held back": (
        at_once(),
        "Nothing for 9.0 s, then all 50 parts of the answer at once, within 49 ms; whole after 9.1 s, with its finish reason (stop) and [DONE].",
    ),
    "held back behind heartbeats": (
        replace(at_once(), event_times=(4.0, *at_once().event_times), event_kinds="c" + "v" * 50),
        "Nothing but 1 heartbeat for 9.0 s, then all 50 parts of the answer at once, within 49 ms; whole after 9.1 s, with its finish reason (stop) and [DONE].",
    ),
    "waited for long, then quick": (
        replace(events("cc" + STEADY, step=0.2), event_times=(90.0, 180.0, *(300 + n * 0.2 for n in range(20))), timeline=Timeline(upload_end=0.0, first_token=300.0, first_content=300.0, last_byte=303.8, end=303.8)),
        "First token after 300.0 s, behind 2 heartbeats; then tokens without a break for 3.8 s; whole after 303.8 s, with its finish reason (stop) and [DONE].",
    ),
    "a tool call": (
        events("kkkk"),
        "First token after 1.0 s; a tool call, no visible text; then tokens without a break for 3.0 s; whole after 4.0 s, with its finish reason (stop) and [DONE].",
    ),
    "a tidy end of a broken stream": (
        with_facts(events(STEADY), finish_reason=None, errors=[{"message": "upstream idle timeout."}]),
        "First token after 1.0 s; then tokens without a break for 19.0 s; the stream says that it failed: “upstream idle timeout”; it ends with [DONE] as if all were well, but without a finish reason before it.",
    ),
    "no end marker": (
        with_facts(events(STEADY), terminal=None, dialect="anthropic.messages"),
        "First token after 1.0 s; then tokens without a break for 19.0 s; no message_stop came, so the answer is not whole.",
    ),
    "we stopped": (
        events(STEADY, error=("deadline", "body")),
        "First token after 1.0 s; then tokens without a break for 19.0 s; at 20.0 s the probe gave up at its own deadline.",
    ),
    "no token": (
        events("ccc", error=("closed", "body")),
        "No token came in 3.0 s, only 3 heartbeats; at 3.0 s the connection was closed before the answer was over; no [DONE] came, so the answer is not whole.",
    ),
    "an error page": (page(), "524 came after 125.1 s, instead of an answer."),
    "one piece": (answered(98.5), "Nothing for 98.5 s, then the answer, 242 bytes; over after 98.5 s."),
    "no answer": (ended(125.0, "closed"), "No answer: after 125.0 s the connection was closed before the answer was over."),
    "a connection alone": (
        replace(answered(0.015), status=None, request=replace(answered(1.0).request, method=""), timeline=Timeline(end=0.015)),
        "A connection, opened within 15 ms, and nothing asked.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("shown, said", STORIES.values(), ids=STORIES)
def test_a_story(shown, said):
    """First token, silences, heartbeats, how it ended, and whether that is how a whole answer ends."""
    assert story(Track("x", 0.0, shown)) == said
