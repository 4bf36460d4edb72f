"""What the arms of an experiment with the prompt cache are made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.clients.dialect import body
from probes.model import Ask, Route, Target

OPENAI = Target("t", "openai", "m", {"edge": Route("edge", "http://a.example/v1")})
ANTHROPIC = replace(OPENAI, api="anthropic")
LONG = Ask("chat", prompt_tokens=50, arm="cold")


def said(ask, salt="s1", target=OPENAI):
    content = body(target, ask, salt)["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.mark.parametrize("target", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_the_arms_are_the_same_bytes_but_for_their_line(target):
    """Primed is cold again; broken begins otherwise, moved ends otherwise."""
    cold = said(LONG, target=target)
    assert said(replace(LONG, arm="primed"), target=target) == cold
    assert said(replace(LONG, arm="broken", line="No 7."), target=target) == f"No 7.\n{cold}"
    assert said(replace(LONG, arm="moved", line="No 7."), target=target) == f"{cold}\nNo 7."
    assert said(LONG, "s2", target)[:8] != cold[:8]


def test_messages_are_marked_where_the_api_wants_that_said():
    """Up to the question, so that a line behind it is not part of what is cached; a short control is not marked."""
    moved = body(ANTHROPIC, replace(LONG, endpoint="messages", arm="moved", line="No 7."), "s1")
    first, second = moved["messages"][0]["content"]
    assert first["cache_control"] == {"type": "ephemeral"}
    assert "No 7." not in first["text"]
    assert "cache_control" not in second
    assert isinstance(body(ANTHROPIC, Ask("messages"), "s1")["messages"][0]["content"], str)
    assert isinstance(body(OPENAI, LONG, "s1")["messages"][0]["content"], str)


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
def test_the_key_that_replicas_are_chosen_by(endpoint):
    """Only where it is asked for: a strict server refuses what it does not know."""
    assert body(OPENAI, Ask(endpoint, cache_key="k"), "s1")["prompt_cache_key"] == "k"
    assert "prompt_cache_key" not in body(OPENAI, Ask(endpoint), "s1")
