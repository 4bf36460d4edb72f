"""Does an emulated client send its row, and nothing else?"""

import json

import pytest
from wire_server import DECLARED, EMULATED, KEY, answer, ask, good, send, serving, setting, trial

from probes.clients import SendLimits, sender_class
from probes.model import Ask, EnvRef, Raw, Route

LIMITS = SendLimits(5.0, 1 << 20)
# What a row offers → the codings of it that can be read here.
READABLE = {
    "gzip, compress, deflate, br": "gzip, deflate",
    "gzip, deflate, br, zstd": "gzip, deflate",
    "zstd,gzip": "gzip",
}


def head_and_body(raw):
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return first, [tuple(line.split(": ", 1)) for line in lines], body


def sent_by(client, request, *, api=None, **route):
    """The head and the body of one request, and its outcome."""
    with serving(lambda peer, _: peer.send(answer())) as server:
        made = setting(client, Route("edge", server.url, **route), api=api, environ={"BYPASS": "let-me-in"})
        with sender_class(made.client)(made).connect(made.target.routes["edge"]) as opened:
            outcome = opened.send(trial(client, request), LIMITS)
        (raw,) = server.requests
    return *head_and_body(raw), outcome, server.port


@pytest.mark.parametrize("client", EMULATED)
def test_the_wire_holds_what_the_row_declares(client):
    """Names, order, case and values of every header; the rest is the dialect's body."""
    first, headers, body, outcome, port = sent_by(client, ask(client))
    filled = {"{host}": f"127.0.0.1:{port}", "{length}": str(len(body)), "{key}": KEY}

    def fill(name, value):
        if name.lower() == "accept-encoding":
            value = READABLE.get(value, value)
        for token, text in filled.items():
            value = value.replace(token, text)
        return value

    assert headers == [(name, fill(name, value)) for name, value in DECLARED[client].headers]
    assert first.startswith("POST /")
    assert json.loads(body)["model"] == "m"
    assert list(outcome.exchanges[0].request.headers) == headers
    assert outcome.exchanges[0].status == 200


@pytest.mark.parametrize("client", [name for name in EMULATED if DECLARED[name].api is None])
def test_one_that_speaks_both_dialects_sends_the_key_as_the_target_takes_it(client):
    """In the place where the row has its key."""
    _, headers, body, outcome, _ = sent_by(client, Ask("messages"), api="anthropic")
    names = [name.lower() for name, _ in headers]
    declared = [name.lower() for name, _ in DECLARED[client].headers]
    at = declared.index("authorization")
    assert names == [*declared[:at], "x-api-key", "anthropic-version", *declared[at + 1 :]]
    assert dict(headers)["x-api-key"] == KEY
    assert "max_tokens" in json.loads(body)
    assert outcome.exchanges[0].request.url.endswith("/v1/messages")


@pytest.mark.parametrize("client", EMULATED)
def test_a_request_without_a_body_has_no_header_of_one(client):
    """Such as the list of models."""
    first, headers, body, _, _ = sent_by(client, Ask("models"))
    assert first.startswith("GET ")
    assert body == b""
    assert not [name for name, _ in headers if name.lower().startswith("content-")]


def test_headers_of_the_route_come_last():
    """They are the operator's, not the client's."""
    _, headers, _, _, _ = sent_by("axios", ask("axios"), headers={"X-Bypass": EnvRef("BYPASS")})
    assert headers[-1] == ("X-Bypass", "let-me-in")
    assert len(headers) == len(DECLARED["axios"].headers) + 1


def test_an_edit_leaves_order_and_case_as_they_are():
    """Also where Host does not come first, as it does in every Python library."""
    edits = {"user-agent": "X", "x-stainless-*": None, "accept": None, "x-probe": "1"}
    _, headers, _, _, _ = sent_by("axios", ask("axios", edits=edits))
    declared = [name for name, _ in DECLARED["axios"].headers if name != "Accept"]
    assert [name for name, _ in headers] == [*declared, "x-probe"]
    assert dict(headers)["User-Agent"] == "X"


def test_a_raw_request_is_its_own():
    """Nothing of the row is in it."""
    _, headers, _, _, _ = sent_by("axios", Raw("POST", "/x", (("X-B", "1"), ("Accept", "y")), b"z"))
    assert {name.lower() for name, _ in headers} == {"host", "content-length", "x-b", "accept"}
    assert [name for name, _ in headers if name in {"X-B", "Accept"}] == ["X-B", "Accept"]


def test_every_part_of_a_declaration_says_where_it_is_from():
    """Nobody's memory is a source."""
    assert all(DECLARED[name].source and DECLARED[name].headers for name in EMULATED)
    assert not any(client.source or client.headers for client in DECLARED.values() if client.genuine)


def test_it_answers_as_any_other_client(monkeypatch):
    """The outcome is plain httpx's."""
    with serving(lambda peer, _: peer.send(good("axios"))) as server:
        assert send("axios", server.url).returned.startswith("Response: 200")
