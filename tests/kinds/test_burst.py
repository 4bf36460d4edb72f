"""Many requests at once: answered, refused, wrong or lost, and never more than the target allows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, CURL, answer, as_text, attributed, case, check_not_better, run_of, told
from exchanges import exchange

from probes.kinds.burst import unfit
from probes.kinds.burst.findings import together
from probes.model import Limits, NotSent, Reason, Timeline, Verdict
from probes.runner import judge, replay, worst

SIZE = 10
IN_200 = attributed(exchange(200, {"error": {"message": "worker request limit", "code": 502}}))
BUSY = attributed(exchange(503, {"error": {"message": "busy", "type": "overloaded_error"}}))


def lasting(name, seconds):
    timeline = Timeline(upload_end=0.0, headers=None, end=seconds)
    return replace(answer(name), timeline=timeline)


LOST = lasting("timeout", 5.0)


def number(asked):
    """Of the request in the burst; `None` for those alone."""
    said = asked.trial.label.removeprefix("burst/")
    return int(said) if said.isdigit() else None


def in_burst(some, rest="good", upto=3):
    """The first of the burst meet `some`; the others, and those alone, `rest`."""
    return lambda asked: some if (number(asked) or upto + 1) <= upto else rest


def judged(mind, clients=ALL, **params):
    return told(case("burst", clients, keyed=True, size=SIZE, **params), mind)


def test_all_are_answered():
    """With how many were under way together, and how long they took."""
    findings, server = judged(lambda _: "good")
    (found,) = findings
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert (found.observed.k, found.observed.n) == (0, SIZE)
    assert (found.figures["answered"].n, found.conditions["concurrency"]) == (SIZE, SIZE)
    assert len(server.calls) == SIZE + 2
    assert {call.trial.client for call in server.calls} == {"httpx"}
    assert {call.trial.session for call in server.calls} == {None}
    assert len({call.trial.salt for call in server.calls}) == SIZE + 2


@pytest.mark.parametrize(
    "lost", [LOST, lasting("reset", 0.1), lasting("no route", 0.1)], ids=["silent", "reset", "connect"]
)
def test_some_are_lost(lost):
    """No byte, while others are answered: a failure with its rate."""
    findings, _ = judged(in_burst(lost))
    (found,) = findings
    assert (found.code, found.verdict) == ("lost_in_burst", Verdict.FAIL), as_text(findings)
    assert (found.observed.k, found.observed.n) == (3, SIZE)
    assert "7 good" in dict(found.detail)["seen"]
    assert len(found.evidence) == 3


def test_all_are_lost():
    """One alone, before and after, is answered."""
    findings, _ = judged(in_burst(lasting("reset", 0.1), upto=SIZE))
    assert [(f.code, f.verdict, f.observed.k) for f in findings] == [("lost_in_burst", Verdict.FAIL, SIZE)]


def test_a_deadline_that_slow_answers_come_near_proves_nothing():
    """A slow one and a lost one look alike by our own limit."""
    findings, _ = judged(in_burst(lasting("timeout", 0.5)))
    (found,) = findings
    assert (found.code, found.verdict, found.reason) == (
        "lost_in_burst",
        Verdict.INCONCLUSIVE,
        Reason.TOO_FEW,
    )
    assert "--set deadline=180" in found.next_test


def test_the_silence_after_lost_ones_is_not_told_twice():
    """What is sent after two silent ones is refused by ourselves."""
    findings, _ = judged(
        lambda a: LOST if number(a) in {9, 10} else NotSent.UNAVAILABLE if a.number > SIZE else "good"
    )
    assert [f.code for f in findings] == ["lost_in_burst"]


@pytest.mark.parametrize(
    "met, code, verdict",
    [
        (BUSY, "overloaded", Verdict.INCONCLUSIVE),
        ("ratelimited", "ratelimited.no_hint", Verdict.INCONCLUSIVE),
        (IN_200, "body.error_in_200", Verdict.FAIL),
        ("server error", "server.error", Verdict.FAIL),
        ("cut json", "stream.truncated", Verdict.FAIL),
    ],
    ids=["overloaded", "ratelimited", "error in 200", "server error", "cut"],
)
def test_some_are_refused_or_wrong(met, code, verdict):
    """By what they met, with k of n; such an answer is not lost."""
    findings, _ = judged(in_burst(met))
    (found,) = findings
    assert (found.code, found.verdict) == (code, verdict), as_text(findings)
    assert (found.observed.k, found.observed.n) == (3, SIZE)
    assert found.conditions["concurrency"] == SIZE


def test_each_thing_that_happened_is_told():
    """Lost ones beside refused ones."""
    findings, _ = judged(lambda a: LOST if number(a) == 1 else BUSY if (number(a) or 9) < 4 else "good")
    assert {f.code: (f.observed.k, f.observed.n) for f in findings} == {
        "lost_in_burst": (1, SIZE),
        "overloaded": (2, SIZE),
    }


@pytest.mark.parametrize("before", ["server error", "timeout", "reset", "refused", NotSent.BUDGET])
def test_no_burst_where_one_alone_fails(before):
    """It would burden a service that has trouble already."""
    findings, server = judged(lambda _: before)
    assert len(server.calls) == 1
    assert worst(findings) is Verdict.INCONCLUSIVE


def test_one_alone_fails_after_the_burst():
    """What the burst left behind, or another fault, is told."""
    findings, _ = judged(lambda a: "server error" if a.trial.label == "burst/after" else "good")
    assert {(f.code, f.verdict) for f in findings} == {("ok", Verdict.PASS), ("server.error", Verdict.FAIL)}


def test_what_is_not_sent_is_not_green():
    """A burst that was bought in part."""
    findings, _ = judged(lambda a: NotSent.BUDGET if (number(a) or 0) > 5 else "good")
    assert worst(findings) is Verdict.INCONCLUSIVE
    assert {f.reason for f in findings} == {None, Reason.BUDGET}


def test_too_few_together_is_no_burst():
    """Where this machine sends them one after the other, nothing is proven of many at once."""
    asked = case("burst", (CURL,), keyed=True, size=SIZE)
    _, server = told(asked, lambda _: "good")
    calls = [
        replace(call, own_lag=0.5 * index if "before" not in call.trial.label else 0.0)
        for index, call in enumerate(server.calls)
    ]
    findings = judge(asked, replay(run_of(asked, calls, []), asked))
    assert [(f.code, f.reason) for f in findings] == [("not_measured", Reason.TOO_FEW)]
    assert together(calls[1:-1]) == 1
    assert together(server.calls[1:-1]) == SIZE
    assert together([]) == 0


@pytest.mark.parametrize("missing", range(1, SIZE + 2))
def test_a_replay_without_a_call(missing):
    """It is never better, and makes up no loss."""
    asked = case("burst", ALL, keyed=True, size=SIZE)
    findings, server = told(asked, lambda a: lasting("good", 2.0) if number(a) == 9 else in_burst(LOST)(a))
    assert worst(findings) is Verdict.INCONCLUSIVE
    left = [call for index, call in enumerate(server.calls) if index != missing]
    check_not_better(findings, judge(asked, replay(run_of(asked, left, findings), asked)))


# --- may it be sent at all -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "owned, limits, why",
    [
        (True, Limits(concurrency=SIZE), None),
        (True, Limits(concurrency=SIZE, per_minute=60), None),
        (False, Limits(concurrency=SIZE), "target not owned"),
        (True, Limits(concurrency=4), "needs limits.concurrency: 10"),
        (True, Limits(concurrency=SIZE, per_minute=11), "needs limits.per_minute: 12"),
    ],
    ids=["allowed", "allowed by the rate", "not owned", "concurrency", "rate"],
)
def test_what_the_target_allows(owned, limits, why):
    """A burst that our own queue would thin out is not sent, and says what it needs."""
    asked = case("burst", size=SIZE)
    said = unfit(replace(asked, target=replace(asked.target, owned=owned, limits=limits)))
    assert (said is None) if why is None else (why in said)
