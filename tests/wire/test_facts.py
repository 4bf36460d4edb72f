"""What is told of an answer's content, in each dialect and when it goes wrong?"""

import json

import pytest

from probes.wire.facts import MAX_COLUMNS, MAX_JSON, Facts

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
    assert (got["tokens"], got["text_chars"], got["channels"]["reasoning"]) == (tokens, 5, 1)
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
    assert ("reasoning" in got["channels"]) == ("reasoning" in delta)


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
        ("x" * 999, "x" * 200),
        ("[" * 100_000, "[" * 200),
        (": OPENROUTER PROCESSING", ": OPENROUTER PROCESSING"),
    ],
    ids=["not JSON", "no object", "long", "deep", "a comment rewrapped"],
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


def test_columns_hold_a_letter_and_a_time_for_each_event():
    """Tokens by their channel, heartbeats by their kind, and what ends a stream; beyond their cap events are counted."""
    got = told(
        *CHAT[:2],
        chat(reasoning="Hmm"),
        chat(content="a"),
        chat(tool_calls=[{"index": 0}]),
        "{",
        {"error": {"code": 1}},
        message("ping"),
        "",
        "[DONE]",
    )
    facts = Facts(SSE)
    assert got["heartbeats"] == {
        "ping": {"n": 1, "first": 7, "last": 7},
        "blank": {"n": 1, "first": 8, "last": 8},
    }
    for at, text in enumerate(
        [*(f"data: {json.dumps(e)}\n\n" for e in (chat(), chat(content="a"))), ": a\n\n", "id: 1\n\n", "\n"]
    ):
        facts.feed(text.encode(), float(at))
    assert facts.event_kinds.decode() == "ovcbb"
    assert facts.event_times.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    facts.feed(b":\n" * (MAX_COLUMNS + 9), 9.0)
    assert len(facts.event_kinds) == len(facts.event_times) == MAX_COLUMNS
    assert facts.result(complete=None)["heartbeats"]["comment"]["n"] == MAX_COLUMNS + 10


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        ((chat(content="a"),), None),
        ((chat(tool_calls=[{"index": 0, "function": {"arguments": '{"a": "}'}}]), chat(tool_calls=[{"index": 0, "function": {"arguments": '\\"]"}'}}])), {"n": 1, "cut": 0}),
        ((chat(tool_calls=[{"index": 0, "function": {"arguments": '{"a": [1,'}}]), chat(tool_calls=[{"index": 1, "function": {"arguments": "{}"}}])), {"n": 2, "cut": 1}),
        ((chat(tool_calls=[{"index": 0, "function": {"arguments": ""}}]),), {"n": 1, "cut": 0}),
        ((message("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": '{"a'}),), {"n": 1, "cut": 1}),
        ((message("response.function_call_arguments.delta", item_id="x", delta='{"a": 1}'),), {"n": 1, "cut": 0}),
        ((message("response.function_call_arguments.delta", item_id="x", delta='{"a": "'),), {"n": 1, "cut": 1}),
    ],
    ids=["none", "whole", "one of two", "without arguments", "messages", "responses", "responses cut"],
)  # fmt: skip
def test_tool_calls_that_broke_off(events, calls):
    """By brackets and quotes alone, escapes minded, in each dialect."""
    assert told(*events)["tool_calls"] == calls


@pytest.mark.parametrize(
    ("event", "form"),
    [
        ({"choices": [], "prompt_filter_results": []}, "no_choices"),
        ({"choices": [], "usage": {"total_tokens": 1}}, "usage_only"),
        ("", "empty"),
        ({"type": "message_start", "message": {}}, "unnamed"),
    ],
    ids=["no choices", "usage alone", "empty data", "an event that its type line does not name"],
)
def test_legal_forms_that_not_every_client_reads(event, form):
    """Told with how often and the first line, and never called malformed."""
    got = told(event, event)
    assert got["forms"][form]["n"] == 2
    assert got["malformed"] is None


def test_usage_of_the_start_is_kept_beside_the_merged_one():
    """Who adds both counts twice."""
    got = told(*MESSAGES)
    assert got["usage_start"] == {"input_tokens": 9, "output_tokens": 1}
    assert got["usages"] == 2


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("body", "stream"),
    [
        (b"data: {}\n\n", True),
        (b"\xef\xbb\xbf\n: hi\n\n", True),
        (b"event: ping\ndata: {}\n\n", True),
        (b'{"choices": []}', False),
        (b"<html>", False),
        (b"date", False),
        (b"dat", False),
        (b"", False),
    ],
    ids=["data", "a comment after a mark", "event", "JSON", "HTML", "a word alike", "too short", "nothing"],
)
def test_a_stream_under_another_type_is_found_by_its_first_bytes(body, stream, size):
    """Only where one was asked for, and whatever its fragments."""
    for streamed in (True, False):
        facts = Facts("text/plain", streamed=streamed)
        for at in range(0, len(body), size):
            facts.feed(body[at : at + size], float(at))
        got = facts.result(complete=True)
        assert (got["stream"], got["sniffed"]) == 2 * (stream and streamed,)
        assert bool(got["events"]) == (stream and streamed)


def test_a_cut_stream_tells_what_was_cut():
    """The event that has no blank line, bounded."""
    got = told(chat(content="a"), complete=False, tail=b'data: {"choices": [' + b"x" * 500)
    assert got["unfinished"].startswith('data: {"choices": [x')
    assert len(got["unfinished"]) == 200
    assert (got["terminal"], got["complete"]) == (None, False)


def test_replacement_characters_are_counted():
    """A multi-byte character cut by a buffer somewhere shows as U+FFFD, or as bytes that are no UTF-8; one that only
    came in two fragments is whole.
    """
    for content, replaced, invalid in (
        (b"\xe2\x82", 1, 1),
        (b"\xef\xbf\xbd", 1, 0),
        (rb"\ufffd\uFFFD", 2, 0),
        (b"\xe2\x82\xac", 0, 0),
    ):
        facts = Facts(SSE)
        for byte in b'data: {"choices": [{"delta": {"content": "%b"}}]}\n\n' % content:
            facts.feed(bytes([byte]), 0.0)
        got = facts.result(complete=True)
        assert (got["replacement_chars"], got["invalid_utf8"]) == (replaced, invalid)


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


@pytest.mark.parametrize(
    "texts, n, seams, tail",
    [
        (["U+FFFD is written \\ufffd"], 0, 0, 0),
        (["a", "b�", "c"], 1, 0, 0),
        (["a", "b�"], 1, 0, 1),
        (["a", "b�", "�c"], 2, 1, 0),
        (["a", "b��c"], 2, 1, 0),
        (["a", "�", "�"], 2, 1, 2),
        (["a�", "b�"], 2, 0, 1),
    ],
    ids=["the words for it", "one", "the last", "at a seam", "side by side", "nothing behind them", "apart"],
)
def test_damage_is_looked_for_in_the_text_itself(texts, n, seams, tail):
    """Not in its JSON, where a model that writes about the character looks the same."""
    got = told(*(chat(content=text) for text in texts), "[DONE]")
    assert (got["replacement_chars"], got["replacement_seams"], got["replacement_tail"]) == (n, seams, tail)


def test_damage_in_a_tools_arguments_may_be_escaped_once_more():
    """They are JSON within a string."""
    calls = [{"index": 0, "function": {"arguments": '{"a": "\\ufffd", "b": "\\\\ufffd"}'}}]
    assert told(chat(tool_calls=calls))["replacement_chars"] == 1


@pytest.mark.parametrize("events", [CHAT, MESSAGES, RESPONSES], ids=["chat", "messages", "responses"])
def test_text_behind_the_end_is_none_of_the_answer(events):
    """Who stops at the end marker never sees it, and it moves no clock."""
    text = next(event for event in events if "Hel" in json.dumps(event))
    before, after = told(*events), told(*events, text)
    assert (before["after_end"], after["after_end"]) == (0, 1)
    same = ("tokens", "channels", "text_chars", "terminal", "finish_reason")
    assert [before[name] for name in same] == [after[name] for name in same]
    assert before["marks"] == after["marks"]


@pytest.mark.parametrize(
    "usages, conflict",
    [
        ([{"prompt_tokens": 9, "completion_tokens": 1}, {"prompt_tokens": 9, "completion_tokens": 2}], {}),
        ([{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 9, "completion_tokens": 2}], {}),
        ([{"prompt_tokens": 9, "completion_tokens": 8}, {"prompt_tokens": 9, "completion_tokens": 7}], {"completion_tokens": [8, 7]}),
        ([{"prompt_tokens": 9}, {"prompt_tokens": 99}], {"prompt_tokens": [9, 99]}),
    ],
    ids=["growing", "zeros first", "shrinking", "two prompts"],
)  # fmt: skip
def test_usages_of_one_stream_are_compared(usages, conflict):
    """The prompt is one, and an answer grows."""
    assert told(*(chat(usage=usage, content="a") for usage in usages))["usage_conflict"] == conflict


@pytest.mark.parametrize(
    "event, is_error",
    [
        ({"detail": "Internal Server Error"}, True),
        ({"object": "error", "message": "boom", "code": 500}, True),
        ({"message": "upstream request timeout"}, True),
        ({"detail": None}, False),
        (chat(content="a") | {"message": "x"}, False),
        ({"type": "response.created", "message": "x"}, False),
    ],
    ids=["FastAPI", "object: error", "a message alone", "nothing said", "a chunk", "a named event"],
)
def test_an_error_in_the_words_of_a_framework_is_one(event, is_error):
    """No dialect has an event of that shape."""
    assert bool(told(event)["errors"]) == is_error
