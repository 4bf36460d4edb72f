"""Requests as HTTP writes them, and calls of SDKs as JSON."""

from __future__ import annotations

import json

import pytest

from probes.errors import UsageError
from probes.imports import raw_request, sdk_call
from probes.imports.taken import Taken

URL = "https://api.example.com/v1/chat/completions"
KEY = "sk-Abcdefghijklmnop0123456789"
HEAD = f"POST /v1/chat/completions HTTP/1.1\nHost: api.example.com\nAuthorization: Bearer {KEY}\nUser-Agent: OpenAI/Python 1.40.0\n"
SENT = (("Authorization", "Bearer {env:TOLD_KEY}"), ("User-Agent", "OpenAI/Python 1.40.0"))
TLS = "the request does not say whether it went over TLS; https is taken"

RAW = {
    "plain": (f"{HEAD}Content-Length: 2\n\n{{}}\n", {
        "method": "POST", "url": URL, "headers": SENT, "body": b"{}", "client": "openai-py", "version": "1.40.0",
        "http_version": "1.1", "notes": (TLS,), "secrets": ("TOLD_KEY",)}),
    "CRLF": (f"{HEAD}Content-Length: 4\n\n{{\n}}\n".replace("\n", "\r\n"), {"headers": SENT, "body": b"{\r\n}"}),
    "no length": (f"{HEAD}\n{{}}\n\n", {"body": b"{}"}),
    "chunked": (f"{HEAD}Transfer-Encoding: chunked\n\n2\n{{}}\n0\n\n".replace("\n", "\r\n"), {"headers": SENT, "body": b"{}"}),
    "a body cut short": (f"{HEAD}Content-Length: 9\n\n{{}}", {
        "body": b"{}", "notes": (TLS, "its Content-Length is 9, and 2 bytes of a body are there")}),
    "absolute form": ("GET http://h.example/v1/models HTTP/1.1\nAccept: a/b\n\n", {
        "method": "GET", "url": "http://h.example/v1/models", "headers": (("Accept", "a/b"),), "notes": ()}),
    "on this machine": ("GET /v1 HTTP/1.1\nHost: 127.0.0.1:8000\n\n", {"url": "http://127.0.0.1:8000/v1"}),
    "HTTP/2": ("POST /v1 HTTP/2\n:authority: h.example\n:scheme: https\naccept: a/b\n\n", {
        "url": "https://h.example/v1", "http_version": "2", "headers": (("accept", "a/b"),), "notes": ()}),
    "a trace of curl": ("* Connected\n> GET /v1 HTTP/1.1\n> Host: h.example\n> Accept: */*\n>\n< HTTP/1.1 403 Forbidden\n", {
        "url": "https://h.example/v1", "headers": (("Accept", "*/*"),), "body": b""}),
    "with its answer": (f"{HEAD}\n{{}}\n\nHTTP/1.1 403 Forbidden\nServer: x\n\nno\n", {"body": b"{}"}),
    "in a ticket": (f"We send this:\n\n{HEAD}\n{{}}", {"url": URL, "body": b"{}"}),
}  # fmt: skip


def raw(text, entry=None):
    return raw_request.told(text, Taken(), entry)


@pytest.mark.parametrize("name", RAW)
def test_a_raw_request_is_read(name):
    """Request line, headers and body, as far as the text tells them."""
    text, wanted = RAW[name]
    found = raw(text)
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert KEY not in repr(found)


NOT_RAW = {
    "no request": ("hello", "no request line"),
    "no host": ("GET /v1 HTTP/1.1\nAccept: a\n\n", "line 1: the request has no Host"),
    "no empty line": (f"{HEAD}{{}}", "line 5: is no header"),
    "no path": ("GET v1 HTTP/1.1\nHost: a\n\n", "line 1: what is asked for"),
    "two": (f"{HEAD}\n{{}}\n{HEAD}\n{{}}", "holds 2 requests"),
}


@pytest.mark.parametrize("name", NOT_RAW)
def test_a_broken_one_is_refused(name):
    """What is wrong is said with its line."""
    text, said = NOT_RAW[name]
    with pytest.raises(UsageError) as refused:
        raw(text)
    assert said in str(refused.value)


# --- calls of SDKs ---------------------------------------------------------------------------------------

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
BASE = "https://api.example.com/v1"
CALLS = {
    "whole": (
        {"client": "openai-py", "version": "1.40.0", "base_url": BASE, "method": "chat.completions.create", "arguments": CHAT},
        {}, URL, "openai-py"),
    "arguments alone": (CHAT, {"base_url": BASE}, URL, "openai-py"),
    "arguments alone, of the other API": (
        CHAT, {"base_url": "https://api.example.com", "api": "anthropic"}, "https://api.example.com/v1/messages", "anthropic-py"),
    "a response": ({"model": "m", "input": "Hi."}, {"base_url": BASE}, f"{BASE}/responses", "openai-py"),
    "an emulated client": ({"client": "openai-js", "base_url": BASE, "arguments": CHAT}, {}, URL, "openai-js"),
    "a stream by its method": (
        {"base_url": BASE, "method": "client.chat.completions.stream", "arguments": CHAT}, {}, URL, "openai-py"),
    "curl": ({"client": "curl", "base_url": BASE, "arguments": CHAT}, {}, URL, "curl"),
}  # fmt: skip


def called(call, **more):
    taken = Taken()
    return sdk_call.told(json.dumps(call), taken, **more), taken.environ


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_the_request_of_its_sdk(name):
    """A call becomes the request that this SDK makes, with its own headers and an open place for the key."""
    call, more, url, client = CALLS[name]
    found, environ = called(call, **more)
    assert (found.url, found.client, found.method, environ) == (url, client, "POST", {})
    assert (
        json.loads(found.body) == CHAT | ({"stream": True} if "stream" in name else {})
        if "input" not in call
        else True
    )
    agent = next(value for header, value in found.headers if header.lower() == "user-agent")
    assert (found.secrets, found.notes) == (("TOLD_KEY",), ())
    if name == "whole":
        assert agent == "OpenAI/Python 1.40.0"
        assert ("X-Stainless-Package-Version", "1.40.0") in found.headers


def test_what_an_sdk_takes_out_of_its_arguments():
    """Extra headers, query and body go where the SDK puts them; a key that was told is taken out."""
    extra = {
        "extra_headers": {"X-A": "b"},
        "extra_query": {"q": "1"},
        "extra_body": {"top_k": 3},
        "timeout": 5,
    }
    found, environ = called({"base_url": BASE, "api_key": KEY, "arguments": {**CHAT, **extra}})
    assert found.url == f"{URL}?q=1"
    assert json.loads(found.body) == {**CHAT, "top_k": 3}
    assert dict(found.headers)["X-A"] == "{env:TOLD_X_A}"
    assert "the timeout of the call is left out" in found.notes
    assert environ == {"TOLD_KEY": KEY, "TOLD_X_A": "b"}


NOT_CALLS = {
    "no JSON": ("{", "line 1: is no JSON"),
    "no object": ("[]", "must be a JSON object"),
    "an unknown key": ('{"arguments": {}, "metod": "x"}', "metod: unknown key; did you mean method?"),
    "an unknown method": ('{"arguments": {}, "method": "chat.completion.create"}', "did you mean chat.completions.create?"),
    "an unknown client": ('{"client": "openai-pi", "base_url": "x", "arguments": {"messages": []}}', "did you mean openai-py?"),
    "the other API's client": (
        '{"client": "anthropic-py", "base_url": "x", "method": "responses.create", "arguments": {}}', "has no responses.create"),
    "nothing that says the method": ('{"model": "m"}', "method: is missing"),
    "no URL": ('{"messages": []}', "base_url: is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_CALLS)
def test_a_wrong_call_is_refused(name):
    """The key that is wrong is named, with the nearest that is right."""
    text, said = NOT_CALLS[name]
    with pytest.raises(UsageError) as refused:
        sdk_call.told(text, Taken())
    assert said in str(refused.value)
