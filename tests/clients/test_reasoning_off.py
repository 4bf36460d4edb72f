"""`reasoning: off` is sent to the models that are known to take it, by every client alike, and to no other."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from wire_server import good, serving, setting, trial, warm

from probes.clients import SendLimits, dialect, sender_class
from probes.model import Ask, Route, Target

THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
EFFORT = {"reasoning_effort": "none"}


def added(model: str, ask: Ask, **changes) -> dict:
    """What `reasoning: off` adds to a body."""
    plain = Target("t", "openai", model, {"edge": Route("edge", "http://a/v1")}, **changes)
    before, after = (dialect.body(t, ask, "") for t in (plain, replace(plain, reasoning="off")))
    assert before.items() <= after.items()
    return {key: value for key, value in after.items() if key not in before}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("qwen3-32b", THINKING),
        ("Qwen/Qwen3-8B", THINKING),
        ("Qwen/Qwen3.5-27B-FP8", THINKING),
        ("qwen3", THINKING),
        ("Qwen/Qwen3-4B-Instruct-2507", {}),
        ("Qwen/Qwen3-4B-Thinking-2507", {}),
        ("Qwen3-Coder-30B", {}),
        ("qwen30", {}),
        ("qwen2.5-7b", {}),
        ("gpt-5.1", EFFORT),
        ("gpt-5.1-2025-11-13", EFFORT),
        ("gpt-5", {}),
        ("gpt-4o", {}),
        ("llama-3.1-8b", {}),
    ],
)
def test_what_is_sent_to_whom(model, expected):
    """By the model's name; what is not documented is not sent."""
    assert added(model, Ask("chat")) == expected


@pytest.mark.parametrize(
    ("ask", "api"),
    [(Ask("chat", recipe="invalid"), "openai"), (Ask("messages"), "anthropic")],
    ids=["invalid by type", "anthropic"],
)
def test_what_it_does_not_concern(ask, api):
    """A request that is refused anyway, and an API where reasoning has to be asked for."""
    target = Target("t", api, "qwen3-32b", {"edge": Route("edge", "http://a")}, reasoning="off")
    assert dialect.body(target, ask, "") == dialect.body(replace(target, reasoning=None), ask, "")


@pytest.mark.parametrize("model, expected", [("qwen3-32b", THINKING), ("gpt-5.1", EFFORT)])
@pytest.mark.parametrize("client", ["openai-py", "httpx", "curl"])
def test_it_is_on_the_wire(client, model, expected):
    """Through the SDK too, whose own arguments do not have it."""
    warm(client)
    with serving(lambda peer, _: peer.send(good(client))) as server:
        made = setting(client, Route("edge", server.url))
        made = replace(made, target=replace(made.target, model=model, reasoning="off"))
        with sender_class(made.client)(made).connect(made.target.routes["edge"]) as opened:
            outcome = opened.send(trial(client), SendLimits(5.0, 1 << 20))
        [raw] = server.requests
    assert outcome.raised is None
    body = json.loads(raw.partition(b"\r\n\r\n")[2])
    assert body == dialect.body(made.target, Ask("chat"), "")
    assert expected.items() <= body.items()
