"""What is told of an answer's content, in each dialect and when it goes wrong?"""

import json

import pytest

from probes.wire.facts import MAX_JSON, Facts

SSE = "text/event-stream; charset=utf-8"


def told(*events, complete=True, tail=b""):
    """The facts of a stream; an event is its data, or (type, data), and comes at its index in seconds."""
    facts = Facts(SSE)
    for at, event in enumerate(events):
        kind, body = event if isinstance(event, tuple) else (None, event)
        text = body if isinstance(body, str) else json.dumps(body)
        block = (f"event: {kind}\n" if kind else "") + f"data: {text}\n\n"
        facts.feed(block.encode("utf-8", "surrogatepass"), float(at))
    facts.feed(tail, float(len(events)))
    return {**facts.result(complete=complete), "marks": facts.marks}


def chat(finish=None, usage=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage}


def message(kind, **body):
    return (kind, {"type": kind, **body})


CHAT = (
    chat(role="assistant", content=""),
    chat(),
    chat(reasoning_content="Hmm"),
    chat(content="Hel"),
    chat(content="lo"),
    chat(finish="stop"),
    {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}},
    "[DONE]",
)
MESSAGES = (
    message("message_start", message={"usage": {"input_tokens": 9, "output_tokens": 1}}),
    message("content_block_start", content_block={"type": "text", "text": ""}),
    message("ping"),
    message("content_block_delta", delta={"type": "thinking_delta", "thinking": "Hmm"}),
    message("content_block_delta", delta={"type": "text_delta", "text": "Hello"}),
    message("content_block_delta", delta={"type": "signature_delta", "signature": "x"}),
    message("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3}),
    message("message_stop"),
)
RESPONSES = (
    message("response.created", response={"usage": None}),
    message("response.reasoning_summary_text.delta", delta="Hmm"),
    message("response.output_text.delta", delta="Hel"),
    message("response.output_text.delta", delta="lo"),
    message("response.output_text.done", text="Hello"),
    message("response.completed", response={"status": "completed", "usage": {"input_tokens": 9}}),
)


@pytest.mark.parametrize(
    ("events", "dialect", "terminal", "finish", "usage", "tokens", "first_token", "first_content", "last_token"),
    [
        (CHAT, "openai.chat", "[DONE]", "stop", {"prompt_tokens": 9, "completion_tokens": 3}, 3, 2, 3, 4),
        (
            MESSAGES, "anthropic.messages", "message_stop", "end_turn",
            {"input_tokens": 9, "output_tokens": 3}, 2, 3, 4, 4,
        ),
        (RESPONSES, "openai.responses", "response.completed", "completed", {"input_tokens": 9}, 3, 1, 2, 3),
    ],
    ids=["chat", "messages", "responses"],
)  # fmt: skip
def test_dialects(events, dialect, terminal, finish, usage, tokens, first_token, first_content, last_token):
    """Role-only and empty chunks are no tokens, reasoning is one but no content, usage is merged."""
    got = told(*events)
    assert (got["dialect"], got["terminal"], got["finish_reason"]) == (dialect, terminal, finish)
    assert got["usage"] == usage
    assert (got["tokens"], got["text_chars"], got["reasoned"]) == (tokens, 5, 1)
    assert got["marks"] == {
        "first_event": 0, "first_token": first_token, "first_content": first_content, "last_token": last_token,
    }  # fmt: skip
    assert (got["errors"], got["malformed"], got["unfinished"]) == ([], None, None)
    assert got["stream"] is True


@pytest.mark.parametrize(
    ("delta", "tokens", "chars"),
    [
        ({"role": "assistant"}, 0, 0),
        ({"content": ""}, 0, 0),
        ({"content": None}, 0, 0),
        ({"reasoning": "x"}, 1, 0),
        ({"refusal": "no"}, 1, 0),
        ({"tool_calls": [{"index": 0}]}, 1, 0),
        ({"content": "Hé"}, 1, 2),
        ({"content": "a", "reasoning_content": "b"}, 1, 1),
    ],
    ids=["role", "empty", "null", "reasoning", "refusal", "tool call", "content", "both"],
)
def test_what_counts_as_a_token(delta, tokens, chars):
    """A chunk with text of any channel; only visible text has characters."""
    got = told(chat(**delta))
    assert (got["tokens"], got["text_chars"]) == (tokens, chars)
    assert got["reasoned"] == ("reasoning" in delta or "reasoning_content" in delta)


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"error": {"message": "boom", "code": 500}}, {"message": "boom", "code": 500}),
        (("error", {"type": "error", "error": {"type": "overloaded_error"}}), {"type": "overloaded_error"}),
        (("error", {"type": "error", "code": "x"}), {"type": "error", "code": "x"}),
        ({"type": "error", "code": "x"}, {"type": "error", "code": "x"}),
        (message("response.failed", response={"error": {"code": "server_error"}}), {"code": "server_error"}),
        ({"error": "text"}, "text"),
    ],
    ids=[
        "chat",
        "messages",
        "responses error event",
        "without its event line",
        "response failed",
        "a string",
    ],
)
def test_error_events_are_kept_verbatim(event, error):
    """As objects, in whichever way the dialect says them."""
    assert told(chat(content="a"), event)["errors"] == [error]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{not json", "{not json"),
        ("[1, 2]", "[1, 2]"),
        ("", "data:"),
        ("x" * 999, "x" * 200),
        ("[" * 100_000, "[" * 200),
        (": OPENROUTER PROCESSING", ": OPENROUTER PROCESSING"),
    ],
    ids=["not JSON", "no object", "empty", "long", "deep", "a comment rewrapped"],
)
def test_the_first_malformed_line_is_told(text, line):
    """It stands, and what comes after it is read all the same."""
    got = told(chat(content="a"), text, "{again", "[DONE]")
    assert (got["malformed"], got["terminal"]) == (line, "[DONE]")


@pytest.mark.parametrize(
    "body",
    [
        {"choices": None}, {"choices": [None, 1]}, {"choices": [{"delta": None}]}, {"choices": {}},
        {"choices": [{"delta": {"content": 5}}], "usage": "x"}, {"type": 5}, {},
        {"type": "message_start", "message": None}, {"type": "content_block_delta", "delta": 1},
        {"type": "message_delta", "delta": None, "usage": []}, {"type": "response.completed", "response": None},
        {"type": "response.x.delta", "delta": {}},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_objects_of_a_wrong_shape_break_nothing(body):
    """A server may send what it likes."""
    got = told(body)
    assert (got["tokens"], got["usage"], got["malformed"]) == (0, None, None)
    whole = Facts("application/json")
    whole.feed(json.dumps(body).encode(), 0.0)
    whole.result(complete=True)


def test_events_are_counted_by_type_with_first_and_last_time():
    """Comments and blocks without data count apart; names and kinds are bounded."""
    facts = Facts(SSE)
    facts.feed(b": ping\n\ndata: {}\n\n", 1.0)
    facts.feed(b"data: {}\n\nretry: 5\n\n", 2.0)
    facts.feed(b"event: " + b"e" * 100 + b"\ndata: {}\n\n", 3.0)
    events = facts.result(complete=None)["events"]
    assert events["message"] == {"n": 2, "first": 1.0, "last": 2.0}
    assert events["comment"] == {"n": 1, "first": 1.0, "last": 1.0}
    assert events["meta"]["n"] == 1
    assert events["e" * 64]["n"] == 1
    for number in range(100):
        facts.feed(f"event: t{number}\ndata: {{}}\n\n".encode(), 4.0)
    events = facts.result(complete=None)["events"]
    assert sum(event["n"] for event in events.values()) == 105
    assert len(events) <= 17
    assert events["other"]["n"] > 50


def test_a_cut_stream_tells_what_was_cut():
    """The event that has no blank line, bounded."""
    got = told(chat(content="a"), complete=False, tail=b'data: {"choices": [' + b"x" * 500)
    assert got["unfinished"].startswith('data: {"choices": [x')
    assert len(got["unfinished"]) == 200
    assert (got["terminal"], got["complete"]) == (None, False)


def test_replacement_characters_are_counted():
    """A multi-byte character cut by a buffer somewhere shows as U+FFFD."""
    facts = Facts(SSE)
    facts.feed(b'data: {"choices": [{"delta": {"content": "\xe2\x82"}}]}\n\n', 0.0)
    assert facts.result(complete=True)["replacement_chars"] == 1


@pytest.mark.parametrize(
    ("body", "dialect", "finish", "chars"),
    [
        ({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}, "openai.chat", "stop", 2),
        (
            {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"},
            "anthropic.messages", "end_turn", 2,
        ),
        ({"object": "response", "status": "completed"}, "openai.responses", "completed", 0),
        ({"object": "list", "data": []}, None, None, 0),
    ],
    ids=["chat", "messages", "responses", "something else"],
)  # fmt: skip
def test_documents(body, dialect, finish, chars):
    """An answer that is not streamed is read once it is whole."""
    facts = Facts("application/json")
    facts.feed(json.dumps({**body, "usage": {"total_tokens": 3}}).encode(), 0.0)
    cut = facts.result(complete=False)
    assert (cut["dialect"], cut["usage"]) == (None, None)
    got = facts.result(complete=True)
    assert (got["dialect"], got["finish_reason"], got["text_chars"]) == (dialect, finish, chars)
    assert got["usage"] == {"total_tokens": 3}
    assert got["stream"] is False


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"", b"5", b"[" * 100_000, b"\xff\xfe", b'{"usage": {}}' + b" " * MAX_JSON],
    ids=["HTML", "empty", "number", "deep", "no text", "too large"],
)
def test_documents_that_are_none(body):
    """Nothing is claimed and nothing breaks."""
    facts = Facts("application/json")
    facts.feed(body, 0.0)
    got = facts.result(complete=True)
    assert (got["dialect"], got["usage"], got["errors"]) == (None, None, [])
