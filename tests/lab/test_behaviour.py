"""Does the model of the lab misbehave as it is told to, and its edge with what is uploaded slowly or answered late?"""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from conftest import CLOCK, ask, send

from probes.lab import serve
from probes.lab.behaviour import Behaviour, Pause
from probes.lab.faults import Answer, Do, Fault, Timer, When

QUICK = {"prefill": 0, "tpot": 0}


def model(**how) -> Fault:
    return Fault("model", "", Do(model=Behaviour(**how)))


def served(*faults, **more):
    return serve(faults, clock=CLOCK, **{**QUICK, **more})


def said(lab, path="/v1/chat/completions", **more):
    headers = [("anthropic-version", "2023-06-01")] if path.endswith("messages") else []
    return send(lab.base_url, ask("count", **more), path=path, headers=headers)


@pytest.mark.parametrize(
    "how, cap, tokens, finish",
    [
        pytest.param({"stops_after": 5}, 50, 5, "stop", id="stops early"),
        pytest.param({"stops_after": 50}, 5, 5, "length", id="has more to say than it may"),
        pytest.param({"caps": False}, 5, 1000, "length", id="minds no cap"),
        pytest.param({"caps": False, "stops_after": 20}, 5, 20, "stop", id="minds no cap, and stops"),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_the_length_of_an_answer(how, cap, tokens, finish, stream):
    """Usage counts what was said, whatever was asked for."""
    with served(model(**how)) as lab:
        answer = said(lab, cap=cap, stream=stream, stream_options={"include_usage": True})
    text = answer.body.decode()
    assert f'"completion_tokens":{tokens},' in text.replace(" ", "")
    assert f'"finish_reason":"{finish}"' in text.replace(" ", "")


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_nothing_is_counted(path, stream):
    """The answer is whole, and no usage stands in it."""
    with served(model(usage=False)) as lab:
        answer = said(lab, path, cap=20, stream=stream, stream_options={"include_usage": True})
        counted = said(lab, path, cap=20, stream=stream, stream_options={"include_usage": True})
    assert answer.status == 200
    assert answer.tidy
    assert counted.body
    assert b"_tokens" not in answer.body.replace(b"max_tokens", b"")


def test_a_cap_above_the_most():
    """400 in OpenAI's words; what is allowed passes."""
    with served(model(most=100)) as lab:
        refused, taken = said(lab, cap=101), said(lab, cap=100)
    assert (refused.status, taken.status) == (400, 200)
    assert "supports at most 100 completion tokens" in refused.json["error"]["message"]


def test_a_pause_in_mid_stream():
    """The tokens before it leave in time, those after it later by as much."""
    with served(model(pause=Pause(after=3, seconds=20))) as lab:
        assert said(lab, cap=6, stream=True).tidy
        sent = lab.origin.requests[0].sent
    gaps = [later - earlier for earlier, later in itertools.pairwise(sent)]
    assert gaps.index(max(gaps)) == 2
    assert max(gaps) == pytest.approx(20, abs=5)


def test_a_stream_that_opens_late():
    """Its headers are as late as its first token, so a timer of the first byte meets it."""
    timer = Fault("timer", "", Do(first_byte_timer=Timer(10, Answer(own="late"))))
    with served(model(prefill=20), timer) as lab:
        assert said(lab, cap=2, stream=True).status == 200
    with served(model(prefill=20, opens_late=True), timer) as lab:
        assert said(lab, cap=2, stream=True).status == 524


@pytest.mark.parametrize("repeats", [0, 1, 3])
def test_a_request_that_the_edge_repeats(repeats):
    """The client sees one answer after all the waits; the origin sees the same body each time."""
    timer = Timer(10, Answer(own="late"), repeats=repeats)
    with served(Fault("timer", "", Do(first_byte_timer=timer)), model(prefill=100)) as lab:
        answer = said(lab, cap=2)
        arrivals = Counter(arrival.digest for arrival in lab.origin.requests)
    assert answer.status == 524
    assert answer.seconds / CLOCK.scale >= 10 * (repeats + 1)
    assert list(arrivals.values()) == [repeats + 1]


def upload(seconds=30, how="close", rate=1.0):
    return Fault("upload", "", Do(uplink=rate, upload_timer=Timer(seconds, Answer(own="upload"), how=how)))


@pytest.mark.parametrize(
    "profile, status",
    [
        ("cloudflare", 524),
        ("haproxy", 408),
        ("apache", 408),
        ("envoy", 408),
        ("nginx", None),
        ("varnish", None),
    ],
)
def test_a_request_that_takes_too_long(profile, status):
    """Each product's answer, which for some is none; the origin never hears of it."""
    with served(upload(), profile=profile) as lab:
        answer = said(lab, cap=2)
        assert (answer.status, lab.origin.requests) == (status, [])
    assert answer.end == "closed"
    assert answer.seconds / CLOCK.scale >= 30


def test_a_slow_uplink_alone():
    """A body of so many bytes arrives so many seconds later, and whole."""
    with served(Fault("uplink", "", Do(uplink=10.0))) as lab:
        answer = said(lab, cap=2)
        [arrival] = lab.origin.requests
    assert answer.status == 200
    assert answer.seconds / CLOCK.scale >= arrival.body_bytes / 10 - 0.1


def test_an_uplink_for_some():
    """It is chosen by the head alone."""
    slow = Fault("uplink", "", Do(uplink=1.0, upload_timer=Timer(5)), When(path="/v1/messages"))
    with served(slow) as lab:
        assert said(lab, cap=2).status == 200
        assert said(lab, "/v1/messages", cap=2).status is None


@pytest.mark.parametrize("profile", ["cloudflare", "nginx", "haproxy", "apache", "varnish", "envoy"])
def test_each_profile_has_a_page_for_what_is_late(profile):
    """And an answer that passes carries no mark that the product would not leave."""
    timer = Fault("timer", "", Do(first_byte_timer=Timer(10, Answer(own="late"))), When(stream=False))
    with served(timer, model(prefill=20), profile=profile) as lab:
        late = send(
            lab.base_url, {**ask("count", 2), "stream": False}, headers=[("accept", "application/json")]
        )
    with served(profile=profile) as lab:
        passed = said(lab, cap=2)
    assert late.status in {502, 503, 504, 524}
    assert passed.status == 200
    assert passed.get("server") == {"cloudflare": "cloudflare", "nginx": "nginx", "envoy": "envoy"}.get(
        profile, "uvicorn"
    )
