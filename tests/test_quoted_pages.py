"""Is what an answer quotes ever taken for who made it?"""

from __future__ import annotations

import json

import pytest
from exchanges import JSON, exchange

from probes.attribution import attribute
from probes.classify import classify
from probes.classify.exchanges import exchange as pasted
from probes.model import Layer
from probes.signatures import catalogue

PAGES = [
    pytest.param(sample, id=f"{one.id}-{n}")
    for one in catalogue().signatures
    if one.row.match.body
    for n, sample in enumerate(one.row.samples)
    if sample.body.strip()
]
WORDED = [
    pytest.param(one, sample, id=f"{one.id}-{n}")
    for one in catalogue().signatures
    if (test := one.row.match.json.get("$.error.message")) and test.regex
    for n, sample in enumerate(one.row.samples)
]
UVICORN = {**JSON, "server": "uvicorn"}


def answers(text: str) -> dict[str, dict[str, object]]:
    """Good answers that quote `text`, by dialect and place."""
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "save", "arguments": json.dumps({"page": text})},
    }
    chat = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    tool = {
        "index": 0,
        "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        "finish_reason": "tool_calls",
    }
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {
        "chat": {"object": "chat.completion", "choices": [chat]},
        "chat, arguments": {"object": "chat.completion", "choices": [tool]},
        "completions": {"object": "text_completion", "choices": [{"index": 0, "text": text}]},
        "responses": {"object": "response", "status": "completed", "output": [message]},
        "messages": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]},
        "messages, input": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "save", "input": {"page": text}}],
        },
    }


def streams(text: str) -> dict[str, str]:
    """The same as complete event streams."""
    chat = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}
    ended = {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    }
    whole = {"object": "response", "status": "completed", "output": []}
    responses = [
        {"type": "response.created", "response": {"object": "response", "status": "in_progress"}},
        {"type": "response.output_text.delta", "delta": text},
        {"type": "response.completed", "response": whole},
    ]
    messages = [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return {
        "chat": "".join(f"data: {json.dumps(event)}\n\n" for event in (chat, ended)) + "data: [DONE]\n\n",
        "responses": "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in responses),
        "messages": "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in messages),
    }


@pytest.mark.parametrize("sample", PAGES)
def test_a_good_answer_may_quote_any_page(sample):
    """In its text, in the arguments of a tool, in each dialect: it is the API's, and good."""
    for dialect, answer in answers(f"Here it is:\n{sample.body}").items():
        found = attribute(exchange(200, answer, url=""), catalogue())
        assert (found.code, found.layer, found.product) == ("ok", Layer.ORIGIN, None), dialect


@pytest.mark.parametrize("sample", PAGES)
def test_a_good_stream_may_quote_any_page(sample):
    """Its own end says what it is, and not a page in it."""
    for dialect, text in streams(sample.body).items():
        seen = pasted(200, {"content-type": ["text/event-stream"]}, text.encode(), lacks=())
        assert seen.facts["stream"], dialect
        found = attribute(seen, catalogue())
        assert (found.code, found.product) == ("ok", None), dialect


@pytest.mark.parametrize("sample", PAGES)
def test_an_error_that_quotes_a_page_is_not_that_pages_makers(sample):
    """What an API met on a way of its own (an image, a tool, a provider) is not what the client met."""
    said = f"the tool's request failed: {sample.body}"
    status = sample.status if sample.status >= 400 else 502
    for body in (
        {"error": {"message": said, "type": "invalid_request_error", "param": None, "code": None}},
        {"type": "error", "error": {"type": "api_error", "message": said}},
        {"error": sample.body},
        {"detail": sample.body},
        {"message": sample.body},
        [sample.body],
        sample.body,
    ):
        text = json.dumps(body)
        for cut in (len(text), len(text) - 2):
            found = attribute(exchange(status, text[:cut], UVICORN, url=""), catalogue())
            assert found.product is None, (body, cut)
            assert "title" not in found.extracted


@pytest.mark.parametrize("sample", PAGES)
def test_prose_that_quotes_a_page_is_not_that_pages_makers(sample):
    """A plain text that some server wrote holds what its words say, whatever stands behind them."""
    text = f"upstream said: {sample.body}"
    found = attribute(exchange(sample.status, text, {"content-type": "text/plain"}, url=""), catalogue())
    assert found.product is None


def test_an_answer_of_which_the_middle_was_not_kept_may_quote_a_page():
    """Its beginning says that it is JSON, and no page, whether its end is known or lost."""
    page = "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1>"
    answer = answers(page + "x" * 200_000)["chat"]
    assert attribute(exchange(200, answer, url=""), catalogue()).code == "ok"
    lost = exchange(200, json.dumps(answer), JSON, url="", error=("closed", "body"))
    assert attribute(lost, catalogue()).code == "stream.truncated"


@pytest.mark.parametrize("one, sample", WORDED)
def test_a_message_that_quotes_another_is_not_that_ones(one, sample):
    """The words of a product count where a message begins with them."""
    document = json.loads(sample.body)
    document["error"]["message"] = f"<step 3 of 5> {document['error']['message']}"
    found = attribute(exchange(sample.status, document, sample.headers, url=""), catalogue())
    assert found.signature != one.id


@pytest.mark.parametrize("sample", PAGES)
def test_what_an_answer_in_json_quotes_is_not_looked_at_as_a_paste(sample):
    """A pasted 403 that names nobody stays nobody's, though a log with the same string in it would be looked into."""
    said = json.dumps({"error": {"message": f"tool failed: {sample.body}", "type": "server_error"}})
    text = f"HTTP/1.1 403 Forbidden\ncontent-type: application/json\nserver: uvicorn\n\n{said}\n"
    assert [answer.attribution.product for answer in classify(text.encode())] == [None]
