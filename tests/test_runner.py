"""The loop, the verdict of a run and its exit code, and what a case does to the others when it breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from canned import Server, case, run_of
from hypothesis import given
from hypothesis import strategies as st

from probes import runner
from probes.kinds import KINDS
from probes.kinds.spec import Bound, KindSpec
from probes.model import Ask, Finding, Layer, NotSent, Reason, Trial, Verdict
from probes.runner import drive, exit_code, judge, replay, worst

if TYPE_CHECKING:
    from random import Random

V = Verdict


def found(verdict, *, accepted=False):
    return Finding("ok", verdict, "s/k", "k", accepted=accepted)


# --- the verdict and the exit code -----------------------------------------------------------------------

RUNS = {
    "nothing measured": ([], V.INCONCLUSIVE, 3, 3),
    "pass": ([V.PASS], V.PASS, 0, 0),
    "warn": ([V.WARN], V.WARN, 0, 0),
    "pass and warn": ([V.PASS, V.WARN], V.WARN, 0, 0),
    "inconclusive": ([V.INCONCLUSIVE], V.INCONCLUSIVE, 3, 3),
    "inconclusive and warn": ([V.WARN, V.INCONCLUSIVE], V.INCONCLUSIVE, 3, 3),
    "inconclusive and pass": ([V.PASS, V.INCONCLUSIVE], V.INCONCLUSIVE, 3, 0),
    "error": ([V.ERROR], V.ERROR, 3, 3),
    "error and inconclusive": ([V.INCONCLUSIVE, V.ERROR], V.ERROR, 3, 3),
    "error and pass": ([V.PASS, V.ERROR], V.ERROR, 3, 0),
    "fail": ([V.FAIL], V.FAIL, 1, 1),
    "fail and all else": ([*V], V.FAIL, 1, 1),
}


@pytest.mark.parametrize("verdicts, verdict, code, allowed", RUNS.values(), ids=RUNS)
def test_verdict_and_exit_code(verdicts, verdict, code, allowed):
    """The worst counts; `--allow-inconclusive` turns a 3 into 0 only where something passed, never a 1."""
    run = run_of(case(), (), [found(v) for v in verdicts])
    assert run.verdict is verdict
    assert exit_code(run) == code
    assert exit_code(run, allow_inconclusive=True) == allowed


def test_taking_connections_is_no_pass_of_the_api():
    """A silent server must not be let through because its port is open."""
    opened = replace(found(V.PASS), kind="connection")
    run = run_of(case(), (), [opened, found(V.INCONCLUSIVE)])
    assert exit_code(run, allow_inconclusive=True) == 3
    assert exit_code(run_of(case(), (), [opened])) == 0


@given(st.lists(st.sampled_from(list(V))), st.randoms(use_true_random=False))
def test_the_order_of_findings_plays_no_part(verdicts, rng: Random):
    """The verdict is that of the set."""
    findings = [found(v) for v in verdicts]
    before = worst(findings)
    rng.shuffle(findings)
    assert worst(findings) is before
    assert worst([*findings, found(V.FAIL)]) is V.FAIL


@pytest.mark.parametrize("rest, verdict", [([], V.INCONCLUSIVE), ([V.PASS], V.PASS), ([V.WARN], V.WARN)])
def test_accepted_does_not_count(rest, verdict):
    """What the operator accepted does not fail the run, and is no proof that something was measured."""
    assert worst([found(V.FAIL, accepted=True), *map(found, rest)]) is verdict


# --- the loop --------------------------------------------------------------------------------------------


def trial(label, **more):
    return Trial(label, "curl", "edge", Ask("chat"), **more)


@pytest.fixture
def kind(monkeypatch):
    """Adds a kind for a test; gives a function that takes its flow."""

    def add(flow, name="probing", *, long=False):
        spec = KindSpec(flow, "a kind of this test", lambda _: Bound(9, 9, 1.0), keyed=False, long=long)
        monkeypatch.setitem(KINDS, name, spec)
        return case(name)

    return add


def test_a_label_asked_for_again_is_its_next_repeat(kind):
    """Repeats are counted by label, within a step and over steps."""

    def flow(_):
        first = yield [trial("a"), trial("b"), trial("a")]
        second = yield [trial("a")]
        return [(c.trial.label, c.repeat) for c in [*first, *second]]

    asked = kind(flow)
    rows = drive(flow(asked), Server(asked, lambda _: "passed"))
    assert rows == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]


def test_a_flow_that_asks_for_nothing(kind):
    """An empty step is answered by no calls; a flow without findings was not measured."""

    def flow(_):
        assert (yield []) == []
        return []

    (only,) = judge(asked := kind(flow), Server(asked, lambda _: "passed"))
    assert (only.code, only.verdict, only.reason) == ("not_measured", V.INCONCLUSIVE, Reason.TOO_FEW)


@pytest.mark.parametrize("when", ["at once", "after a call", "in what is said of every exchange"])
def test_a_flow_that_breaks(kind, monkeypatch, when):
    """Our bug is an error of ours with the traceback, never the service's failure."""

    def flow(_):
        if when == "at once":
            raise RuntimeError("the very bug")
        calls = yield [trial("a")]
        if when == "after a call":
            return [calls[5]]
        return []

    if when.startswith("in"):
        monkeypatch.setattr(runner, "passive", lambda _, heard, _told: heard[5])
    (only,) = judge(asked := kind(flow), Server(asked, lambda _: "passed"))
    assert (only.code, only.verdict, only.layer) == ("probe.bug", V.ERROR, Layer.PROBE)
    assert "Traceback" in dict(only.detail)["seen"]
    assert ("RuntimeError: the very bug" if when == "at once" else "IndexError") in only.detail[0][1]
    assert exit_code(run_of(asked, (), [only])) == 3


# --- replay ----------------------------------------------------------------------------------------------


def test_replay_looks_up_by_label_and_repeat(kind):
    """The order in which a flow asks plays no part, and what the run does not hold is not made up."""

    def flow(_):
        return (yield [trial("a"), trial("b"), trial("a")])

    asked = kind(flow)
    server = Server(asked, lambda a: "refused" if a.repeat else "passed")
    drive(flow(asked), server)
    run = run_of(asked, list(reversed(server.calls)), [])
    again = replay(run, asked)(
        [(trial("a"), 1), (trial("b"), 0), (trial("a"), 0), (trial("b"), 1), (trial("c"), 0)]
    )
    assert [call.not_sent for call in again] == [None, None, None, NotSent.NOT_RECORDED, NotSent.NOT_RECORDED]
    assert [call.repeat for call in again] == [1, 0, 0, 1, 0]
    assert again[0].last.status == 403


def test_replay_keeps_to_its_case(kind):
    """A call of another case is not this case's, whatever its label."""

    def flow(_):
        return (yield [trial("a")])

    asked = kind(flow)
    server = Server(asked, lambda _: "passed")
    drive(flow(asked), server)
    other = replace(asked, id="s/other")
    (call,) = replay(run_of(asked, server.calls, []), other)([(trial("a"), 0)])
    assert call.not_sent is NotSent.NOT_RECORDED
