"""What has a request take long goes into the body in each dialect's own words, and to an SDK as it takes it."""

from __future__ import annotations

import pytest

from probes.budget import FILLER_BYTES
from probes.clients import dialect, reasoning
from probes.model import Ask, Route, Target


def target(api="openai", **more) -> Target:
    return Target("t", api, "m", {"edge": Route("edge", "http://a/v1")}, **more)


@pytest.mark.parametrize(
    ("api", "ask", "fields"),
    [
        ("openai", Ask("chat", cap=4096, effort="high"), {"reasoning_effort": "high"}),
        ("openai", Ask("responses", cap=4096, effort="high"), {"reasoning": {"effort": "high"}}),
        ("anthropic", Ask("messages", cap=4096, effort="high"), {"thinking": {"type": "enabled", "budget_tokens": 3072}}),
        ("anthropic", Ask("messages", cap=1000, effort="high"), {}),
        ("openai", Ask("chat", cap=700, endless=True), {"ignore_eos": True, "min_tokens": 700}),
        ("anthropic", Ask("messages", cap=700, endless=True), {}),
    ],
    ids=["chat", "responses", "messages", "too little to think with", "no end before the cap", "not there"],
)  # fmt: skip
def test_the_words_of_each_dialect(api, ask, fields):
    """And nothing else differs from the same request without them."""
    plain = Ask(ask.endpoint, cap=ask.cap)
    without = dialect.body(target(api), plain, "salt")
    assert dialect.body(target(api), ask, "salt") == without | fields


def test_effort_goes_before_the_operators_off():
    """A model that is to reason for long is not told in the same breath to answer without."""
    quiet = target(reasoning="off")
    quiet = Target("t", "openai", "gpt-5.1", quiet.routes, reasoning="off")
    assert dialect.body(quiet, Ask("chat"), "")["reasoning_effort"] == "none"
    assert dialect.body(quiet, Ask("chat", effort="high"), "")["reasoning_effort"] == "high"


def test_what_is_no_argument_of_an_sdk_goes_by_its_extra_body():
    """Else its call would raise before anything is sent."""
    body = dialect.body(target(), Ask("chat", cap=9, endless=True), "")
    arguments = reasoning.as_arguments(body)
    assert arguments["extra_body"] == {"ignore_eos": True, "min_tokens": 9}
    assert not {"ignore_eos", "min_tokens"} & arguments.keys()


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
def test_a_long_prompt_is_another_for_each_salt(endpoint):
    """As large as is asked for, the salt first, so that nothing of it is in a cache."""

    def said(salt):
        body = dialect.body(target(), Ask(endpoint, recipe="count", prompt_tokens=500), salt)
        return body["input"] if endpoint == "responses" else body["messages"][0]["content"]

    short = dialect.body(target(), Ask("chat", recipe="count"), "a")["messages"][0]["content"]
    assert said("a").startswith("[a] ")
    assert said("a") == said("a") != said("b")
    assert len(said("a")) - len(short) == pytest.approx(500 * FILLER_BYTES, abs=2)
    assert said("a").endswith(short.removeprefix("[a] "))
