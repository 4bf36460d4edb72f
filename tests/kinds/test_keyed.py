"""The key as a factor: rules that look at it, which the flow cannot see."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, as_text, attributed, case, check_not_better, random_mind, run_of, told
from exchanges import JSON, exchange
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.model import Factor, Layer, NotSent, Reason, Timeline, Verdict
from probes.runner import judge, replay

UA = "user-agent"
DENIED = {"error": {"message": "This API key does not have the permission", "type": "invalid_request_error", "param": None, "code": "denied"}}  # fmt: skip
NO_RIGHTS = attributed(
    replace(
        exchange(403, DENIED, JSON), timeline=Timeline(upload_end=0.0, headers=0.1, first_byte=0.1, end=0.2)
    )
)


def real(asked):
    return asked.trial.request.key == "target"


def keyed(mind, **more):
    return told(case(keyed=True, **more), mind)


def answered(asked):
    """By an API: its own word on the key, or on the body."""
    return "rejected" if real(asked) else "passed"


def refuses(rule, said="refused"):
    return lambda asked: said if rule(asked) else answered(asked)


def test_without_a_key_none_is_asked():
    """Keyless, every request carries the made-up one."""
    _, server = told(case(), lambda _: "passed")
    assert not [call for call in server.calls if real(call)]


def test_a_good_key_is_asked_once_and_costs_no_inference():
    """Through each client, with the invalid body of the screening."""
    findings, server = keyed(answered)
    assert {f.code for f in findings} == {"ok"}
    with_key = [call for call in server.calls if real(call)]
    assert sorted(call.trial.client for call in with_key) == sorted(client.name for client in ALL)
    assert {call.trial.request.recipe for call in with_key} == {"invalid"}


@pytest.mark.parametrize(
    "said, code, layer",
    [
        ("refused", "blocked", Layer.EDGE),
        ("challenged", "challenged", Layer.EDGE),
        ("reset", "blocked", Layer.NETWORK),
        (NO_RIGHTS, "auth.rejected", Layer.ORIGIN),
    ],
    ids=["1010", "challenge", "reset", "403 in the API's form"],
)
def test_a_rule_for_the_key_alone(said, code, layer):
    """Refused with the configured key and let pass with an unknown one, whoever asks."""
    findings, _ = keyed(refuses(real, said))
    [found] = [f for f in findings if f.code != "ok"]
    assert (found.code, found.verdict, found.factor, found.client) == (code, Verdict.FAIL, Factor.KEY, None)
    assert found.layer is layer
    assert "the key alone" in dict(found.detail)["because"]
    assert found.next_test
    assert found.confounders == ()


def test_a_rule_for_the_key_and_the_client():
    """Only together: others with the same key are let pass, the client without it as well."""
    findings, _ = keyed(refuses(lambda a: real(a) and a.has(UA, "openai")))
    [found] = [f for f in findings if f.code != "ok"]
    assert (found.code, found.verdict, found.factor) == ("blocked.client", Verdict.FAIL, Factor.KEY)
    assert found.client == "openai-py"
    assert "together with the client" in dict(found.detail)["because"]


def test_a_403_in_the_apis_form_that_some_clients_get():
    """A WAF can write that, too: nobody is named as its author."""
    findings, _ = keyed(refuses(lambda a: real(a) and a.has(UA, "openai"), NO_RIGHTS))
    [found] = [f for f in findings if f.code != "ok"]
    assert (found.code, found.layer, found.product) == ("blocked.client", Layer.UNKNOWN, None)


def test_a_rule_for_unknown_keys_locks_nobody_out():
    """A client that is refused with a made-up key alone is a warning: its customers have real ones."""
    findings, _ = keyed(refuses(lambda a: not real(a) and a.has(UA, "openai")))
    [found] = [f for f in findings if f.code != "ok"]
    assert (found.code, found.verdict, found.client) == ("blocked.client", Verdict.WARN, "openai-py")
    assert found.title.endswith("unless the key is known")
    assert "let pass, 3 of 3" in dict(found.detail)["key"]
    assert "locked out" not in dict(found.detail)["so"]


def test_a_rule_whatever_the_key():
    """That the key changes nothing is said."""
    findings, _ = keyed(refuses(lambda a: a.has(UA, "openai")))
    [found] = [f for f in findings if f.code != "ok"]
    assert (found.code, found.verdict, found.factor) == ("blocked.client", Verdict.FAIL, Factor.USER_AGENT)
    assert dict(found.detail)["key"] == "refused with the configured key, too: 3 of 3"


def test_a_key_that_is_refused_once():
    """Not confirmed, it is no factor."""
    findings, _ = keyed(refuses(lambda a: real(a) and a.client == "curl" and a.trial.label == "key/curl"))
    [found] = [f for f in findings if f.code != "ok"]
    assert found.factor is None, as_text(findings)


@pytest.mark.parametrize("why", NotSent)
@pytest.mark.parametrize(
    "rule", [real, lambda a: not real(a) and a.has(UA, "openai")], ids=["with", "without"]
)
def test_a_key_that_cannot_be_tried(rule, why):
    """Where a request with the key is not sent, nothing is said of it, and why is said."""
    mind = refuses(rule)
    findings, _ = keyed(lambda a: why if real(a) else mind(a))
    assert Reason(why) in {f.reason for f in findings}, as_text(findings)
    assert not [f for f in findings if f.factor is Factor.KEY]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["passed", "passed", "refused", "reset", "bad gateway", "challenged"]), min_size=1, max_size=3),
    st.integers(0, 2**16),
    st.data(),
)  # fmt: skip
def test_a_replay_with_calls_missing_is_never_better(pool, seed, data):
    """Also where the key is tried, with random answers to it."""
    asked = case(seed=seed, keyed=True)
    mind = random_mind(pool, seed)
    findings, server = told(asked, lambda a: mind(a) if real(a) else answered(a))
    assert judge(asked, replay(run_of(asked, server.calls, findings), asked)) == findings
    missing = data.draw(st.sets(st.integers(0, len(server.calls) - 1), min_size=1, max_size=4))
    left = [call for index, call in enumerate(server.calls) if index not in missing]
    check_not_better(findings, judge(asked, replay(run_of(asked, left, findings), asked)))
