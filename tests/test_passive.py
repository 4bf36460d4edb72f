"""What is said of every exchange, whatever was asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from canned import KEY_ERROR, attributed, case
from exchanges import GOOD_CHAT, exchange

from probes.attribution import attribute
from probes.model import Ask, Call, Layer, Reason, Trial, Verdict, WhoActs, WireError, WireRequest
from probes.passive import passive
from probes.redirects import circle, told_by_outcome
from probes.signatures import catalogue

GOOD_CHAT_BYTES = json.dumps(GOOD_CHAT).encode()
KEY = (("Authorization", "Bearer [redacted]"),)
HERE, THERE = "http://a.example/v1/chat/completions", "https://a.example/v1/chat/completions"


def hop(status, url=HERE, method="POST", sent=KEY, body=b"", **headers):
    made = exchange(status, body, {name.replace("_", "-"): value for name, value in headers.items()}, url=url)
    made = replace(made, request=WireRequest(method, url, sent, 0, None, None))
    return replace(made, attribution=attribute(made, catalogue()))


GOOD = hop(200, THERE, body=GOOD_CHAT)


def call(*hops, client="openai-py", key="target", label="t"):
    numbered = tuple(replace(each, id=f"{label}/{client}/{n}") for n, each in enumerate(hops))
    trial = Trial(label, client, "edge", Ask("chat", key=key))
    return Call(f"{label}/{client}", "s/completion", trial, 0, numbered)


def found(*calls, keyed=True):
    return {f.code: f for f in passive(case("completion", keyed=keyed), calls)}


def redirect(status=308, to="/v1/x", url=THERE, **more):
    return hop(status, url, location=to, **more)


# --- redirects -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "after, verdict, says",
    [
        (GOOD, Verdict.WARN, "the request is repeated as it was"),
        (hop(405, THERE, "GET"), Verdict.FAIL, "the POST is repeated as GET, without its body"),
        (hop(401, THERE, sent=()), Verdict.FAIL, "the key is left behind"),
        (hop(None, THERE, "", sent=()), Verdict.WARN, "the request is repeated as it was"),
    ],
    ids=["kept", "GET", "no key", "no connection"],
)
def test_a_redirect_that_is_followed(after, verdict, says):
    """By what is left of the request at its end."""
    seen = found(call(redirect(), after))["redirected"]
    assert (seen.verdict, seen.client) == (verdict, "openai-py")
    assert says in dict(seen.detail)["client"]


def test_who_follows_and_who_does_not():
    """Both are named; a redirect that nobody follows is the case's own answer."""
    seen = found(call(redirect(), GOOD), call(redirect(), client="httpx"), call(redirect(), client="curl"))
    assert dict(seen["redirected"].detail)["others"] == "httpx and curl do not follow"
    assert "redirected" not in found(call(redirect(), client="httpx"))


def stopped():
    last = hop(None, THERE, "")
    return replace(last, error=WireError("limit", "headers", "more than 5 redirects are not followed"))


def test_a_circle_of_redirects():
    """One failure, with its hops; what the probe's own bound ended, and who does not follow, are no findings beside it."""
    around = (redirect(307, THERE, HERE), redirect(307, HERE, THERE))
    calls = [call(*around, *around, stopped()), call(redirect(307, THERE, HERE), client="curl")]
    seen = found(*calls)
    assert set(seen) == {"redirected", "leak.secret_in_clear"}
    circle = seen["redirected"]
    assert (circle.verdict, circle.who_acts) == (Verdict.FAIL, WhoActs.OPERATOR)
    assert "circle" in circle.title
    assert f"{HERE} -> {THERE} -> {HERE}" in dict(circle.detail)["seen"]
    assert dict(circle.detail)["others"] == "curl does not follow"
    assert told_by_outcome(calls) == []


def test_a_chain_of_redirects_without_an_end():
    """Longer than we follow is no circle, and nothing is proven of its end."""
    hops = [redirect(307, f"/{n}", f"https://api.example.com/{n - 1}") for n in range(1, 7)]
    chain = found(call(*hops, stopped()))["redirected"]
    assert (chain.verdict, chain.reason) == (Verdict.INCONCLUSIVE, Reason.STOPPED_EARLY)
    assert "6 times in a row" in chain.title


@pytest.mark.parametrize(
    "hops",
    [
        (redirect(307, HERE, HERE),),
        (redirect(303, HERE, HERE), hop(200, HERE, "GET")),
        (redirect(307, THERE, HERE), redirect(307, HERE, THERE), hop(200, HERE)),
    ],
    ids=["not followed", "another method", "let in the second time"],
)
def test_what_is_no_circle(hops):
    """A redirect to the same place may go with a cookie: only the same redirect twice is a circle."""
    assert not circle(call(*hops))


@pytest.mark.parametrize(
    "first, key, keyed, leaks",
    [
        (redirect(to=THERE, url=HERE), "target", True, True),
        (redirect(to=THERE, url=HERE), "made_up", True, False),
        (redirect(to=THERE, url=HERE), "target", False, False),
        (redirect(to=THERE, url=HERE, sent=()), "target", True, False),
        (redirect(to="/v1/x", url=HERE), "target", True, False),
        (redirect(to=THERE, url=THERE), "target", True, False),
    ],
    ids=["a key", "a made-up key", "keyless", "no key", "no upgrade", "https from the first"],
)
def test_a_key_in_clear(first, key, keyed, leaks):
    """Only a real key that had gone before https was asked for."""
    seen = found(call(first, key=key), keyed=keyed)
    assert ("leak.secret_in_clear" in seen) is leaks
    assert not leaks or seen["leak.secret_in_clear"].verdict is Verdict.FAIL


@pytest.mark.parametrize("url", [HERE, THERE], ids=["http", "https"])
@pytest.mark.parametrize(
    ("where", "layer"), [("body", Layer.ORIGIN), ("header x-echo", Layer.UNKNOWN)], ids=["body", "header"]
)
def test_a_key_that_comes_back(url, where, layer):
    """It is the operator's to mend, whatever the transport; who wrote a header stays open."""
    echo = replace(exchange(401, KEY_ERROR, url=url), conditions={"secret_echoed": where})
    seen = found(call(attributed(echo)))
    assert "leak.secret_in_clear" not in seen
    leak = seen["leak.secret_echoed"]
    assert (leak.verdict, leak.who_acts, leak.layer) == (Verdict.FAIL, WhoActs.OPERATOR, layer)
    assert ("in clear" in dict(leak.detail)["seen"]) is (url == HERE)
    assert "https" not in leak.advice


# --- caches ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers, hit",
    [
        ({"cf_cache_status": "HIT"}, True),
        ({"cf_cache_status": "DYNAMIC"}, False),
        ({"cf_cache_status": "MISS", "age": "0"}, False),
        ({"age": "12"}, True),
        ({"age": "soon"}, False),
        ({"x_cache": "Hit from cloudfront"}, True),
        ({"x_cache": "Miss from cloudfront"}, False),
        ({"x_cache": "TCP_HIT from a.example"}, True),
        ({"x_varnish": "32770 5", "age": "0"}, True),
        ({"x_varnish": "32770", "age": "0"}, False),
    ],
    ids=str,
)
def test_a_shared_cache(headers, hit):
    """By the cache's own word that it served what it kept; a warning, since no other user's answer was seen."""
    seen = found(call(hop(200, THERE, body=GOOD_CHAT, **headers)))
    assert ("cached.private" in seen) is hit
    assert not hit or seen["cached.private"].verdict is Verdict.WARN


def test_a_mark_of_our_own_proxy():
    """Through a proxy of our own side the cache may be there: no edge is blamed."""
    hit = hop(200, body=GOOD_CHAT, x_cache="HIT from proxy.example")
    seen = found(call(replace(hit, conditions={"proxy": True})))["cached.private"]
    assert seen.layer is Layer.UNKNOWN


def test_a_public_answer_may_be_cached():
    """A GET without a key is anybody's."""
    assert found(call(hop(200, THERE, "GET", sent=(), cf_cache_status="HIT"))) == {}


# --- early answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, seen",
    [
        (b" " + GOOD_CHAT_BYTES, "1 byte of white space"),
        (b"\n \r\n" + GOOD_CHAT_BYTES, "4 bytes of white space"),
        (GOOD_CHAT_BYTES + b"\n", None),
        (b"  not JSON", None),
        (b"   ", None),
    ],
    ids=["a space", "lines", "at the end", "no JSON", "nothing else"],
)
def test_white_space_before_the_answer(body, seen):
    """It is told beside the answer, which is good."""
    told = found(call(hop(200, body=body, content_type="application/json")))
    assert ("body.early_200" in told) is (seen is not None)
    if seen is not None:
        assert dict(told["body.early_200"].detail)["seen"].startswith(seen)
        assert told["body.early_200"].verdict is Verdict.WARN


def test_a_rate_limit_met_beside_the_question():
    """It is told with what it asks for, but for where the case's answer tells it itself."""
    limited = hop(429, body=b"{}", retry_after="287441")
    asked = call(limited, client="httpx", label="trace")
    told = found(asked)["ratelimited"]
    assert (told.verdict, told.client) == (Verdict.INCONCLUSIVE, "httpx")
    assert "asks for 3.3 days" in dict(told.detail)["seen"]
    assert not passive(case("completion"), [asked], {"ratelimited.no_hint"})


def test_an_age_that_is_the_answers_own():
    """A proxy that has an answer whole before it passes it on says how long that took, and kept nothing."""
    waited = hop(200, THERE, body=GOOD_CHAT, age="3")
    own = replace(waited, timeline=replace(waited.timeline, headers=2.4))
    assert "cached.private" not in found(call(own))
    assert "cached.private" in found(call(replace(own, timeline=replace(own.timeline, headers=1.2))))


# --- what a response says of the inside ------------------------------------------------------------------


SPOKE = {"choices": [{"index": 0, "delta": {"content": "Try 192.168.1.1."}}]}
FAR = {"error": {"message": "upstream 10.1.2.3:8000 (vllm-0.vllm.svc.cluster.local) reset"}}


def events(*said, tail=b"", **facts):
    """A stream of these data lines; what is no text is sent as JSON."""
    body = "".join(f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in said)
    made = hop(200, body=body.encode(), content_type="text/event-stream")
    return replace(made, body_tail=tail, facts={**made.facts, "stream": True, **facts})


def chat_of(**members):
    return json.dumps({**GOOD_CHAT, **members}).encode()


@pytest.mark.parametrize(
    "answer, says",
    [
        (hop(200, body=GOOD_CHAT, x_upstream_addr="10.3.0.17:8000"), "10.3.0.17 in header x-upstream-addr"),
        (hop(200, body=GOOD_CHAT, via="1.1 proxy-3.eu.internal"), "proxy-3.eu.internal in header via"),
        (hop(200, body=GOOD_CHAT, x_litellm_model_api_base="http://[fd12:3456::7]:8000/v1"), "fd12:3456::7"),
        (hop(502, body=b"<p>connect() to 192.168.4.9:8000 failed</p>"), "192.168.4.9 in the body"),
        (hop(500, body={"error": {"message": "no route to vllm.llm.svc.cluster.local"}}), "vllm.llm.svc.cluster.local"),
        (
            hop(200, body={**GOOD_CHAT, "id": "chatcmpl-___prefill_addr_10.0.0.1:14579___decode_addr_10.0.1.1:14580_ab"}),
            "10.0.0.1 in the id of the answer; 10.0.1.1 in the id of the answer",
        ),
        (hop(200, body={**GOOD_CHAT, "system_fingerprint": "fp@100.64.3.2"}), "100.64.3.2 in the body"),
        (hop(302, location="http://172.16.0.4/login"), "172.16.0.4 in header location"),
        (events(*[SPOKE] * 30, FAR), "10.1.2.3 in the body; vllm-0.vllm.svc.cluster.local in the body"),
        (events(SPOKE, errors=[FAR["error"]]), "10.1.2.3 in an error in the stream"),
        (events(SPOKE, errors=["no route to 10.1.2.3"]), "10.1.2.3 in an error in the stream"),
        (events(SPOKE, tail=b'.1"}}]}\n\ndata: {"detail": "no route to 10.1.2.3"}\n\n'), "10.1.2.3 in the body"),
        (events(SPOKE, malformed="upstream 10.1.2.3 is gone"), "10.1.2.3 in an event that is no JSON"),
        (events(SPOKE, ": by 10.1.2.3", "x\r\n\r\n: proxied by vllm-0.internal"), "vllm-0.internal in a line of the stream that is no data"),
        (events({**SPOKE, "id": "cmpl-10.1.2.3"}, {**SPOKE, "id": "at 10.1.2.3"}), "10.1.2.3 in the id of the answer"),
    ],
    ids=[
        "header", "host", "IPv6", "an error page", "an error object", "an id", "a member", "a redirect",
        "the 31st event", "an error in the middle", "an error in words", "the last event", "a line that is no JSON", "a comment", "the id of a stream",
    ],
)  # fmt: skip
def test_an_inner_address(answer, says):
    """Named with where it stands, and put down to nobody."""
    leak = found(call(answer))["leak.internal_address"]
    assert says in dict(leak.detail)["seen"]
    assert (leak.verdict, leak.layer, leak.observed.k) == (Verdict.WARN, Layer.UNKNOWN, 1)


@pytest.mark.parametrize(
    "other, client",
    [(None, None), (hop(200, body=GOOD_CHAT), "openai-py")],
    ids=["nobody else was asked", "another saw none"],
)
def test_an_inner_address_that_anybody_sees_is_nobodys_own(other, client):
    """So that questions asked through one client and through all of them tell it as one."""
    seen = call(hop(200, body=GOOD_CHAT, x_upstream_addr="10.3.0.17:8000"))
    beside = [] if other is None else [replace(call(other), trial=replace(seen.trial, client="curl"))]
    (leak,) = (f for f in passive(case("completion"), [seen, *beside]) if f.code == "leak.internal_address")
    assert leak.client == client


SPOKEN = {
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Try 192.168.1.1."}, "finish_reason": "stop"}
    ]
}


@pytest.mark.parametrize(
    "answer",
    [
        hop(200, body={**GOOD_CHAT, **SPOKEN}),
        hop(200, body=GOOD_CHAT, x_served_by="cache-fra123-FRA"),
        hop(200, body=GOOD_CHAT, server="Thing/10.0.0.1"),
        hop(200, body=GOOD_CHAT, x_version="v10.0.0.1"),
        hop(200, body=GOOD_CHAT, x_upstream="8.8.8.8"),
        hop(200, body=GOOD_CHAT, x_forwarded_for="10.1.2.3"),
        hop(200, body=GOOD_CHAT, x_host="api.local.example.com"),
        hop(200, body=GOOD_CHAT, x_words="eu.internal.example.com, internal, local"),
        hop(404, "http://10.0.0.5:8000/v1/x", body=b"nothing at 10.0.0.5"),
        replace(hop(404, "http://127.0.0.1:8000/v1/x", body=b"listening on 127.0.0.1"), conditions={"peer": "127.0.0.1:8000"}),
        hop(200, "http://a.example/cdn-cgi/trace", body=b"ip=10.1.2.3"),
        hop(200, body=GOOD_CHAT, x_time="999.10.0.0.1, 10.0.0.999"),
        events(*[SPOKE] * 30),
        events({"type": "response.output_text.delta", "delta": "10.0.0.7 "}),
        events({"type": "response.created", "response": {"instructions": "Ask 10.0.0.7", "tools": ["10.0.0.7"]}}),
        events('{"choices": [{"delta": {"content": "at 10.0.0.7'),
        events(SPOKE, tail=b' "at 10.0.0.7 or\n10.0.0.7\n: 10.0.0.7"}}]}\n\ndata: {}\n\n'),
        events('{"choices":\ndata:  [{"delta": {"content":\ndata: "10.0.0.7"}}]}'),
    ],
    ids=[
        "what the model says", "a public name", "a version", "a version with v", "a public address", "the asker's own",
        "a name below a public one", "words", "the host asked", "this machine", "asked for", "no address",
        "what it says in a stream", "what it says as a delta", "what it was asked", "an event cut within its words",
        "where the kept end begins", "an event of several lines",
    ],
)  # fmt: skip
def test_what_is_no_inner_address(answer):
    """A model may speak of any address; versions, public names and what the request itself named are none."""
    assert "leak.internal_address" not in found(call(answer))
