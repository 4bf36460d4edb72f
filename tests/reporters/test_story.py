"""The sentence above a picture: right for each way in which an answer can go, and understood without the picture."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest
from reporters.test_picture import answered, ended, page, streamed
from reporters.test_tracks import events

from probes.model import Attribution, Layer, Timeline
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


def in_portions(sizes=(4096,) * 9, apart=(2.0,) * 8, **more):
    """Of twenty parts each, the last of which is there with the rest of its bytes."""
    begins = list(accumulate(apart, initial=1.0))
    times = tuple(at for at in begins for _ in range(20))
    line = Timeline(upload_end=0.0, first_token=1.0, first_content=1.0, last_byte=times[-1], end=times[-1])
    return replace(events("v" * len(times)), event_times=times, event_kinds="v" * len(times), chunk_times=tuple(begins), chunk_sizes=tuple(sizes), timeline=line, **more)  # fmt: skip


def judged(code, shown, **facts):
    made = Attribution(Layer.UNKNOWN, code)
    return with_facts(replace(shown, attribution=made), **facts)


def in_doubt():
    shown = judged("stream.corrupted", events(STEADY), replacement_chars=1)
    return replace(shown, attribution=replace(shown.attribution, extracted={"maybe": "the model's own"}))


STEPS = "First token after 1.0 s; then the tokens come in 9 portions"
ENDS = "whole after 17.0 s, with its finish reason (stop) and [DONE]."
BEGINS = "First token after 1.0 s; then tokens without a break for 19.0 s"
STORIES = {
    "steps of a buffer": (
        in_portions(),
        f"{STEPS} of about 4.0 KiB each, one every 2.0 s, and nothing between them; {ENDS}",
    ),
    "steps of no size": (in_portions(sizes=range(100, 1000, 100)), f"{STEPS}, one every 2.0 s, and nothing between them; {ENDS}"),
    "steps at no pace": (
        in_portions(sizes=range(100, 1000, 100), apart=(1.0, 2.0, 3.0, 2.0, 1.5, 2.5, 2.0, 2.0)),
        f"{STEPS}, about 2.0 s apart, and nothing between them; {ENDS}",
    ),
    "steps of a compressor": (
        in_portions(body_encoding="gzip"),
        f"{STEPS} of about 4.0 KiB each, one every 2.0 s, and nothing between them; it came compressed (gzip), and a compressor may keep what it gets until it has enough; {ENDS}",
    ),
    "held back by a compressor": (
        replace(at_once(), body_encoding="gzip", event_times=(9.0,) * 50),
        "Nothing for 9.0 s, then all 50 parts of the answer at once; it came compressed (gzip), and a compressor may keep what it gets until it has enough; whole after 9.1 s, with its finish reason (stop) and [DONE].",
    ),
    "compressed, and flows": (replace(events(STEADY), body_encoding="gzip"), f"{BEGINS}; whole after 20.0 s, with its finish reason (stop) and [DONE]."),
    "aborted": (
        judged("stream.masked", events(STEADY), finish_reason="abort"),
        f"{BEGINS}; it ends with [DONE] as if all were well, but its finish reason is abort, so the answer is not whole.",
    ),
    "half a tool call": (
        judged("stream.masked", events(STEADY), tool_calls={"n": 1, "cut": 1}),
        f"{BEGINS}; it ends with [DONE] as if all were well, but in the middle of a tool call.",
    ),
    "a foreign marker": (
        judged("stream.masked", events(STEADY), dialect="anthropic.messages"),
        f"{BEGINS}; it ends with [DONE], where message_stop ends an answer of this API.",
    ),
    "a client that left": (
        with_facts(events("o"), terminal=None, complete=None, malformed=": keep-alive"),
        "No token came in 1.0 s; among its events is one that is none of its dialect: “: keep-alive”; at 1.0 s its client stops reading, so what was still to come is not known.",
    ),
    "a client that left a good stream": (
        judged("client.parser", events("c"), terminal=None, finish_reason=None, complete=None),
        "No token came in 1.0 s, only 1 heartbeat; nothing is wrong with what came; at 1.0 s its client stops reading, so what was still to come is not known.",
    ),
    "U+FFFD at its cap": (
        judged("ok", events(STEADY), replacement_chars=1),
        f"{BEGINS}; whole after 20.0 s, with its finish reason (stop) and [DONE].",
    ),
    "a client that lost a part": (
        judged("client.parser", events(STEADY)),
        f"{BEGINS}; whole after 20.0 s, with its finish reason (stop) and [DONE]; its client did not hand over all of it.",
    ),
    "an answer without its last formality": (
        with_facts(events(STEADY), terminal=None),
        f"{BEGINS}; at 20.0 s it just ends; its finish reason (stop) came, and no [DONE] after it.",
    ),
    "a framing that breaks behind the marker": (
        with_facts(events(STEADY, error=("protocol", "body")), terminal="[DONE]", finish_reason="stop"),
        f"{BEGINS}; at 20.0 s its framing broke; its finish reason (stop) and [DONE] had come before that.",
    ),
    "closed behind the marker": (
        with_facts(events(STEADY, error=("closed", "body")), terminal="[DONE]", finish_reason="stop"),
        f"{BEGINS}; at 20.0 s the connection was closed before its framing was over; its finish reason (stop) and [DONE] had come before that.",
    ),
    "no HTTP": (
        replace(ended(2.0, "protocol"), status=None),
        "No answer: after 2.0 s what came was no HTTP.",
    ),
    "never a finish reason": (
        judged("ok", events(STEADY), finish_reason=None),
        f"{BEGINS}; whole after 20.0 s, with [DONE] and, as always from this endpoint, no finish reason.",
    ),
    "an error behind a finish reason": (
        judged("stream.error_event", events(STEADY), errors=["late"]),
        f"{BEGINS}; the stream says that it failed: “late”; it ends with [DONE] as if all were well, with a finish reason (stop).",
    ),
    "three uneven steps": (
        replace(events("v" * 60), event_times=tuple(at for at in (1.0, 5.0, 12.0) for _ in range(20)), timeline=Timeline(upload_end=0.0, first_token=1.0, first_content=1.0, last_byte=12.0, end=12.0)),
        "First token after 1.0 s; then 7.0 s of silence from 5.0 s on (the longest of 2); whole after 12.0 s, with its finish reason (stop) and [DONE].",
    ),
    "a stutter in a long stream": (
        replace(events("v" * 200), event_times=tuple(n * 0.5 for n in range(1, 101) for _ in range(2)), timeline=Timeline(upload_end=0.0, first_token=0.5, first_content=0.5, last_byte=50.0, end=50.0)),
        "First token after 500 ms; then tokens for 49.5 s, never more than 500 ms apart; whole after 50.0 s, with its finish reason (stop) and [DONE].",
    ),
    "steps that we made ourselves": (
        in_portions(conditions={"stalls": [(at + 0.1, at + 1.9) for at in range(1, 17, 2)]}),
        f"First token after 1.0 s; then tokens for 16.0 s; in 15.9 s of this the probe itself ran late, so what came then may have come sooner; {ENDS}",
    ),
    "held back by ourselves": (
        replace(at_once(), conditions={"stalls": [(0.5, 8.9)]}),
        "First token after 9.0 s; then tokens for 49 ms; in 8.6 s of this the probe itself ran late, so what came then may have come sooner; whole after 9.1 s, with its finish reason (stop) and [DONE].",
    ),
    "whole without an end marker": (
        judged("stream.no_end", events(STEADY), terminal=None),
        f"{BEGINS}; whole after 20.0 s, with its finish reason (stop), and no [DONE] after it.",
    ),
    "whole with another API's end marker": (
        judged("stream.no_end", events(STEADY), dialect="anthropic.messages"),
        f"{BEGINS}; whole after 20.0 s, with its finish reason (stop), but it ends with [DONE], where message_stop ends an answer of this API.",
    ),
    "whole with an end marker of its own that is not the usual": (
        judged("stream.no_end", events(STEADY), dialect="openai.responses", terminal="response.incomplete", complete=False),
        f"{BEGINS}; whole after 20.0 s, with its finish reason (stop) and response.incomplete, but without the end of its framing.",
    ),
    "chat that ends as responses do": (
        judged("stream.no_end", events(STEADY), terminal="response.incomplete"),
        f"{BEGINS}; whole after 20.0 s, with its finish reason (stop), but it ends with response.incomplete, where [DONE] ends an answer of this API.",
    ),
    "whole with a framing that has no end": (
        judged("stream.no_end", events(STEADY), complete=False),
        f"{BEGINS}; whole after 20.0 s, with its finish reason (stop) and [DONE], but without the end of its framing.",
    ),
    "whole, then reset": (
        judged("stream.no_end", events(STEADY, error=("reset", "body")), finish_reason="stop"),
        f"{BEGINS}; at 20.0 s the connection was reset; all of the answer had come before that, with its finish reason (stop), and no [DONE] after it.",
    ),
    "chunks that come twice": (
        judged("stream.corrupted", events(STEADY), tokens=20, repeats=10),
        f"{BEGINS}; its chunks come twice: 10 of 20 repeat the one before; over after 20.0 s, with its finish reason (stop) and [DONE].",
    ),
    "chunks that are alike": (
        judged("ok", events(STEADY), tokens=20, repeats=10),
        f"{BEGINS}; {ENDS.replace('17.0', '20.0')}",
    ),
    "a character in doubt": (
        in_doubt(),
        f"{BEGINS}; a character of its text is in doubt: it may be lost, or the model's own; whole after 20.0 s, with its finish reason (stop) and [DONE].",
    ),
    "damaged characters": (
        judged("stream.corrupted", events(STEADY), replacement_chars=3),
        f"{BEGINS}; characters of its text are damaged; over after 20.0 s, with its finish reason (stop) and [DONE].",
    ),
    "another content type": (
        with_facts(replace(events(STEADY), headers={"content-type": ["text/html"]}), sniffed=True),
        f"{BEGINS}; its content type says text/html, though it is a stream of events; whole after 20.0 s, with its finish reason (stop) and [DONE].",
    ),
    "another coding": (
        with_facts(replace(events(STEADY), headers={"content-encoding": ["gzip"]}), decoded=False),
        f"{BEGINS}; its bytes are not in the coding that it declares (gzip); whole after 20.0 s, with its finish reason (stop) and [DONE].",
    ),
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
        "First token after 400 ms; then tokens without a break for 400 ms; after the last token 31.0 s of silence; at 31.8 s the connection was closed before the answer was over; neither a finish reason nor [DONE] came, so the answer is not whole.",
    ),
    "silence with heartbeats": (
        events("vvv" + "c" * 57, error=("reset", "body")),
        "First token after 1.0 s; then tokens without a break for 2.0 s; after the last token 57.0 s of silence but for 56 heartbeats; at 60.0 s the connection was reset; neither a finish reason nor [DONE] came, so the answer is not whole.",
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
        with_facts(events(STEADY), terminal=None, finish_reason=None, dialect="anthropic.messages"),
        "First token after 1.0 s; then tokens without a break for 19.0 s; at 20.0 s it just ends; neither a finish reason nor message_stop came, so the answer is not whole.",
    ),
    "we stopped": (
        events(STEADY, error=("deadline", "body")),
        "First token after 1.0 s; then tokens without a break for 19.0 s; at 20.0 s the probe gave up at its own deadline.",
    ),
    "no token": (
        events("ccc", error=("closed", "body")),
        "No token came in 3.0 s, only 3 heartbeats; at 3.0 s the connection was closed before the answer was over; neither a finish reason nor [DONE] came, so the answer is not whole.",
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
