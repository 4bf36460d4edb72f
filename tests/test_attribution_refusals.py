"""Is a refusal told as no more than it says: of a key, a model, a place, a content, or of nobody knows what?"""

from __future__ import annotations

from typing import Any

import pytest
from exchanges import CLOUDFLARE, HTML, exchange

from probes.attribution import attribute, is_api_answer, is_refusal
from probes.model import Confidence, Layer, WhoActs
from probes.signatures import catalogue

EDGE, GATEWAY, ORIGIN, PROXY, UNKNOWN = Layer.EDGE, Layer.GATEWAY, Layer.ORIGIN, Layer.PROXY, Layer.UNKNOWN
CUSTOMER, OPERATOR = WhoActs.CUSTOMER, WhoActs.OPERATOR
MEDIUM, LOW = Confidence.MEDIUM, Confidence.LOW


def said(message: str, kind: str | None = None, code: str | int | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# Status, body, headers; layer, product, code, who acts, confidence.
TOLD = {
    "a country or network that Anthropic refuses, behind its CDN": (
        403, {"error": {"type": "forbidden", "message": "Request not allowed"}}, CLOUDFLARE,
        (EDGE, "Anthropic", "blocked.source", CUSTOMER, MEDIUM)),
    "the same from an SDK's exception": (
        403, {"error": {"type": "forbidden", "message": "Request not allowed"}}, {},
        (EDGE, "Anthropic", "blocked.source", CUSTOMER, MEDIUM)),
    "a custom answer of an edge in the API's shape": (
        403, {"error": {"message": "Your request was blocked.", "type": "forbidden"}}, CLOUDFLARE,
        (UNKNOWN, None, "blocked", OPERATOR, LOW)),
    "a guard of prompts": (
        403, {"error": {"message": "bad request format, prompt pattern is blocked", "type": "policy"}}, {"server": "kong/3.6"},
        (UNKNOWN, None, "blocked", OPERATOR, LOW)),
    "an allowlist of addresses": (
        403, said("Blocked by IP allowlist: 192.0.2.4 is not allowed", "ip_not_allowed", "403"), {},
        (UNKNOWN, None, "blocked", OPERATOR, LOW)),
    "OpenAI's allowlist of addresses": (
        401, said("Not authorized", "invalid_request_error", "ip_not_authorized"), {},
        (GATEWAY, "OpenAI", "blocked.source", CUSTOMER, MEDIUM)),
    "a model that the project has not": (
        403, said("Project `p` does not have access to model `m`", "invalid_request_error", "model_not_found"), {},
        (ORIGIN, None, "model.not_found", CUSTOMER, MEDIUM)),
    "a model that is not allowed, in words": (
        403, said("You are not allowed to access the model m", "permission_denied"), {},
        (ORIGIN, None, "model.not_found", CUSTOMER, MEDIUM)),
    "a model that a key of LiteLLM's has not": (
        401, said("key not allowed to access model.", "key_model_access_denied", "401"), {},
        (GATEWAY, "LiteLLM", "model.not_found", CUSTOMER, MEDIUM)),
    "a key without rights": (
        403, said("This API key does not have permission to use this resource", "forbidden"), {},
        (ORIGIN, None, "auth.rejected", CUSTOMER, MEDIUM)),
    "a key that is none, under 400": (
        400, said("API key not valid. Please pass a valid API key.", None, 400), {},
        (ORIGIN, None, "auth.rejected", CUSTOMER, MEDIUM)),
    "a message that only quotes another's word on a key": (
        403, said("the tool said: invalid API key", "tool_error"), {},
        (UNKNOWN, None, "blocked", OPERATOR, LOW)),
    "a 403 in Anthropic's shape that names nothing": (
        403, {"type": "error", "error": {"type": "forbidden", "message": "Forbidden"}}, {},
        (UNKNOWN, None, "blocked", OPERATOR, LOW)),
    "a 403 in vLLM's older shape": (
        403, {"object": "error", "message": "Forbidden", "type": "Forbidden", "code": 403}, {},
        (UNKNOWN, None, "blocked", OPERATOR, LOW)),
    "a spending limit of a key": (
        403, said("Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys", None, 403), {},
        (GATEWAY, "OpenRouter", "quota.exhausted", CUSTOMER, MEDIUM)),
    "no credit, told as an invalid request": (
        400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}},
        {}, (ORIGIN, None, "quota.exhausted", CUSTOMER, MEDIUM)),
    "Azure's content filter": (
        400, said("The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please", None, "content_filter"), {},
        (ORIGIN, "Azure OpenAI", "blocked.content", CUSTOMER, MEDIUM)),
    "somebody's content filter": (
        400, said("No", None, "content_filter"), {}, (ORIGIN, None, "blocked.content", CUSTOMER, MEDIUM)),
    "something named in the request that is not there": (
        404, said("No such File object: file-1", "invalid_request_error"), {},
        (ORIGIN, None, "wrong_base_url", CUSTOMER, LOW)),
    "a path that is not there": (
        404, said("Invalid URL (POST /chat/completions)", "invalid_request_error"), {},
        (ORIGIN, None, "wrong_base_url", CUSTOMER, MEDIUM)),
    "vLLM's older shape without a model in it": (
        404, {"object": "error", "message": "Not Found", "type": "NotFoundError", "code": 404}, {},
        (ORIGIN, None, "wrong_base_url", CUSTOMER, LOW)),
    "a page under 406": (
        406, "<html><head><title>Not Acceptable</title></head></html>", HTML, (UNKNOWN, None, "blocked", OPERATOR, LOW)),
    "an API's 406": (
        406, said("Client must accept text/event-stream"), {}, (ORIGIN, None, "request.rejected", CUSTOMER, MEDIUM)),
    "the login of Cloudflare Access": (
        302, "", {**CLOUDFLARE, "location": "https://acme.cloudflareaccess.com/cdn-cgi/access/login/api.example.com?kid=abc"},
        (EDGE, "Cloudflare", "auth.in_front", OPERATOR, MEDIUM)),
    "a single sign-on": (
        302, "", {"location": "https://id.example.com/auth?client_id=a&redirect_uri=b&response_type=code"},
        (UNKNOWN, None, "auth.in_front", OPERATOR, LOW)),
    "a redirect that names a login in a parameter": (
        302, "", {"location": "https://www.example.com/?next=https://acme.cloudflareaccess.com/cdn-cgi/access/login/x"},
        (UNKNOWN, None, "redirected", OPERATOR, LOW)),
    "Zscaler": (
        403, "<html><head><title>Internet Security by Zscaler</title></head><body>Sorry</body></html>",
        {**HTML, "server": "Zscaler/6.2"}, (PROXY, "Zscaler", "proxy.intercepts", CUSTOMER, Confidence.HIGH)),
    "Blue Coat": (
        503, '<HTML><HEAD><TITLE>Network Error</TITLE></HEAD><BODY><big>Network Error (tcp_error)</big><br>\nA communication error occurred: "x"</BODY></HTML>',
        HTML, (PROXY, "Blue Coat", "unreachable.connect", CUSTOMER, MEDIUM)),
}  # fmt: skip


@pytest.mark.parametrize(("status", "body", "headers", "told"), TOLD.values(), ids=TOLD)
def test_a_refusal_is_what_it_says(status, body, headers, told):
    """Who made it, what it is about and whose move it is, no surer than its words are."""
    found = attribute(exchange(status, body, headers, url=""), catalogue())
    assert (found.layer, found.product, found.code, found.who_acts, found.confidence) == told


@pytest.mark.parametrize(
    ("status", "body", "answer"),
    [
        (400, said("filtered", None, "content_filter"), True),
        (403, said("Project `p` does not have access to model `m`", None, "model_not_found"), True),
        (403, said("Blocked", "policy"), False),
    ],
    ids=["the provider's policy", "a model", "nobody's"],
)
def test_what_the_api_itself_refuses_is_its_answer(status, body, answer):
    """A refusal is what comes before the API."""
    seen = exchange(status, body)
    assert (is_api_answer(seen), is_refusal(seen)) == (answer, not answer)


@pytest.mark.parametrize(
    ("headers", "waits"), [({}, False), ({"retry-after": "soon"}, False), ({"retry-after": "7"}, True)],
    ids=["no wait", "no readable wait", "a wait"],
)  # fmt: skip
def test_nobody_is_told_to_wait_for_what_is_not_said(headers, waits):
    """The next test of a rate limit waits for Retry-After only where one came that can be kept to."""
    body = {"success": False, "error": [{"code": 2003, "message": "Rate limited"}]}
    found = attribute(exchange(429, body, {**CLOUDFLARE, **headers}), catalogue())
    assert found.next_test is not None
    assert ("Retry-After says" in found.next_test) == waits
    assert (found.code == "ratelimited") == waits
