"""What a picture is drawn from: which exchanges stand on one axis, what came when in each, and what is a silence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from exchanges import GOOD_CHAT, exchange
from reporters.hostile import FOUND, run_of
from reporters.test_picture import CALL, STREAM, TWIN, WHOLE, page, streamed

from probes.model import Factor, Timeline, Verdict
from probes.reporters.tracks import MOST, Seen, Track, by_id, tracks, unlike


def events(kinds, step=1.0, **more):
    """A stream with an event of each kind, one after the other."""
    times = tuple((n + 1) * step for n in range(len(kinds)))
    return replace(streamed(times[0], times[-1], times, **more), event_times=times, event_kinds=kinds)


def side(name, *, client="httpx", route="edge", version="HTTP/1.1", coding="gzip", size=100):
    shown = streamed()
    headers = (("Accept-Encoding", coding),) if coding else ()
    request = replace(shown.request, headers=headers, body_bytes=size)
    trial = replace(CALL.trial, client=client, route=route)
    conditions = {"http_version": version}
    return Seen(replace(CALL, trial=trial), replace(shown, id=name, request=request, conditions=conditions))


LABELS = {
    "stream": (Factor.STREAM, {}, ("streamed", "not streamed")),
    "length": (Factor.LENGTH, {}, ("shorter", "longer")),
    "client": (Factor.CLIENT, {"client": "curl"}, ("httpx", "curl")),
    "route": (Factor.ROUTE, {"route": "origin"}, ("edge", "origin")),
    "http": (Factor.HTTP_VERSION, {"version": "HTTP/2"}, ("HTTP/1.1", "HTTP/2")),
    "coding": (Factor.ACCEPT_ENCODING, {"coding": None}, ("gzip", "no accept-encoding")),
    "size": (Factor.SIZE, {"size": 70_000}, ("100 B", "70,000 B")),
    "what cannot be told": (Factor.ROUTE, {}, ("control", "variant")),
    "without words of its own": (Factor.KEY, {}, ("control", "variant")),
}


@pytest.mark.parametrize("factor, differs, labels", LABELS.values(), ids=LABELS)
def test_the_sides_of_a_twin(factor, differs, labels):
    """Both stand on one axis, and are called by what differed, read from what was sent."""
    seen = {STREAM: side(STREAM), WHOLE: side(WHOLE, **differs)}
    found = tracks(replace(TWIN, factor=factor), seen)
    assert tuple(track.label for track in found) == labels
    assert [track.exchange.id for track in found] == [STREAM, WHOLE]


@pytest.mark.parametrize(
    "kind, labels",
    [
        ("length", ("streamed", "not streamed")),
        ("buffering", ("shorter", "longer")),
        ("resumed", ("control", "variant")),
    ],
)
def test_the_sides_of_what_is_put_down_to_no_factor(kind, labels):
    """By what the kind compares, and by no name where that is not known."""
    answer = side(WHOLE)
    request = replace(answer.exchange.request, stream=kind != "length")
    seen = {STREAM: side(STREAM), WHOLE: Seen(CALL, replace(answer.exchange, request=request))}
    found = tracks(replace(TWIN, factor=None, kind=kind, evidence=(STREAM, WHOLE)), seen)
    assert tuple(track.label for track in found) == labels


def test_no_more_streams_than_can_be_looked_at():
    """Of a finding that many clients share."""
    seen = {str(n): side(str(n), client=f"c{n}") for n in range(MOST + 3)}
    assert len(tracks(replace(FOUND, evidence=tuple(seen)), seen)) == MOST


def test_a_passed_twin_shows_its_streams():
    """Its sides did not differ."""
    seen = {STREAM: side(STREAM), WHOLE: Seen(CALL, page())}
    assert [t.label for t in tracks(replace(TWIN, verdict=Verdict.PASS), seen)] == ["httpx"]


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


def test_what_findings_know_better():
    """A stream that is proven whole without a finish reason, and one that its SDK lost a part of."""
    masked, good = side("masked"), side("good")
    made = replace(masked.exchange.attribution, code="stream.masked")
    calls = (
        replace(CALL, exchanges=(replace(masked.exchange, attribution=made),)),
        replace(CALL, exchanges=(good.exchange,)),
    )
    passed = replace(FOUND, code="ok", verdict=Verdict.PASS, evidence=("masked", "good"))
    lost = replace(FOUND, code="client.parser", evidence=("good",))
    seen = by_id(run_of(passed, lost, calls=calls))
    assert {name: each.exchange.attribution.code for name, each in seen.items()} == {"masked": "ok", "good": "client.parser"}  # fmt: skip
    assert [t.outcome.partition(" after")[0] for t in tracks(lost, seen)] == ["misread"]


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


def left(name, client):
    made = side(name, client=client)
    shown = replace(made.exchange, facts={**made.exchange.facts, "complete": None, "terminal": None})
    parser = replace(shown.attribution, code="client.parser")
    return replace_exchange(made, replace(shown, attribution=parser))


def replace_exchange(made, shown):
    return Seen(replace(made.call, exchanges=(shown,)), shown)


def test_what_a_client_that_left_never_saw():
    """Beside its stream stands the same one as a client that read on had it, and no stream of another case."""
    other = side("o", client="wget")
    seen = {
        "a": left("a", "openai-py"),
        "o": Seen(replace(other.call, case="another"), other.exchange),
        "b": side("b", client="curl"),
        "c": side("c", client="httpx"),
    }
    found = tracks(replace(FOUND, code="client.parser", case=CALL.case, evidence=("a",)), seen)
    assert [track.label for track in found] == ["openai-py", "curl"]


def test_one_of_each_way_to_end_is_drawn_first():
    """Three that left alike don't push out the one that read on."""
    seen = {n: left(n, n) for n in "abc"} | {n: side(n, client=n) for n in "de"}
    shown = tracks(replace(FOUND, evidence=tuple(seen)), seen)
    assert [track.label for track in unlike(shown, 3)] == ["a", "b", "d"]
    assert [track.label for track in unlike(shown, 9)] == list("abcde")
