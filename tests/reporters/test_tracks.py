"""What a picture is drawn from: what came when in an exchange, what is a silence and whose, and how it ended."""

from __future__ import annotations

from dataclasses import replace

import pytest
from exchanges import GOOD_CHAT, exchange
from reporters.test_picture import ended, page, streamed

from probes.model import Attribution, Layer, Timeline
from probes.reporters.tracks import Track


def events(kinds, step=1.0, **more):
    """A stream with an event of each kind, one after the other."""
    times = tuple((n + 1) * step for n in range(len(kinds)))
    return replace(streamed(times[0], times[-1], times, **more), event_times=times, event_kinds=kinds)


ARRIVALS = {
    "each channel counts, nothing else does": (events("ovrkcpbexd"), [2.0, 3.0, 4.0]),
    "nothing but comments": (events("ccc"), []),
    "an error page": (page(), []),
}


@pytest.mark.parametrize("shown, times", ARRIVALS.values(), ids=ARRIVALS)
def test_what_counts_as_a_token(shown, times):
    """A role, a heartbeat, an error, an end marker or a page is none."""
    assert [at for at, _ in Track("x", 0.0, shown).arrivals] == times


def test_several_tokens_in_one_read():
    """They came at once."""
    stream = replace(streamed(1.0, 2.0), event_times=(1.0, 1.0, 1.0, 2.0), event_kinds="vvvv")
    assert Track("x", 0.0, stream).arrivals == [(1.0, 3), (2.0, 1)]


@pytest.mark.parametrize("usage, tokens", [({"completion_tokens": 690}, 690), ({"output_tokens": 5}, 5), (None, 1), ({"completion_tokens": -3}, 1)])  # fmt: skip
def test_an_answer_in_one_piece(usage, tokens):
    """All of its tokens came when it did, as many as its usage says."""
    line = Timeline(upload_end=0.0, headers=9.0, first_byte=9.0, last_byte=9.5, end=9.6)
    whole = replace(exchange(200, GOOD_CHAT, stream=False), timeline=line, facts={"usage": usage})
    assert Track("x", 0.0, whole).arrivals == [(9.5, tokens)]


GAPS = {
    "an even pace": ([n * 0.3 for n in range(1, 40)], 12.0, []),
    "a pause": ([1.0, 1.3, 1.6, 9.0, 9.3, 9.6], 9.6, [(1.6, 9.0)]),
    "silence until the cut": ([1.0, 1.3, 1.6], 62.0, [(1.6, 62.0)]),
    "slow but steady": ([10.0, 20.0, 30.0, 40.0], 41.0, []),
    "short of what a person notices": ([0.01, 0.02, 0.03, 0.2], 0.2, []),
    "one token": ([1.0], 30.0, [(1.0, 30.0)]),
    "goes of many": ([at for at in (1.0, 6.0, 11.0) for _ in range(18)], 11.0, [(1.0, 6.0), (6.0, 11.0)]),
    "two in each read": ([at * 0.5 for at in range(1, 9) for _ in range(2)], 4.0, []),
}


@pytest.mark.parametrize("times, end, gaps", GAPS.values(), ids=GAPS)
def test_gaps(times, end, gaps):
    """They stand out from the stream's own pace, the one before its end among them."""
    stream = replace(streamed(times[0], times[-1], error=("closed", "body"), end=end), event_times=tuple(times), event_kinds="v" * len(times))  # fmt: skip
    assert Track("x", 0.0, stream).gaps() == gaps


def test_no_silence_of_our_own():
    """While this process stood still what came was not read."""
    stream = replace(events("vvv", error=("closed", "body")), event_times=(1.0, 1.2, 9.0), conditions={"stalls": [(1.3, 8.9)]})  # fmt: skip
    assert Track("x", 0.0, stream).gaps() == []


def test_a_heartbeat_ends_no_silence():
    """Bytes came, and no token."""
    stream = events("vvv" + "c" * 57, error=("closed", "body"))
    assert Track("x", 0.0, stream).gaps() == [(3.0, 60.0)]


def test_beyond_the_columns_nothing_is_called_a_silence():
    """What was not kept is not known."""
    stream = events("vvv", error=("closed", "body"), end=90.0)
    stream = replace(stream, facts={**stream.facts, "columns_capped": True})
    assert Track("x", 0.0, stream).gaps() == []


def test_a_tidy_end_after_a_silence():
    """A stream without an end marker lasted until its framing was over, of which no byte is the body's."""
    stream = replace(streamed(1.0, 2.0, end=62.0), event_times=(1.0, 2.0), event_kinds="vv")
    cut = replace(stream, facts={**stream.facts, "terminal": None})
    assert Track("x", 0.0, stream).end == 2.0
    assert Track("x", 0.0, cut).end == 62.0


def test_nothing_was_held_back_while_we_stood_still():
    """What a process reads at once after it stood still may have come one by one."""
    stream = replace(events("v" * 50), event_times=tuple(9.0 + n / 1000 for n in range(50)))
    late = replace(stream, conditions={"stalls": [(0.5, 8.9)]})
    assert [Track("x", 0.0, each).at_once for each in (stream, late)] == [True, False]


def test_our_own_lag():
    """What was stamped in it, and in the time that it takes to read what had piled up; never beyond the end."""
    stream = replace(events("v" * 20), conditions={"stalls": [(1.0, 2.0), (2.5, 3.0), (18.0, 19.5)]})
    assert Track("x", 0.0, stream).lags == [(1.0, 3.5), (18.0, 20.0)]


def judged(code, shown, **extracted):
    return replace(shown, attribution=Attribution(Layer.UNKNOWN, code, extracted=extracted))


ENDS = {
    "whole": (judged("ok", events("vv")), "whole", "complete"),
    "whole without its end": (judged("stream.no_end", events("vv")), "faulty", "faulty end"),
    "whole, and its framing broke": (judged("stream.no_end", events("vv", error=("protocol", "body"))), "faulty", "broken"),
    "a character in doubt": (judged("stream.corrupted", events("vv"), maybe="the model's own"), "whole", "in doubt"),
    "damaged": (judged("stream.corrupted", events("vv")), "cut", "corrupted"),
    "cut": (judged("stream.truncated", events("vv")), "cut", "truncated"),
    "an error": (page(), "cut", "524"),
    "ours": (judged("stream.truncated", ended(2.0, "deadline")), "ours", "our limit"),
}  # fmt: skip


@pytest.mark.parametrize("shown, manner, outcome", ENDS.values(), ids=ENDS)
def test_how_it_ended(shown, manner, outcome):
    """A mark and a word; what is whole is not said to be cut."""
    track = Track("x", 0.0, shown)
    assert (track.manner, track.outcome.partition(" after")[0]) == (manner, outcome)
