"""Is each response judged on its own evidence, and never more than it shows?"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from exchanges import CLOUDFLARE, GOOD_CHAT, HTML, JSON, exchange, streamed
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.attribution import attribute, is_api_answer, is_refusal
from probes.model import Confidence, Exchange, Layer, WhoActs
from probes.signatures import catalogue
from probes.vocabulary import vocabulary

BAD_KEY = {
    "error": {
        "message": "Incorrect API key",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_api_key",
    }
}
CF_JSON = {
    "cloudflare_error": True,
    "error_code": 1010,
    "status": 403,
    "ray_id": "9f140b785e57c458",
    "zone": "a.example",
}
CSP = {
    "content-security-policy": "default-src 'self' https://cdnjs.cloudflare.com https://static.cloudflareinsights.com"
}
PLAIN_403 = "<html><head><title>Forbidden</title></head><body>Access denied</body></html>"
NGINX_502 = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n"
    "<hr><center>nginx/1.27.2</center>\r\n</body>\r\n</html>\r\n"
)
SMG_404 = {
    "error": {
        "type": "Not Found",
        "code": "model_not_found",
        "message": "Model 'none' not found",
        "param": None,
    }
}
LONG_CHAT = GOOD_CHAT | {"choices": [{"message": {"role": "assistant", "content": 'a "b", {[' * 20_000}}]}


def told(seen: Exchange):
    return attribute(seen, catalogue())


TRAPS = {
    "the origin's 401 through Cloudflare is the origin's": (
        exchange(401, BAD_KEY, CLOUDFLARE), Layer.ORIGIN, None, "auth.rejected", Confidence.MEDIUM),
    "server: cloudflare alone is transit": (
        exchange(403, PLAIN_403, {**CLOUDFLARE, **HTML}), Layer.UNKNOWN, None, "blocked", Confidence.LOW),
    "a CSP that names a CDN proves nothing": (
        exchange(403, PLAIN_403, {**HTML, **CSP}), Layer.UNKNOWN, None, "blocked", Confidence.LOW),
    "the words error code: 1010 inside a page prove nothing": (
        exchange(403, "<p>What does error code: 1010 mean?</p>", HTML), Layer.UNKNOWN, None, "blocked", Confidence.LOW),
    "an API's error that quotes Cloudflare is the API's": (
        exchange(400, {"error": {"message": "error code: 1010 Cloudflare cf_bad_gateway", "type": "invalid_request_error"}}),
        Layer.ORIGIN, None, "request.rejected", Confidence.MEDIUM),
    "OpenAI's shape with a cf_ type is the edge's": (
        exchange(524, {"error": {"code": 524, "message": "Gateway timeout.", "param": None, "type": "cf_gateway_timeout"}}),
        Layer.EDGE, "Cloudflare", "timeout.first_byte", Confidence.HIGH),
    "cloudflare_error must be true, not 1": (
        exchange(403, CF_JSON | {"cloudflare_error": 1}), Layer.UNKNOWN, None, "blocked", Confidence.LOW),
    "branded 502 HTML may be the origin's own": (
        exchange(502, "<!DOCTYPE html><title>api.example.com | 502: Bad gateway</title>", {**CLOUDFLARE, **HTML}),
        Layer.UNKNOWN, "Cloudflare", "unreachable.origin", Confidence.LOW),
    "502 by nginx through Cloudflare is nginx's": (
        exchange(502, NGINX_502, {**CLOUDFLARE, "content-type": "text/html"}),
        Layer.EDGE, "nginx", "unreachable.origin", Confidence.HIGH),
    "server: nginx alone is transit": (
        exchange(502, "bad gateway", {"server": "nginx"}), Layer.UNKNOWN, None, "unreachable.origin", Confidence.LOW),
    "an unnamed string error at 403 is nobody's": (
        exchange(403, {"success": False, "error": "Access denied by security policy."}, CLOUDFLARE),
        Layer.UNKNOWN, None, "blocked", Confidence.LOW),
    "a gateway's message object at 403 is no API error": (
        exchange(403, {"message": "Forbidden"}), Layer.UNKNOWN, None, "blocked", Confidence.LOW),
    "a permission error in the API's form is the API's": (
        exchange(403, {"type": "error", "error": {"type": "permission_error", "message": "no"}}),
        Layer.ORIGIN, None, "auth.rejected", Confidence.MEDIUM),
    "a challenge counts under any status": (
        exchange(200, "<html>", {**CLOUDFLARE, "cf-mitigated": "challenge"}),
        Layer.EDGE, "Cloudflare", "challenged", Confidence.HIGH),
    "cf-mitigated with another value is no challenge": (
        exchange(403, PLAIN_403, {**CLOUDFLARE, "cf-mitigated": "challenged?"}),
        Layer.UNKNOWN, None, "blocked", Confidence.LOW),
    "a 524 with the zone's own page is still the edge's": (
        exchange(524, "<html>Back soon</html>", {**CLOUDFLARE, **HTML}),
        Layer.EDGE, "Cloudflare", "timeout.first_byte", Confidence.MEDIUM),
    "a 524 without Cloudflare's marks is nobody's": (
        exchange(524, "slow"), Layer.UNKNOWN, None, "server.error", Confidence.LOW),
    "OpenAI's headers beside the shape name OpenAI": (
        exchange(429, {"error": {"message": "Rate limit", "type": "requests", "param": None, "code": "rate_limit_exceeded"}},
                 {**CLOUDFLARE, "openai-version": "2020-10-01", "openai-processing-ms": "12"}),
        Layer.ORIGIN, "OpenAI", "ratelimited.no_hint", Confidence.MEDIUM),
    "insufficient_quota is no rate limit": (
        exchange(429, {"error": {"message": "x", "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}}),
        Layer.ORIGIN, None, "quota.exhausted", Confidence.MEDIUM),
    "an overload is no rate limit": (
        exchange(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        Layer.ORIGIN, None, "overloaded", Confidence.MEDIUM),
    "a gateway's model error is the API's": (
        exchange(404, SMG_404), Layer.ORIGIN, None, "model.not_found", Confidence.MEDIUM),
    "a 404 that names no model is a wrong path": (
        exchange(404, {"detail": "Not Found"}), Layer.ORIGIN, None, "wrong_base_url", Confidence.MEDIUM),
    "problem JSON of somebody is no FastAPI error": (
        exchange(401, {"type": "about:blank", "title": "Unauthorized", "detail": "no"}),
        Layer.UNKNOWN, None, "auth.rejected", Confidence.LOW),
    "an answer is good by its shape": (
        exchange(200, GOOD_CHAT, CLOUDFLARE), Layer.ORIGIN, None, "ok", Confidence.MEDIUM),
    "white space before the JSON is still an answer": (
        exchange(200, " \n" + json.dumps(GOOD_CHAT), JSON), Layer.ORIGIN, None, "ok", Confidence.MEDIUM),
    "an answer too long to keep is good by its two ends": (
        exchange(200, LONG_CHAT), Layer.ORIGIN, None, "ok", Confidence.MEDIUM),
    "an answer to another endpoint is not the one asked for": (
        exchange(200, GOOD_CHAT, url="https://a.example/v1/messages"), Layer.UNKNOWN, None, "body.shape", Confidence.LOW),
    "one document is no stream": (
        exchange(200, GOOD_CHAT, stream=True), Layer.UNKNOWN, None, "body.shape", Confidence.LOW),
    "a web page under 200": (exchange(200, "<!doctype html><title>x</title>", HTML), Layer.UNKNOWN, None, "body.html", Confidence.LOW),
    "an empty 200": (exchange(200, b""), Layer.UNKNOWN, None, "body.empty", Confidence.LOW),
    "text under 200": (exchange(200, "hello", JSON), Layer.UNKNOWN, None, "body.not_json", Confidence.LOW),
    "bytes under 200": (exchange(200, b"\x1f\x8b\x08\x00\xff", JSON), Layer.UNKNOWN, None, "body.encoding", Confidence.LOW),
    "JSON without choices under 200": (exchange(200, {"id": "x"}), Layer.UNKNOWN, None, "body.shape", Confidence.LOW),
    "an error under 200": (
        exchange(200, {"error": {"code": 502, "message": "limit"}}), Layer.ORIGIN, None, "body.error_in_200", Confidence.MEDIUM),
    "an error beside an answer under 200": (
        exchange(200, GOOD_CHAT | {"error": {"code": 502, "message": "x"}}),
        Layer.ORIGIN, None, "body.error_in_200", Confidence.MEDIUM),
    "a redirect": (
        exchange(308, NGINX_502, {"location": "https://b.example/"}), Layer.UNKNOWN, None, "redirected", Confidence.LOW),
}  # fmt: skip


@pytest.mark.parametrize("seen, layer, product, code, confidence", TRAPS.values(), ids=TRAPS)
def test_trap(seen, layer, product, code, confidence):
    """Each response on its own evidence."""
    found = told(seen)
    assert (found.layer, found.product, found.code, found.confidence) == (layer, product, code, confidence)
    assert found.who_acts is not None
    if found.layer is Layer.UNKNOWN:
        assert found.next_test


TRANSPORT = [
    ("dns", "dns", Layer.DNS, "unreachable.dns"),
    ("connect", "connect", Layer.NETWORK, "unreachable.connect"),
    ("timeout", "connect", Layer.NETWORK, "timeout.connect"),
    ("deadline", "connect", Layer.NETWORK, "timeout.connect"),
    ("timeout", "upload", Layer.CLIENT, "client.timeout"),
    ("timeout", "headers", Layer.CLIENT, "client.timeout"),
    ("timeout", "body", Layer.CLIENT, "client.timeout"),
    ("lost", "headers", Layer.NETWORK, "timeout.first_byte"),
    ("lost", "upload", Layer.UNKNOWN, "timeout.upload"),
    ("tls", "tls", Layer.TLS, "unreachable.tls"),
    ("deadline", "tls", Layer.TLS, "unreachable.tls"),
    ("reset", "tls", Layer.NETWORK, "unreachable.reset"),
    ("reset", "headers", Layer.NETWORK, "unreachable.reset"),
    ("closed", "upload", Layer.NETWORK, "unreachable.reset"),
    ("protocol", "headers", Layer.UNKNOWN, "response.malformed"),
    ("oversize", "headers", Layer.UNKNOWN, "response.headers_too_large"),
    ("protocol", "connect", Layer.PROXY, "unreachable.connect"),
    ("deadline", "upload", Layer.UNKNOWN, "timeout.upload"),
    ("deadline", "headers", Layer.UNKNOWN, "timeout.first_byte"),
    ("proxy", "connect", Layer.PROXY, "unreachable.connect"),
    ("interrupted", "headers", Layer.PROBE, "not_measured"),
    ("limit", "body", Layer.PROBE, "not_measured"),
    ("something new", "headers", Layer.PROBE, "not_measured"),
]


@pytest.mark.parametrize("kind, phase, layer, code", TRANSPORT, ids=[f"{k}-{p}" for k, p, *_ in TRANSPORT])
def test_without_a_response_the_phase_is_the_evidence(kind, phase, layer, code):
    """A transport that failed before any byte is attributed by where it failed."""
    found = told(exchange(None, error=(kind, phase)))
    assert (found.layer, found.code, found.product) == (layer, code, None)
    assert found.next_test
    assert found.extracted["phase"] == phase


@pytest.mark.parametrize(
    ("connection", "url", "says", "not_"),
    [
        ("new", "http://a.example/v1", "it may expect TLS", "reuse"),
        ("new", "https://a.example/v1", "a firewall", "TLS"),
    ],
    ids=["plain", "TLS"],
)
@pytest.mark.parametrize("kind", ["reset", "closed"])
def test_idleness_is_no_cause_on_a_new_connection(kind, connection, url, says, not_):
    """What is to be done says what can be the matter with one that was never idle."""
    ended = replace(exchange(None, error=(kind, "headers"), url=url), conditions={"connection": connection})
    found = told(ended)
    assert says in found.advice
    assert not_ not in found.advice
    assert told(replace(ended, conditions={"connection": "reused"})).advice is None


@pytest.mark.parametrize(
    "kind, body, code",
    [
        ("reset", '{"choi', "stream.truncated"),
        ("protocol", '{"choi', "stream.truncated"),
        ("deadline", b"", "timeout.first_byte"),
        ("deadline", "{", "timeout.total"),
        ("lost", "{", "stream.truncated"),
        ("closed", json.dumps(GOOD_CHAT), "stream.truncated"),
    ],
)
def test_a_body_that_broke_off(kind, body, code):
    """A good beginning is no good answer."""
    found = told(exchange(200, body, JSON, error=(kind, "body")))
    assert (found.layer, found.code) == (Layer.UNKNOWN, code)


@pytest.mark.parametrize("stream", [True, False, None])
@pytest.mark.parametrize("body", [b"", b"{"], ids=["silence", "begun"])
def test_our_own_deadline_is_nobodys_timer(body, stream):
    """A longer one is the next test; stream on is one only where it was off."""
    found = told(exchange(200, body, error=("deadline", "body"), stream=stream))
    assert (found.layer, found.confidence) == (Layer.UNKNOWN, Confidence.LOW)
    assert "longer deadline" in found.next_test
    assert ("stream on" in found.next_test) is not stream or stream is None


STREAM_ENDS = {
    "and the marker": ({"terminal": "[DONE]"}, "stream.masked"),
    "a reason and the marker": ({"terminal": "[DONE]", "finish_reason": "stop"}, "stream.error_event"),
    "and the end": ({"terminal": None}, "stream.error_event"),
    "and a reset": ({"terminal": None, "complete": False, "error": ("reset", "body")}, "stream.error_event"),
}  # fmt: skip


@pytest.mark.parametrize(("then", "code"), STREAM_ENDS.values(), ids=STREAM_ENDS)
def test_an_error_event_names_the_same_layer_however_far_a_client_reads(then, code):
    """An SDK closes at the error, plain HTTP clients see what follows; neither knows who wrote the error."""
    error = {"errors": [{"code": 504, "message": "inactivity"}], "finish_reason": None}
    early, late = told(streamed(**error, complete=None, terminal=None)), told(streamed(**error | then))
    assert (early.code, late.code) == ("stream.error_event", code)
    for found in (early, late):
        assert (found.layer, found.confidence) == (Layer.UNKNOWN, Confidence.LOW)
        assert (found.vendor_code, found.extracted["message"]) == ("504", "inactivity")
    assert "httpx or curl" in early.next_test
    assert "httpx or curl" not in late.next_test


def test_a_block_page_that_broke_off_is_still_one():
    """What a cut body proves by its own marks stands."""
    found = told(exchange(403, json.dumps(CF_JSON), JSON, error=("closed", "body")))
    assert (found.product, found.vendor_code) == ("Cloudflare", "1010")


STREAMS = {
    "whole": ({}, "ok", Layer.ORIGIN),
    "whole, and the client closed first": ({"complete": None}, "ok", Layer.ORIGIN),
    "no end marker, and no reason": ({"terminal": None, "finish_reason": None}, "stream.truncated", Layer.UNKNOWN),
    "whole, no end marker": ({"terminal": None}, "stream.no_end", Layer.UNKNOWN),
    "whole, no blank line behind the marker": ({"terminal": None, "unfinished": "[DONE]"}, "stream.no_end", Layer.UNKNOWN),
    "whole, no line end behind the marker": ({"terminal": None, "unfinished": "data: [DONE]"}, "stream.no_end", Layer.UNKNOWN),
    "an event cut behind the reason": (
        {"terminal": None, "unfinished": '{"choices": [], "usage"'}, "stream.truncated", Layer.UNKNOWN),
    "a tool call cut, no end marker": (
        {"terminal": None, "finish_reason": "tool_calls", "tool_calls": {"n": 1, "cut": 1}}, "stream.truncated", Layer.UNKNOWN),
    "aborted, no end marker": ({"terminal": None, "finish_reason": "abort"}, "stream.truncated", Layer.UNKNOWN),
    "framing broke behind the end": ({"complete": False}, "stream.no_end", Layer.UNKNOWN),
    "framing broke behind the reason, before the usage": (
        {"complete": False, "terminal": None, "usage": None, "error": ("closed", "body")}, "stream.truncated", Layer.UNKNOWN),
    "framing broke behind the usage": (
        {"complete": False, "terminal": None, "usage": {"completion_tokens": 2}, "error": ("closed", "body")},
        "stream.no_end", Layer.UNKNOWN),
    "framing broke, and no reason": ({"complete": False, "finish_reason": None}, "stream.truncated", Layer.UNKNOWN),
    "text behind the end marker": ({"after_end": 1}, "stream.malformed", Layer.UNKNOWN),
    "U+FFFD at the cap's end": (
        {"replacement_chars": 1, "replacement_tail": 1, "finish_reason": "length"}, "ok", Layer.ORIGIN),
    "U+FFFD at its own end": ({"replacement_chars": 1, "replacement_tail": 1}, "stream.corrupted", Layer.UNKNOWN),
    "U+FFFD in the text of one that is capped": (
        {"replacement_chars": 2, "replacement_tail": 1, "finish_reason": "length"}, "stream.corrupted", Layer.UNKNOWN),
    "cut by the transport": ({"terminal": None, "complete": False, "error": ("reset", "body")}, "stream.truncated", Layer.UNKNOWN),
    "reset behind a whole stream": ({"complete": False, "error": ("reset", "body")}, "stream.no_end", Layer.UNKNOWN),
    "our deadline": ({"terminal": None, "complete": None, "error": ("deadline", "body")}, "timeout.total", Layer.UNKNOWN),
    "tidy end, no reason": ({"finish_reason": None}, "stream.masked", Layer.UNKNOWN),
    "error, then tidy end": ({"errors": [{"code": 504}], "finish_reason": None}, "stream.masked", Layer.UNKNOWN),
    "error, no end": (
        {"errors": [{"type": "overloaded_error", "message": "x"}], "finish_reason": None, "terminal": None},
        "stream.error_event", Layer.UNKNOWN),
    "error, then a broken connection": (
        {"errors": [{"type": "overloaded_error"}], "finish_reason": None, "terminal": None, "error": ("closed", "body")},
        "stream.error_event", Layer.UNKNOWN),
    "error of no shape": ({"errors": ["boom"], "terminal": None}, "stream.error_event", Layer.UNKNOWN),
    "a line that is no JSON": ({"malformed": ": OPENROUTER PROCESSING"}, "stream.malformed", Layer.UNKNOWN),
    "only a line that is no JSON": (
        {"malformed": "x", "terminal": None, "dialect": None, "tokens": 0}, "stream.malformed", Layer.UNKNOWN),
    "nothing": ({"events": {}, "terminal": None, "dialect": None, "tokens": 0}, "body.empty", Layer.UNKNOWN),
    "another dialect": ({"dialect": "anthropic.messages", "terminal": "message_stop"}, "body.shape", Layer.UNKNOWN),
    "only an end marker": ({"dialect": None, "finish_reason": None, "tokens": 0}, "body.empty", Layer.UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize("changed, code, layer", STREAMS.values(), ids=STREAMS)
def test_stream(changed, code, layer):
    """A stream is good with end marker and finish reason, and else says how it went wrong."""
    found = told(streamed(**changed))
    assert (found.code, found.layer) == (code, layer)


def test_a_failed_response_is_an_error():
    """`response.failed` is an end, but not a good one."""
    seen = streamed(dialect="openai.responses", terminal="response.failed", finish_reason="failed")
    url = "https://a.example/v1/responses"
    assert told(replace(seen, request=replace(seen.request, url=url))).code == "stream.error_event"


def test_an_error_event_carries_the_vendors_words():
    """The vendor's code and message are kept."""
    found = told(streamed(errors=[{"type": "overloaded_error", "message": "Overloaded"}], terminal=None))
    assert (found.vendor_code, found.extracted["message"]) == ("overloaded_error", "Overloaded")


def test_what_the_edge_says_of_itself_is_read():
    """Ray, colo, zone and wait are there to quote."""
    found = told(exchange(403, json.dumps(CF_JSON), {**CLOUDFLARE, **JSON, "retry-after": "30"}))
    assert found.vendor_code == "1010"
    assert dict(found.extracted) == {
        "ray": "9f140b785e57c458", "colo": "FRA", "zone": "a.example", "retry_after": "30",
    }  # fmt: skip
    assert found.who_acts is WhoActs.OPERATOR
    assert found.retryable is False


def test_transit_is_outermost_first_and_without_the_generator():
    """The chain of products on the way does not name who spoke."""
    headers = {**CLOUDFLARE, "server": ["cloudflare", "nginx"], "openai-version": "2020-10-01"}
    assert told(exchange(401, BAD_KEY, headers)).transit == ("Cloudflare", "nginx")
    assert told(exchange(502, NGINX_502, headers)).transit == ("Cloudflare", "OpenAI")


def test_the_runner_up_is_another_explanation():
    """The next best signature of another product or code is named."""
    found = told(exchange(524, "slow", CLOUDFLARE))
    assert (found.signature, found.runner_up) == ("cloudflare.524.status", "generic.5xx")


PREDICATES = {
    "ok": (exchange(200, GOOD_CHAT), True, False),
    "a good stream": (streamed(), True, False),
    "401 JSON through an edge": (exchange(401, BAD_KEY, CLOUDFLARE), True, False),
    "400 JSON": (exchange(400, {"error": {"message": "bad", "type": "invalid_request_error"}}), True, False),
    "422 JSON": (exchange(422, {"detail": [{"loc": ["body"], "msg": "x"}]}), True, False),
    "404 JSON": (exchange(404, SMG_404), True, False),
    "403 JSON of the API": (exchange(403, {"error": {"message": "no", "type": "permission_error"}}), True, False),
    "403 for the country, in the API's form": (
        exchange(403, {"error": {"message": "no", "type": "request_forbidden", "code": "unsupported_country_region_territory"}}),
        False, True),
    "403 page": (exchange(403, PLAIN_403, HTML), False, True),
    "403 empty": (exchange(403), False, True),
    "1010": (exchange(403, "error code: 1010"), False, True),
    "challenge under 503": (exchange(503, "x", {"cf-mitigated": "challenge"}), False, True),
    "reset before a byte": (exchange(None, error=("reset", "headers")), False, True),
    "close in the handshake": (exchange(None, error=("closed", "tls")), False, True),
    "no HTTP": (exchange(None, error=("protocol", "headers")), False, False),
    "reset in the body": (exchange(200, "{", JSON, error=("reset", "body")), False, False),
    "refused connection": (exchange(None, error=("connect", "connect")), False, False),
    "429 of the API": (exchange(429, {"error": {"message": "x", "type": "requests"}}), False, False),
    "1015": (exchange(429, "error code: 1015"), False, False),
    "500 of the API": (exchange(500, {"error": {"message": "x", "type": "server_error"}}), False, False),
    "524": (exchange(524, "error code: 524"), False, False),
    "time-out": (exchange(None, error=("deadline", "headers")), False, False),
    "redirect": (exchange(307, "", {"location": "/"}), False, False),
    "web page under 200": (exchange(200, "<html>", HTML), False, False),
    "401 page": (exchange(401, "<html>", HTML), False, False),
    "404 page": (exchange(404, "<html>", HTML), False, False),
}  # fmt: skip


@pytest.mark.parametrize("seen, answer, refusal", PREDICATES.values(), ids=PREDICATES)
def test_predicates(seen, answer, refusal):
    """An exchange is an answer of the API, a refusal, or neither."""
    assert (is_api_answer(seen), is_refusal(seen)) == (answer, refusal)
    judged = replace(seen, attribution=told(seen))
    assert (is_api_answer(judged), is_refusal(judged)) == (answer, refusal)


# --- hostile input -----------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    ["server", "Server", "cf-ray", "via", "content-type", "Content-Type", "x-request-id", "retry-after"]
)


@settings(max_examples=150, deadline=None)
@given(
    status=st.one_of(st.none(), st.integers(100, 599)),
    body=st.binary(max_size=400),
    headers=st.dictionaries(NAMES, st.lists(st.text(max_size=20), max_size=3), max_size=5),
)
def test_random_bytes_prove_nothing(status, body, headers):
    """Noise never crashes and never yields a confident product."""
    found = told(exchange(status, body, headers))
    assert found.confidence is Confidence.LOW
    assert found.product is None


@settings(max_examples=100, deadline=None)
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["error", "type", "message", "code", "choices", "cloudflare_error", "error_code", "data", "detail", "id"]),
        inner, max_size=4),
    max_leaves=12,
), st.sampled_from([200, 400, 401, 403, 404, 429, 500, 524]))  # fmt: skip
def test_random_json_never_crashes(document, status):
    """Any JSON at all is attributed to something of the vocabulary."""
    assert told(exchange(status, json.dumps(document), JSON)).code in vocabulary()


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 15_000,
        b'{"error":' + b"9" * 20_000 + b"}",
        b'{"error":{"message":"\\ud800","type":"\\udfff"}}',
        b"\xff\xfe" * 50_000,
        b"\xef\xbb\xbf" + json.dumps(GOOD_CHAT).encode(),
        b"<script>" * 20_000,
        b"<title>" + b"a" * 70_000,
        b"<html>" + b" \t" * 40_000,
        b"---\n" + b"a: b\n" * 20_000,
        b'{"choices":[' + b'",' * 40_000,
        b"," * 80_000 + b"}",
        b"x" * 5_000_000,
    ],
    ids=lambda body: repr(body[:10]),
)
@pytest.mark.parametrize("status", [200, 403, 524])
@pytest.mark.timeout(2)
def test_hostile_bodies_are_judged_quickly(body, status):
    """Deep, huge, broken and repetitive bodies neither raise nor take long."""
    found = told(exchange(status, body, {"server": "cloudflare"}))
    assert "".join(found.extracted.values()).encode("utf-8", "strict") is not None
    assert found.code in vocabulary()


def test_a_surrogate_from_the_server_can_be_written_out():
    """What is extracted is valid text, whatever the server put there."""
    found = told(exchange(400, b'{"error":{"message":"\\ud800","type":"x","code":"\\ud800"}}', JSON))
    assert found.vendor_code == "?"


@pytest.mark.parametrize("phase", ["dns", "connect"])
def test_a_proxy_of_our_own_side_that_cannot_be_reached(phase):
    """What was dialled is the proxy, so nothing is said of the service."""
    dead = replace(
        exchange(None, error=("connect" if phase == "connect" else "dns", phase)), conditions={"proxy": True}
    )
    found = attribute(dead, catalogue())
    assert (found.code, found.layer) == ("unreachable.connect", Layer.PROXY)
    assert found.who_acts is WhoActs.CUSTOMER


SQUID = next(s for one in catalogue().signatures if one.id == "squid.unreachable" for s in one.row.samples)


@pytest.mark.parametrize(
    "url, proxied, layer, code",
    [
        ("http://a.example/v1", True, Layer.PROXY, "unreachable.connect"),
        ("http://a.example/v1", False, Layer.EDGE, "unreachable.origin"),
        ("https://a.example/v1", True, Layer.EDGE, "unreachable.origin"),
    ],
    ids=["in clear", "no proxy", "through a tunnel"],
)
def test_a_page_of_a_product_that_is_a_proxy_or_an_edge(url, proxied, layer, code):
    """It is that of our own side's proxy only where that could answer: without TLS in between."""
    page = exchange(SQUID.status, SQUID.body, SQUID.headers, url=url)
    found = attribute(replace(page, conditions={"proxy": proxied}), catalogue())
    assert (found.layer, found.code, found.product) == (layer, code, "Squid")


def test_an_answer_in_clear_through_a_proxy_that_nobody_signed():
    """It may be the proxy's, and the next test says how to find out."""
    page = exchange(
        503, "<html><body>No</body></html>", {"content-type": "text/html"}, url="http://a.example"
    )
    found = attribute(replace(page, conditions={"proxy": True}), catalogue())
    assert found.layer is Layer.UNKNOWN
    assert "without the proxy" in found.next_test


ERROR = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}}  # fmt: skip


@pytest.mark.parametrize(
    "status, body, headers, code, layer",
    [
        (401, ERROR, {"age": "3"}, "cached.private", Layer.EDGE),
        (401, ERROR, {"x-cache": "HIT"}, "cached.private", Layer.EDGE),
        (401, ERROR, {"age": "0", "x-cache": "MISS"}, "auth.rejected", Layer.ORIGIN),
        (200, GOOD_CHAT, {"age": "3"}, "ok", Layer.ORIGIN),
        (
            200,
            {"object": "list", "data": [{"id": "m", "object": "model"}]},
            {"age": "3"},
            "cached.private",
            Layer.EDGE,
        ),
    ],
    ids=["age", "hit", "miss", "good", "of another question"],
)
def test_an_error_that_a_shared_cache_kept(status, body, headers, code, layer):
    """It was given to an earlier request, so the API has not judged this one."""
    found = attribute(
        exchange(status, body, headers, url="https://a.example/v1/chat/completions"), catalogue()
    )
    assert (found.code, found.layer) == (code, layer)


@pytest.mark.parametrize(
    ("hint", "code"),
    [
        ("287441", "ratelimited"),
        (str(31 * 86400), "ratelimited"),
        (str(32 * 86400), "ratelimited.bad_hint"),
        ("9" * 5000, "ratelimited.bad_hint"),
        ("Wed, 21 Oct 2099 07:28:00 GMT", "ratelimited.bad_hint"),
        ("soon", "ratelimited.bad_hint"),
    ],
    ids=["days", "a month", "more than a month", "no end", "another century", "a word"],
)
def test_a_wait_that_no_quota_needs_is_no_hint(hint, code):
    """Quotas are counted by the month at most."""
    body = {
        "error": {
            "message": "slow down",
            "type": "rate_limit_error",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    }
    made = attribute(exchange(429, body, {"retry-after": hint}), catalogue())
    assert (made.code, made.who_acts) == (code, WhoActs.OPERATOR)
