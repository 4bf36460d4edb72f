"""Are the marks that an edge, a load balancer or a gateway leaves on every answer told from what it makes itself?"""

from __future__ import annotations

import pytest
from exchanges import CLOUDFLARE, HTML, JSON, exchange
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.attribution import attribute, is_refusal
from probes.model import Confidence, Layer
from probes.signatures import catalogue

BAD_KEY = '{"error":{"message":"Incorrect API key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}'
TOO_LARGE = '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}'
UNKNOWN, ORIGIN, EDGE, GATEWAY = Layer.UNKNOWN, Layer.ORIGIN, Layer.EDGE, Layer.GATEWAY
CLOUDFRONT = {
    "via": "1.1 9b51ea0192df87ecb2185cd2247e4a1b.cloudfront.net (CloudFront)",
    "x-amz-cf-id": "S4ARsV1e_Oj6NX",
    "x-cache": "Error from cloudfront",
}
PASSED_BY_KONG = {"via": "kong/3.4.2", "x-kong-proxy-latency": "1", "x-kong-upstream-latency": "7"}
MADE_BY_KONG = {"server": "kong/3.4.2", "x-kong-response-latency": "1"}
INACTIVITY = (
    "<HTML>\n<HEAD>\n<TITLE>Inactivity Timeout</TITLE>\n</HEAD>\n<BODY BGCOLOR=white FGCOLOR=black>\n"
    "<H1>Inactivity Timeout</H1>\n<HR>\n</BODY>\n"
)


def sample(signature: str, at: int = 0) -> str:
    """The body of a signature's sample."""
    row = next(one.row for one in catalogue().signatures if one.id == signature)
    return row.samples[at].body


BLOCK_PAGES = [sample("imperva.block"), sample("f5.rejected")]

# status, body, headers → layer, product, code, confidence, transit
MARKS = {
    "CloudFront's `Error from cloudfront` stands on the origin's errors, too": (
        (401, BAD_KEY, JSON | CLOUDFRONT), (ORIGIN, None, "auth.rejected", Confidence.MEDIUM, ("CloudFront",))),
    "CloudFront in front of nobody's page": (
        (403, "<p>no", HTML | CLOUDFRONT), (UNKNOWN, None, "blocked", Confidence.LOW, ("CloudFront",))),
    "Front Door marks all answers": (
        (401, BAD_KEY, JSON | {"x-azure-ref": "0abc"}), (ORIGIN, None, "auth.rejected", Confidence.MEDIUM, ("Azure Front Door",))),
    "nginx writes `server` on what it passes on": (
        (401, BAD_KEY, JSON | {"server": "nginx"}), (ORIGIN, None, "auth.rejected", Confidence.MEDIUM, ("nginx",))),
    "Envoy writes `server` on what it passes on": (
        (401, BAD_KEY, JSON | {"server": "envoy", "x-envoy-upstream-service-time": "7"}),
        (ORIGIN, None, "auth.rejected", Confidence.MEDIUM, ("Envoy",))),
    "Fastly's `via` is not Varnish's": (
        (401, BAD_KEY, JSON | {"via": "1.1 varnish", "x-served-by": "cache-fra-eddf8230071-FRA"}),
        (ORIGIN, None, "auth.rejected", Confidence.MEDIUM, ("Fastly",))),
    "Kong passes an error on": (
        (401, BAD_KEY, JSON | PASSED_BY_KONG), (ORIGIN, None, "auth.rejected", Confidence.MEDIUM, ("Kong",))),
    "a message object that Kong passes on is nobody's": (
        (401, '{"message":"Unauthorized"}', JSON | PASSED_BY_KONG), (UNKNOWN, None, "auth.rejected", Confidence.LOW, ("Kong",))),
    "Kong makes an error": (
        (401, '{"message":"Unauthorized"}', JSON | MADE_BY_KONG), (GATEWAY, "Kong", "auth.rejected", Confidence.HIGH, ())),
    "Kong's 502 of its own behind Cloudflare is Kong's": (
        (502, '{"message":"An invalid response was received from the upstream server"}', JSON | CLOUDFLARE),
        (GATEWAY, "Kong", "unreachable.origin", Confidence.HIGH, ("Cloudflare",))),
    "words that Envoy and Google share, behind Google": (
        (503, "no healthy upstream", {"via": "1.1 google"}),
        (UNKNOWN, None, "unreachable.origin", Confidence.LOW, ("Google Frontend",))),
    "words that Envoy and Google share, behind Envoy": (
        (503, "no healthy upstream", {"server": "envoy"}), (EDGE, "Envoy", "unreachable.origin", Confidence.MEDIUM, ())),
    "the same words from neither": (
        (503, "no healthy upstream", {}), (UNKNOWN, None, "unreachable.origin", Confidence.LOW, ())),
    "the name of a status is what many Go programs write": (
        (502, "Bad Gateway", {"content-type": "text/plain; charset=utf-8"}),
        (UNKNOWN, None, "unreachable.origin", Confidence.LOW, ())),
    "a page that one vendor's cache gave to others": (
        (504, INACTIVITY, {"content-type": "text/html"}), (UNKNOWN, None, "timeout.first_byte", Confidence.LOW, ())),
    "Fly.io's marks alone": (
        (502, "", {"server": "Fly/a1b2c3 (2026-01-01)", "via": "2 fly.io", "fly-request-id": "01J"}),
        (UNKNOWN, None, "unreachable.origin", Confidence.LOW, ("Fly.io",))),
    "Anthropic's 413 is made by its edge": (
        (413, TOO_LARGE, JSON | CLOUDFLARE), (EDGE, "Anthropic", "size.rejected", Confidence.MEDIUM, ("Cloudflare",))),
    "Anthropic's 413 with a request id is the API's": (
        (413, '{"type":"error",' + TOO_LARGE[1:], JSON | CLOUDFLARE | {"request-id": "req_011CXw8h8A796q3f74Ezmhav"}),
        (ORIGIN, "Anthropic", "size.rejected", Confidence.MEDIUM, ("Cloudflare",))),
    "a server that names itself beside the API's shape": (
        (401, BAD_KEY, JSON | {"server": "llama.cpp"}), (ORIGIN, "llama.cpp", "auth.rejected", Confidence.MEDIUM, ())),
    "Imperva's page under 200 is a block": (
        (200, BLOCK_PAGES[0], HTML), (EDGE, "Imperva", "blocked", Confidence.MEDIUM, ())),
    "F5's page under 200 is a block": (
        (200, BLOCK_PAGES[1], HTML), (EDGE, "F5 BIG-IP", "blocked", Confidence.HIGH, ())),
    "AWS WAF's challenge is an empty 202": (
        (202, "", {"x-amzn-waf-action": "challenge", "server": "CloudFront"}),
        (EDGE, "AWS WAF", "challenged", Confidence.MEDIUM, ("CloudFront",))),
    "an answer that quotes a block page is an answer": (
        (400, {"error": {"message": BLOCK_PAGES[1], "type": "invalid_request_error"}}, {}),
        (ORIGIN, None, "request.rejected", Confidence.MEDIUM, ())),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "expected"), MARKS.values(), ids=MARKS)
def test_a_mark_is_no_maker(answer, expected):
    """What passes through keeps its maker; what is made on the way has the one that made it."""
    status, body, headers = answer
    found = attribute(exchange(status, body, headers), catalogue())
    assert (found.layer, found.product, found.code, found.confidence, found.transit) == expected
    assert found.next_test or found.layer is not Layer.UNKNOWN


# What sites and their origins write of a CDN: an address to fetch from, to report to, to go to.
NAMED = {
    "content-security-policy": "default-src 'self' https://cdnjs.cloudflare.com https://d111.cloudfront.net",
    "content-security-policy-report-only": "script-src https://static.cloudflareinsights.com",
    "link": "<https://a.cloudfront.net/x.css>; rel=preload, <https://www.fastly.com/>; rel=preconnect",
    "report-to": '{"group":"cf-nel","endpoints":[{"url":"https://a.nel.cloudflare.com/report/v4?s=x"}]}',
    "nel": '{"success_fraction":0,"report_to":"cf-nel","max_age":604800}',
    "alt-svc": 'h3="edge.akamai.net:443"',
    "access-control-allow-origin": "https://example.vercel.app",
    "x-powered-by": "Express behind nginx and Kong",
}
NAMING_PAGE = (
    '<html><head><link href="https://cdnjs.cloudflare.com/x.css"><script src="https://a.cloudfront.net/y.js">'
    '</script></head><body>See <a href="https://www.cloudflare.com/5xx-error-landing">Cloudflare</a>, error code: 1020'
    "</body></html>"
)


@pytest.mark.parametrize("name", [*NAMED, "body"])
def test_the_name_of_a_cdn_in_an_address_is_not_even_transit(name):
    """Only what a product itself writes in a place of its own says that it is there."""
    headers = {name: NAMED[name]} if name in NAMED else {}
    found = attribute(exchange(403, NAMING_PAGE if name == "body" else "<p>no", HTML | headers), catalogue())
    assert (found.layer, found.product, found.code, found.transit) == (UNKNOWN, None, "blocked", ())


SAME_TEXT = {"success": False, "error": "Access denied by security policy."}
FRONTS = {
    "Cloudflare": (CLOUDFLARE, ("Cloudflare",)),
    "another vendor": ({"server": "nginx", "x-vercel-id": "fra1::x"}, ("Vercel", "nginx")),
    "nobody": ({}, ()),
}


@pytest.mark.parametrize(("front", "transit"), FRONTS.values(), ids=FRONTS)
def test_the_same_refusal_from_two_vendors_is_neithers(front, transit):
    """What both say word for word is perhaps said by something before both: the CDN in the path is no culprit."""
    found = attribute(exchange(403, SAME_TEXT, front), catalogue())
    assert (found.layer, found.product, found.code, found.confidence) == (
        UNKNOWN,
        None,
        "blocked",
        Confidence.LOW,
    )
    assert set(found.transit) == set(transit)
    assert found.next_test


@pytest.mark.parametrize("status", [502, 504])
@pytest.mark.parametrize("front", [CLOUDFLARE, {}], ids=["its headers", "no headers"])
def test_a_branded_gateway_error_is_ambiguous(status, front):
    """Cloudflare's page of 502 and 504 comes for the origin's own, too, so neither is named."""
    title = {502: "Bad gateway", 504: "Gateway time-out"}[status]
    page = f"<!DOCTYPE html><html><head><title>api.example.com | {status}: {title}</title></head></html>"
    found = attribute(exchange(status, page, HTML | front), catalogue())
    assert (found.layer, found.confidence) == (UNKNOWN, Confidence.LOW)
    assert "origin" in found.next_test


@pytest.mark.parametrize("body", BLOCK_PAGES, ids=["Imperva", "F5 BIG-IP"])
@pytest.mark.parametrize("status", [200, 403, 503])
def test_a_block_page_is_a_refusal_under_any_status(status, body):
    """A client that looks at the status alone would take it for an answer."""
    assert is_refusal(exchange(status, body, HTML))


MARK = [(product, layer, name, regex) for product, layer, marks in catalogue().marks for name, regex in marks]
ASCII = st.characters(min_codepoint=32, max_codepoint=126)


def value_of(data, regex):
    return data.draw(st.from_regex(regex.check(), alphabet=ASCII) if regex.pattern else st.text(ASCII))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_mark_alone_makes_anybody_the_maker(data):
    """Beside a page of nobody's it proves the way, never who spoke."""
    _, _, name, regex = data.draw(st.sampled_from(MARK))
    found = attribute(exchange(403, "<p>no", HTML | {name: value_of(data, regex)}), catalogue())
    assert found.transit
    assert (found.layer, found.product, found.confidence) == (UNKNOWN, None, Confidence.LOW)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_an_api_error_stays_the_apis_behind_every_product(data):
    """A 401 in the API's form is made by what stands behind, whoever wrote `server` or `via` on its way."""
    product, _, name, regex = data.draw(st.sampled_from([mark for mark in MARK if mark[1] is not ORIGIN]))
    found = attribute(exchange(401, BAD_KEY, JSON | {name: value_of(data, regex)}), catalogue())
    assert (found.layer, found.product, found.code) == (ORIGIN, None, "auth.rejected")
    assert product in found.transit
