"""The Responses API: plain, then streamed, where the target declares it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, answer, as_text, attributed, case, told
from exchanges import exchange, stream_facts

from probes.kinds.responses import undeclared
from probes.model import Verdict
from probes.runner import worst

URL = "https://a.example/v1/responses"
EVENTS = {"content-type": "text/event-stream"}


def response(status="completed", **more):
    body = {"id": "resp_1", "object": "response", "status": status, "error": None, "output": [], **more}
    return attributed(exchange(200, body, url=URL))


def stream(**facts):
    usual = {"dialect": "openai.responses", "terminal": "response.completed", "usage": {"output_tokens": 3}}
    said = stream_facts(**{**usual, **facts})
    return attributed(exchange(200, b"data: {}\n\n", EVENTS, facts=said, stream=True, url=URL))


def judged(plain, streamed):
    asked = case("responses")
    asked = replace(asked, target=replace(asked.target, endpoints=("chat", "responses")))
    return told(asked, lambda a: streamed if a.trial.request.stream else plain)


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_both_are_good(status):
    """An answer that its cap cut short is a good one."""
    findings, server = judged(response(status), stream(terminal=f"response.{status}", finish_reason=status))
    assert [(f.code, f.verdict) for f in findings] == 2 * [("ok", Verdict.PASS)], as_text(findings)
    assert len(server.calls) == 2 * len(ALL)
    assert {call.trial.request.endpoint for call in server.calls} == {"responses"}


@pytest.mark.parametrize(
    "plain, streamed, code",
    [
        (response("failed", error={"code": "server_error"}), stream(), "body.error_in_200"),
        (response("in_progress"), stream(), "body.shape"),
        (attributed(replace(answer("good"), request=replace(answer("good").request, url=URL))), stream(), "body.shape"),
        ("not found", stream(), "wrong_base_url"),
        (response(), stream(terminal=None, finish_reason=None), "stream.truncated"),
        (response(), stream(terminal="[DONE]", finish_reason=None), "stream.masked"),
        (response(), stream(terminal="response.failed", errors=[{"code": "x"}]), "stream.error_event"),
        (response(), stream(dialect="openai.chat", terminal="[DONE]"), "body.shape"),
    ],
    ids=["failed", "not over", "a chat completion", "404", "no end", "only [DONE]", "failed midway", "a chat stream"],
)  # fmt: skip
def test_what_is_wrong(plain, streamed, code):
    """By shape and by the last event; where the plain one failed for all, the stream is not asked for."""
    findings, server = judged(plain, streamed)
    assert code in {f.code for f in findings}, as_text(findings)
    assert worst(findings) is Verdict.FAIL
    assert any(call.trial.request.stream for call in server.calls) is (plain == response())


@pytest.mark.parametrize("endpoints, asked", [((), False), (("chat",), False), (("chat", "responses"), True)])
def test_only_where_it_is_declared(endpoints, asked):
    """An endpoint that nobody offered is not missed."""
    row = case("responses")
    why = undeclared(replace(row, target=replace(row.target, endpoints=endpoints)))
    assert (why is None) is asked
