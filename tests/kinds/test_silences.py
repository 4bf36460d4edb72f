"""A stream that stands still and ends well is told as such, and what only looks like it is not."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest
from canned import ALL, as_text, attributed, case, told
from exchanges import exchange, stream_facts

from probes.kinds.streaming.silences import PATIENCE, silences
from probes.model import Slo, Timeline, Verdict

EVENTS = {"content-type": "text/event-stream"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 60}
STEADY = [("v", 0.1)] * 30


def stream(*events, chunks=None, stalls=(), end=(("o", 0.1), ("d", 0.0)), **facts):
    """Events as (letter, seconds since the one before), the request being sent whole at 0."""
    events = [*events, *end]
    times = tuple(round(at, 6) for at in accumulate(gap for _, gap in events))
    kinds = "".join(letter for letter, _ in events)
    tokens = [at for at, kind in zip(times, kinds, strict=True) if kind in "vrk"]
    seen = exchange(
        200,
        b"data: {}\n\n",
        EVENTS,
        facts=stream_facts(**{"usage": USAGE, "tokens": len(tokens), **facts}),
        stream=True,
    )
    line = Timeline(
        upload_start=0.0, upload_end=0.0, headers=0.05, first_byte=0.05, first_event=times[0], first_token=tokens[0],
        first_content=tokens[0], last_token=tokens[-1], last_byte=times[-1], end=times[-1],
    )  # fmt: skip
    chunk_times = times if chunks is None else tuple(sorted({*times, *chunks}))
    conditions = {"stalls": [list(stall) for stall in stalls]} if stalls else {}
    return attributed(
        replace(seen, timeline=line, chunk_times=chunk_times, chunk_sizes=(9,) * len(chunk_times), event_times=times, event_kinds=kinds, conditions=conditions)
    )  # fmt: skip


def still(seconds, letter="v"):
    return [*STEADY, (letter, seconds), *STEADY]


def beating(kind, n=20, every=3.0):
    return [*STEADY, *[(kind, every)] * n, *STEADY]


SAID = {
    "not one byte": (stream(*still(60.0)), "FAIL", ["after 30 parts", "no text for 60.0 s", "not one byte came", "OkHttp (10 s)"]),
    "comments": (stream(*beating("c")), "FAIL", ["20 comments came, and no byte for 3.0 s at the most"]),
    "pings": (stream(*beating("p")), "FAIL", ["20 pings came"]),
    "events without text": (stream(*beating("o")), "FAIL", ["20 events without text came"]),
    "comments for longer than a library waits for events": (stream(*beating("c", n=50)), "FAIL", ["LangChain (120 s)"]),
    "parts of an event": (stream(*still(60.0), chunks=[3.0 + n for n in range(60)]), "FAIL", ["no event was whole"]),
    "held, then all at once": (stream(*STEADY, ("v", 60.0), *[("v", 0.0)] * 200), "FAIL", ["201 parts came at once behind it"]),
    "before its end": (stream(*STEADY, end=[("o", 30.0), ("d", 0.0)]), "FAIL", ["after 30 parts", "not one byte came"]),
    "a tool call made whole": (stream(*still(150.0, "k")), "WARN", ["a tool call came then"]),
    "reasoning between two texts": (stream(*still(60.0, "r")), "WARN", ["reasoning came then"]),
    "reasoning that is not shown": (
        stream(*still(60.0), usage={**USAGE, "completion_tokens_details": {"reasoning_tokens": 900}}),
        "WARN", ["900 tokens of reasoning that were not shown"],
    ),
    "a lag of our own that is far shorter": (stream(*still(60.0), stalls=[(20.0, 22.0)]), "FAIL", ["no text for 56.0 s"]),
}  # fmt: skip


@pytest.mark.parametrize("seen, verdict, parts", SAID.values(), ids=SAID)
def test_a_stream_that_stands_still(seen, verdict, parts):
    """With what came meanwhile, who gives up on it, and what the model may have done."""
    findings, _ = told(case("streaming", cap=256), lambda _: seen)
    assert [f.code for f in findings] == ["stream.stalled"], as_text(findings)
    [found] = findings
    rows = " ".join(text for _, text in found.detail)
    assert found.verdict is Verdict[verdict], rows
    assert [part for part in parts if part not in rows] == [], rows
    assert (found.observed.k, found.observed.n) == (len(ALL), len(ALL))


NOT_SAID = {
    "steady": stream(*STEADY * 2),
    "shorter than a person waits": stream(*still(PATIENCE - 0.1)),
    "slow and even": stream(*[("v", 12.0)] * 40),
    "slow, and as uneven as chance": stream(*[("v", 1.0 + 5.0 * (n % 3)) for n in range(40)]),
    "reasoning before the first token": stream(("o", 0.1), ("c", 150.0), ("v", 150.0), *STEADY),
    "thinking between parts of reasoning": stream(*[("r", 0.1)] * 30, ("r", 60.0), *STEADY),
    "thinking between reasoning and text": stream(*[("r", 0.1)] * 30, ("v", 60.0), *STEADY),
    "steps of a buffer": stream(*[("v", 12.0 if n % 25 == 0 else 0.0) for n in range(200)]),
    "steps of a buffer, read in pieces": stream(*[("v", 12.0 if n % 5 == 0 else 0.0005) for n in range(200)]),
    "steps of a buffer, on a slow way": stream(*[("v", 12.0 if n % 25 == 0 else 0.02) for n in range(200)]),
    "a lag of our own": stream(*still(60.0), stalls=[(4.0, 60.0)]),
    "a lag of our own just before": stream(*still(12.0), stalls=[(9.0, 15.1)]),
    "too few parts to know its pace": stream(*[("v", 0.1)] * 9, ("v", 60.0)),
    "no text": stream(("k", 0.1), tokens=0),
}  # fmt: skip


@pytest.mark.parametrize("seen", NOT_SAID.values(), ids=NOT_SAID)
def test_what_is_no_standstill(seen):
    """A slow model, one that thinks, a buffer, a short stream, and what we may have missed ourselves."""
    findings, _ = told(case("streaming", cap=256), lambda _: seen)
    assert [f.code for f in findings] == ["ok"], as_text(findings)


@pytest.mark.parametrize(("tpot", "codes"), [(0.2, ["stream.stalled"]), (2.0, ["ok"])])
def test_what_was_promised_slow_is_not_measured_by_its_fast_parts(tpot, codes):
    """Twenty times what a token may take."""
    asked = case("streaming", cap=256)
    asked = replace(asked, target=replace(asked.target, slo=Slo(tpot=tpot)))
    findings, _ = told(asked, lambda _: stream(*still(30.0), usage={"completion_tokens": 250}))
    assert [f.code for f in findings] == codes, as_text(findings)


def test_a_stream_that_did_not_end_well_is_told_by_its_end():
    """A silence before a cut is what ended it."""
    cut = stream(*still(60.0), terminal=None, finish_reason=None, complete=True)
    findings, _ = told(case("streaming", cap=256), lambda _: cut)
    assert [f.code for f in findings] == ["stream.truncated"], as_text(findings)


def test_how_many_of_how_many():
    """One client's stream stood still, with the figures of its silences and their conditions."""
    twice = stream(*still(60.0), *still(20.0)[len(STEADY) :])
    findings, _ = told(
        case("streaming", cap=256), lambda asked: twice if asked.client == "curl" else stream(*STEADY)
    )
    assert [f.code for f in findings] == ["ok", "stream.stalled"], as_text(findings)
    found = findings[1]
    assert (found.observed.k, found.observed.n) == (1, len(ALL))
    longest = found.figures["silence_max"]
    assert (longest.value, longest.n, longest.low) == (pytest.approx(60.0), 2, pytest.approx(20.0))
    assert found.figures["transport_gap_max"].value == pytest.approx(60.0)
    assert {"client", "cache", "concurrency"} <= set(found.conditions)
    assert "straight to the origin" in (found.next_test or "")


def test_what_the_pace_makes_within_the_resolution_was_not_held():
    """A clock that is coarse for the pace, and a lag of our own at the end, show parts at once that came one by one."""
    assert [s.behind for s in silences(stream(*STEADY * 8, ("v", 60.0), *STEADY), resolution=0.5)] == [0]
    held = [*STEADY, ("v", 60.0), *[("v", 0.0)] * 200]
    assert [s.behind for s in silences(stream(*held))] == [201]
    assert [s.behind for s in silences(stream(*held, stalls=[(62.0, 63.1)]))] == [0]


def test_where_in_the_stream():
    """By the parts before it; times are those of the exchange."""
    (found,) = silences(stream(*still(60.0)))
    assert (found.before, found.then, found.alive) == (30, "v", {})
    assert (found.begin, found.end) == (pytest.approx(3.0), pytest.approx(63.0))
