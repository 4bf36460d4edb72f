"""A case stops asking once its seconds are used, whatever the server does; the next case has its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import case
from labruns import CLOCK, bench_for, served

from probes.allowance import Allowance, granted
from probes.budget import Governor
from probes.clock import Clock
from probes.model import Ask, Limits, NotSent, Trial
from probes.runner import run_cases
from probes.suite import load_suite

REAL = Clock()


def test_smoke_is_bounded_by_its_rows():
    """Each row has its seconds, and they leave some of the 45 for what this machine does itself."""
    rows = load_suite("smoke").rows
    assert all(row.seconds for row in rows)
    assert sum(row.seconds for row in rows) < 42


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        (Limits(), 6.0),
        (Limits(deadline=30.0), 26.0),
        (Limits(deadline=2.0), 6.0),
        (Limits(per_minute=10), None),
    ],
    ids=["default", "longer answers", "shorter answers", "a rate of its own"],
)
def test_what_is_granted(limits, seconds):
    """As much more as the operator lets one answer take; a target slow by the operator's will is not bounded."""
    asking = case("completion")
    asking = replace(asking, seconds=6.0, target=replace(asking.target, limits=limits))
    assert granted(asking) == seconds


def test_nothing_is_granted_where_the_suite_says_nothing():
    """Such a case takes as long as it takes."""
    assert granted(case("completion")) is None


def test_a_request_gets_no_more_than_what_is_left():
    """Too little is nothing, but for a request that asks for as little itself."""
    allowance = Allowance(replace(case("completion"), seconds=1.0), REAL)
    assert not allowance.enough(10.0)
    assert allowance.enough(0.1)
    assert allowance.at_most(10.0) == 1.0
    assert Allowance(case("completion"), REAL).at_most(10.0) == 10.0


def test_only_asking_counts():
    """What the machine does between two steps is no time of the server's."""
    allowance = Allowance(replace(case("completion"), seconds=60.0), REAL)
    before = allowance.left()
    assert before == 60.0
    with allowance.running():
        REAL.sleep(0.05)
    spent = allowance.left()
    REAL.sleep(0.05)
    assert spent == allowance.left() < before


def test_a_silent_server_uses_the_seconds_of_one_case_up():
    """The request is ended with them, the next is not sent and says why, and another case is asked again."""
    with served("silent", clock=CLOCK) as (_, target, secrets):
        patient = replace(target, limits=Limits(deadline=10.0))
        plain = replace(case("completion", keyed=True), target=patient, seconds=2.05)
        cases = [replace(plain, id=f"s/completion/cap={n}", clients=plain.clients[1:2]) for n in (8, 9)]
        calls, findings = run_cases(cases, bench_for(patient, secrets, REAL))
    sent = [call for call in calls if call.not_sent is None]
    assert {call.case for call in sent} == {each.id for each in cases}
    assert all(call.last.timeline.end < 8.0 for call in sent)
    assert {f.code for f in findings} == {"timeout.first_byte"}


def test_what_is_not_sent_for_time_says_so(monkeypatch):
    """It is the case's time, not the target's budget, that has to be raised."""
    monkeypatch.setattr("probes.kinds.completion._unanswered", lambda _: False)
    monkeypatch.setattr("probes.kinds.completion._took", lambda _: 0.0)
    with served("silent", clock=CLOCK) as (_, target, secrets):
        narrow = replace(target, limits=Limits(concurrency=1))
        one = replace(case("completion", keyed=True), target=narrow, seconds=2.05)
        calls, findings = run_cases([one], bench_for(narrow, secrets, REAL))
    assert [call.not_sent for call in calls][:2] == [None, NotSent.BUDGET]
    told = next(f for f in findings if f.code == "not_measured")
    assert "2.05 s that the suite gives this case are used up" in dict(told.detail)["seen"]
    assert "seconds" in told.advice


def test_a_pause_that_outlasts_the_case_is_not_waited_for():
    """What was bought for the request is given back."""
    target = replace(case("completion").target, limits=Limits(per_minute=1))
    governor = Governor(target, REAL)
    trial = Trial("a", "httpx", "edge", Ask("chat", cap=4))
    governor.reserve([trial, trial])
    with governor.admitted(trial) as why:
        assert why is None
    with governor.admitted(trial, REAL.now() + 1.0) as why:
        assert why is NotSent.PAUSED
    assert governor.spend.requests == 1
