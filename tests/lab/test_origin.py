"""Does the origin speak both dialects, on time?"""

import json
import socket

import anthropic
import openai
import pytest
from conftest import CLOCK, ask, send, settled

from probes.lab import LAB_KEY, MODEL, PREFILL, TPOT, serve

ANTHROPIC = [("anthropic-version", "2026-10-21")]


def events(reply):
    return [part for part in reply.body.decode().split("\n\n") if part]


def data(event):
    return json.loads(event.partition("data: ")[2])


def test_openai_stream_has_every_part(lab):
    """Role-only chunk, tokens, finish, usage with no choices, end marker."""
    reply = send(lab.origin_url, ask(stream=True, stream_options={"include_usage": True}))
    *chunks, done = events(reply)
    first, *tokens, finish, usage = map(data, chunks)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(t["choices"][0]["delta"]["content"] for t in tokens) == "Hello! How can I help you?"
    assert (finish["choices"][0]["delta"], finish["choices"][0]["finish_reason"]) == ({}, "stop")
    assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], 8)
    assert (done, reply.tidy, reply.end) == ("data: [DONE]", True, "closed")


def test_usage_is_only_sent_when_asked_for(lab):
    """Without include_usage no chunk speaks of usage."""
    assert b"usage" not in send(lab.origin_url, ask(stream=True)).body


def test_anthropic_stream_has_every_event(lab):
    """The event sequence of the Messages API."""
    reply = send(lab.origin_url, ask(cap=3, stream=True), path="/v1/messages", headers=ANTHROPIC)
    names = [event.split("\n")[0].removeprefix("event: ") for event in events(reply)]
    delta = ["content_block_delta"] * 3
    assert names == [
        "message_start",
        "content_block_start",
        "ping",
        *delta,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    end = data(events(reply)[-2])
    assert (end["delta"]["stop_reason"], end["usage"]["output_tokens"]) == ("max_tokens", 3)


@pytest.mark.parametrize("route", ["origin", "edge"])
def test_openai_sdk_is_content(lab, route):
    """The official SDK reads answers, streams, models and errors on both routes."""
    url = lab.url(route=route)
    with openai.OpenAI(base_url=url, api_key=lab.api_key, max_retries=0) as client:
        answer = client.chat.completions.create(**ask())
        assert (answer.choices[0].finish_reason, answer.usage.total_tokens) == ("stop", 12)
        stream = client.chat.completions.create(**ask("count", 4), stream=True)
        chunks = [chunk.choices[0] for chunk in stream]
        assert "".join(c.delta.content or "" for c in chunks) == "1 2 3 4 "
        assert chunks[-1].finish_reason == "length"
        assert client.models.list().data[0].id == MODEL
    with openai.OpenAI(base_url=url, api_key="wrong", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError) as refused:
            client.chat.completions.create(**ask())
        assert refused.value.code == "invalid_api_key"


@pytest.mark.parametrize("route", ["origin", "edge"])
def test_openai_sdk_reads_responses(lab, route):
    """Answers, streams with numbered events and a last one that holds it all, and what is refused."""
    with openai.OpenAI(base_url=lab.url(route=route), api_key=lab.api_key, max_retries=0) as client:
        create, asked = client.responses.create, {"model": MODEL, "input": "Say hello."}
        answer = create(**asked, max_output_tokens=32)
        assert (answer.status, answer.output_text) == ("completed", "Hello! How can I help you?")
        listed = create(model=MODEL, input=[{"role": "user", "content": "count"}], max_output_tokens=16)
        assert (listed.status, listed.incomplete_details.reason) == ("incomplete", "max_output_tokens")
        stream = list(create(**asked, stream=True))
        assert [event.sequence_number for event in stream] == list(range(len(stream)))
        assert (stream[0].type, stream[-1].type) == ("response.created", "response.completed")
        said = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        assert said == stream[-1].response.output_text
        assert stream[-1].response.usage.output_tokens == 8
        for wrong in ({"input": 0}, {"max_output_tokens": 8}):
            with pytest.raises(openai.BadRequestError) as refused:
                create(**{**asked, **wrong})
            assert refused.value.param == next(iter(wrong))


@pytest.mark.parametrize("route", ["origin", "edge"])
def test_anthropic_sdk_is_content(lab, route):
    """The official SDK reads answers, streams and errors on both routes."""
    url = lab.url("anthropic", route)
    with anthropic.Anthropic(base_url=url, api_key=lab.api_key, max_retries=0) as client:
        assert client.messages.create(**ask(cap=16)).stop_reason == "end_turn"
        with client.messages.stream(**ask("count", 4)) as stream:
            final = stream.get_final_message()
        assert (final.content[0].text, final.stop_reason) == ("1 2 3 4 ", "max_tokens")
    stranger = anthropic.Anthropic(base_url=url, api_key="wrong", max_retries=0)
    with stranger, pytest.raises(anthropic.AuthenticationError):
        stranger.messages.create(**ask(cap=1))


BAD_TYPE = {"model": MODEL, "messages": "hi", "max_tokens": 1}


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        pytest.param({"body": ask(), "key": "sk-no"}, 401, "invalid_api_key", id="bad key"),
        pytest.param({"body": ask(), "key": None}, 401, None, id="no key"),
        pytest.param({"body": BAD_TYPE, "key": "sk-no"}, 401, "invalid_api_key", id="key before body"),
        pytest.param({"body": BAD_TYPE}, 400, "invalid_type", id="messages is text"),
        pytest.param({"body": b"{"}, 400, None, id="not JSON"),
        pytest.param({"body": b"[" * 100_000}, 400, None, id="too deep"),
        pytest.param({"body": ask(max_tokens="x")}, 400, "invalid_value", id="cap is text"),
        pytest.param({"body": {**ask(), "model": "x"}}, 404, "model_not_found", id="model"),
        pytest.param({"body": ask(), "path": "/v1/v1/chat/completions"}, 404, None, id="path"),
        pytest.param({"method": "GET"}, 405, "method_not_supported", id="method"),
    ],
)
def test_openai_errors_have_their_shape(lab, request_, status, code):
    """Every refusal is OpenAI's error object with its id in the header."""
    reply = send(lab.origin_url, **request_)
    error = reply.json["error"]
    assert (reply.status, error["type"], error["code"]) == (status, "invalid_request_error", code)
    assert set(error) == {"message", "type", "param", "code"}
    assert reply.get("x-request-id").startswith("req_")


@pytest.mark.parametrize(
    ("request_", "status", "kind"),
    [
        pytest.param({"body": ask(cap=1), "key": "x"}, 401, "authentication_error", id="bad key"),
        pytest.param({"body": BAD_TYPE}, 400, "invalid_request_error", id="messages is text"),
        pytest.param({"body": ask()}, 400, "invalid_request_error", id="no cap"),
        pytest.param({"body": {**ask(cap=1), "model": "x"}}, 404, "not_found_error", id="model"),
        pytest.param({"method": "GET"}, 405, "invalid_request_error", id="method"),
        pytest.param({"body": ask(), "path": "/v1/nothing"}, 404, "not_found_error", id="path"),
    ],
)
def test_anthropic_errors_have_their_shape(lab, request_, status, kind):
    """Every refusal is Anthropic's error object with the request id in both places."""
    reply = send(lab.origin_url, **{"path": "/v1/messages", "headers": ANTHROPIC, **request_})
    assert (reply.status, reply.json["type"], reply.json["error"]["type"]) == (status, "error", kind)
    assert reply.json["request_id"] == reply.get("request-id")


def test_x_api_key_is_a_key_too(lab):
    """Older Anthropic SDKs send the key in a header of its own."""
    headers = [*ANTHROPIC, ("X-Api-Key", LAB_KEY)]
    assert send(lab.origin_url, ask(cap=1), path="/v1/messages", key=None, headers=headers).status == 200


def test_keyless_server_takes_anybody():
    """keys=None asks for none."""
    with serve(clock=CLOCK, keys=None) as lab:
        assert send(lab.base_url, ask(cap=1), key=None).status == 200
        assert lab.api_key is None


def test_answer_and_stream_end_together(lab):
    """Non-streaming takes prefill and all tokens; its streaming twin ends at the same time."""
    due = PREFILL + 40 * TPOT
    for stream in (False, True):
        took = send(lab.origin_url, ask("count", 40, stream=stream)).seconds
        assert (
            due <= took < due + 100
        )  # machine seconds enough for any hiccup; what is wrong by a factor still shows


def test_arrivals_are_logged_as_sent(lab):
    """Tests can see what reached the origin, through the edge too: names, case, order."""
    send(lab.base_url, ask(), path="/v1/chat/completions?x=1", headers=[("X-OdD", "1"), ("x-odd", "2")])
    (arrival,) = lab.origin.requests
    assert (arrival.method, arrival.path, arrival.status) == ("POST", "/v1/chat/completions?x=1", 200)
    assert arrival.headers[-2:] == (("X-OdD", "1"), ("x-odd", "2"))
    assert (arrival.body_bytes, settled(arrival).ended) == (len(json.dumps(ask())), True)


def test_chunked_and_expected_uploads_arrive(lab):
    """A chunked body behind Expect: 100-continue is asked for and passes both hops."""
    body = json.dumps(ask()).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {LAB_KEY}\r\n"
        "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", lab.edge.server.port)) as sock:
        sock.sendall(head)
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        assert sock.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
