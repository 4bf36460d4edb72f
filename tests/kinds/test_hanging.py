"""A client that gets no answer where the control is answered at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, answer, as_text, case, told

from probes.model import Client, Confidence, Factor, Timeline, Verdict

OTHER = Client("openai-py-async", "openai_sdk", api="openai", edits=True)
JS = Client("openai-js", "emulated", edits=True, genuine=False)


def slow(name, seconds):
    return replace(answer(name), timeline=Timeline(upload_end=0.0, headers=seconds, end=seconds))


HUNG = slow("timeout", 3.0)


def openai(asked):
    return "openai" in asked.headers["user-agent"].lower()


def tarpit(asked):
    return HUNG if openai(asked) else "passed"


@pytest.fixture(autouse=True)
def announced(monkeypatch):
    """What the further clients of this test call themselves."""
    from canned import SENT

    monkeypatch.setitem(SENT, OTHER.name, SENT["openai-py"])
    monkeypatch.setitem(SENT, JS.name, {"user-agent": "OpenAI/JS 7.0.0"})


def test_a_tarpit_is_proven_by_the_control_beside_it():
    """Three tries of one client, each with the control answered; ours was the deadline, so no more than medium."""
    findings, server = told(case(clients=(*ALL, OTHER)), tarpit)
    found = next(f for f in findings if f.code == "timeout.first_byte")
    assert (found.verdict, found.factor, found.confidence) == (Verdict.FAIL, Factor.CLIENT, Confidence.MEDIUM)
    tries = [call for call in server.calls if call.trial.client in {"openai-py", OTHER.name}]
    assert (found.observed.k, found.observed.n) == (len(tries), len(tries))
    assert 4 <= len(tries) <= 5, "one of them often enough, the others once or twice: each costs 3 s"
    assert "curl with the same request beside it" in dict(found.detail)["seen"]
    assert (found.control, found.variant) != (None, None)
    assert "tarpit" in found.advice
    assert sum(f.code == "timeout.first_byte" for f in findings) == 1, as_text(findings)


def test_of_a_client_that_need_not_pass_it_is_a_warning():
    """As with a refusal."""
    findings, _ = told(case(clients=(*ALL[1:], JS)), tarpit)
    [found] = [f for f in findings if f.code == "timeout.first_byte"]
    assert (found.verdict, found.client) == (Verdict.WARN, "openai-js")


NOT_PROVEN = {
    "the control takes its time, too": lambda asked: HUNG if openai(asked) else slow("passed", 2.0),
    "it is answered now and then": lambda asked: HUNG if openai(asked) and asked.repeat == 0 else "passed",
    "it is cut after a beginning": lambda asked: "cut json" if openai(asked) else "passed",
    "the control gets something else": lambda asked: HUNG if openai(asked) else "server error",
}


@pytest.mark.parametrize("mind", NOT_PROVEN.values(), ids=NOT_PROVEN)
def test_what_proves_no_tarpit(mind):
    """Then the time-out says nothing of the client."""
    findings, _ = told(case(), mind)
    assert all(f.factor is None for f in findings), as_text(findings)
    assert all(f.verdict is Verdict.INCONCLUSIVE for f in findings if f.code == "timeout.first_byte")


def test_too_few_tries_prove_nothing():
    """Where the case is told to ask each client once."""
    findings, _ = told(case(repeats=1), tarpit)
    assert {f.verdict for f in findings if f.code == "timeout.first_byte"} == {Verdict.INCONCLUSIVE}


def test_a_slow_server_is_asked_side_by_side():
    """Everybody is heard in two waits, and what was left out for time is said."""
    five = (*ALL, OTHER, JS)
    bounded = replace(case(clients=five, keyed=True), seconds=8.0)
    findings, server = told(bounded, lambda _: slow("passed", 2.8))
    [found] = findings
    assert (found.code, found.observed.n) == ("ok", 6)
    assert dict(found.detail)["not asked"].startswith("again and with the configured key: ")
    assert {call.trial.client for call in server.calls} == {client.name for client in five}


def test_our_own_deadline_has_its_own_words():
    """What an operator does about a service's timer does not help against ours."""
    findings, _ = told(case(), lambda _: HUNG)
    assert "limit of 3.0 s is this question's own" in findings[0].advice
    assert "by hand" in findings[0].next_test
    plain = replace(case("completion", keyed=True))
    [found] = told(plain, lambda _: slow("timeout", 10.0))[0]
    assert "limits.deadline" in found.advice
    assert "10.0 s, which is the probe's own limit" in found.title


@pytest.mark.parametrize("kind", ["identity", "completion"])
@pytest.mark.parametrize(("others", "ours"), [(0.2, False), (9.0, True)], ids=["at once", "late, too"])
def test_a_longer_limit_is_no_advice_where_others_are_answered_at_once(kind, others, ours):
    """The same request through them took a moment: the limit is not why."""
    good = "passed" if kind == "identity" else "good"
    asked = case(
        kind, clients=ALL, keyed=kind == "completion", **({"repeats": 1} if kind == "identity" else {})
    )
    findings, _ = told(asked, lambda asked: slow("timeout", 10.0) if openai(asked) else slow(good, others))
    found = next(f for f in findings if f.code == "timeout.first_byte")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert ("own limit" in found.title, "tarpit" in found.advice) == (ours, not ours)
    assert ("longer" in (found.next_test or "") or "deadline" in found.advice) is ours
