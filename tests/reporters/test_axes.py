"""Which exchanges of a finding stand on one axis, what they are called there, and where each begins."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reporters.hostile import FOUND, run_of
from reporters.test_picture import CALL, STREAM, TWIN, WHOLE, page, streamed
from reporters.test_tracks import events

from probes.model import Factor, Verdict
from probes.reporters.axes import MOST, plots, tracks, unlike
from probes.reporters.tracks import Seen, by_id


def side(name, *, client="httpx", route="edge", version="HTTP/1.1", coding="gzip", size=100, stream=True):
    shown = streamed()
    headers = (("Accept-Encoding", coding),) if coding else ()
    request = replace(shown.request, headers=headers, body_bytes=size, stream=stream)
    trial = replace(CALL.trial, client=client, route=route)
    conditions = {"http_version": version}
    return Seen(replace(CALL, trial=trial), replace(shown, id=name, request=request, conditions=conditions))


LABELS = {
    "stream": (Factor.STREAM, {"stream": False}, ("streamed", "not streamed")),
    "stream, of neither alone": (Factor.STREAM, {}, ("control", "variant")),
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


def test_a_stream_is_called_so_on_either_side():
    """A told request that fails is the variant, and may be the one that was streamed."""
    seen = {STREAM: side(STREAM, stream=False), WHOLE: side(WHOLE)}
    found = tracks(replace(TWIN, factor=Factor.STREAM), seen)
    assert [track.label for track in found] == ["not streamed", "streamed"]


def test_no_more_streams_than_can_be_looked_at():
    """Of a finding that many clients share."""
    seen = {str(n): side(str(n), client=f"c{n}") for n in range(MOST + 3)}
    assert len(tracks(replace(FOUND, evidence=tuple(seen)), seen)) == MOST


def test_a_passed_twin_shows_its_streams():
    """Its sides did not differ."""
    seen = {STREAM: side(STREAM), WHOLE: Seen(CALL, page())}
    assert [t.label for t in tracks(replace(TWIN, verdict=Verdict.PASS), seen)] == ["httpx"]


def test_what_findings_know_better():
    """A stream that is proven whole without a finish reason, one that its SDK lost a part of, and one that came twice."""
    masked, good, twice = side("masked"), side("good"), side("twice")
    made = replace(masked.exchange.attribution, code="stream.masked")
    calls = (
        replace(CALL, exchanges=(replace(masked.exchange, attribution=made),)),
        replace(CALL, exchanges=(good.exchange,)),
        replace(CALL, exchanges=(twice.exchange,)),
    )
    passed = replace(FOUND, code="ok", verdict=Verdict.PASS, evidence=("masked", "good"))
    lost = replace(FOUND, code="client.parser", evidence=("good",))
    doubled = replace(FOUND, code="stream.corrupted", evidence=("twice",))
    seen = by_id(run_of(passed, lost, doubled, calls=calls))
    assert {name: each.exchange.attribution.code for name, each in seen.items()} == {
        "masked": "ok",
        "good": "client.parser",
        "twice": "stream.corrupted",
    }
    assert [t.outcome.partition(" after")[0] for t in tracks(lost, seen)] == ["misread"]


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


def life(number, age, *, start, error=("closed", "body"), **call):
    """One of several streams that were begun one after another."""
    shown = replace(events("v" * 10, step=age / 10, error=error), id=f"l/{number}")
    trial = replace(CALL.trial, label=f"lifetimes/{number}", start=start)
    return Seen(replace(CALL, case="s/lifetimes", trial=trial, **call), shown)


DIED = [life(n, 20.0 - 5 * n, start=5.0 * n) for n in range(4)]
AT_ONCE = replace(FOUND, code="stream.truncated", kind="lifetimes", case="s/lifetimes", factor=None)


def lives(code, streams, died):
    seen = {each.exchange.id: each for each in streams}
    finding = replace(AT_ONCE, code=code, evidence=tuple(each.exchange.id for each in died))
    return finding, tracks(finding, seen)


def test_what_died_at_one_moment_ends_below_each_other():
    """Each stream begins where it began by the clock of all; a late start of ours counts."""
    late = DIED[3]._replace(call=replace(DIED[3].call, own_lag=0.5))
    finding, found = lives("stream.truncated", [*DIED[:3], late], DIED)
    assert [(track.label, track.start) for track in found] == [("stream 1", 0.0), ("stream 2", 5.0), ("stream 3", 10.0), ("stream 4", 15.5)]  # fmt: skip
    assert [round(track.start + track.end, 6) for track in found] == [20.0, 20.0, 20.0, 20.5]
    assert plots(finding, found) == found


def test_what_died_at_one_age_begins_below_each_other():
    """Each by its own request."""
    streams = [life(n, 20.0, start=5.0 * n) for n in range(4)]
    _, found = lives("timeout.total", streams, streams)
    assert [(track.start, round(track.end, 6)) for track in found] == [(0.0, 20.0)] * 4


def test_those_that_went_on_are_shown_beside_those_that_died():
    """However many died, and none of another case."""
    many = [life(n, 20.0, start=float(n)) for n in range(MOST + 2)]
    went_on = life(MOST + 2, 60.0, start=MOST + 2.0, error=None)
    other = replace(DIED[0].exchange, id="o")
    stranger = replace(DIED[0].call, case="s/streaming")
    _, found = lives("stream.truncated", [*many, went_on, Seen(stranger, other)], many)
    assert len(found) == MOST
    assert found[-1].label == f"stream {MOST + 3}"
    assert found[-1].outcome.startswith("complete")


@pytest.mark.parametrize("start, lag", [(float("nan"), None), (float("inf"), 1.0), (0.0, float("nan"))])
def test_a_start_that_cannot_be(start, lag):
    """What a damaged run holds breaks nothing."""
    odd = life(9, 20.0, start=start, own_lag=lag)
    assert [track.start for track in lives("stream.truncated", [odd, DIED[0]], [odd])[1]] == [0.0, 0.0]
