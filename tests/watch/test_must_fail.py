"""Does the canary prove that it finds faults, and is it found out when it does not?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from turned import START, Canary, bed

from probes.budget import Governor
from probes.model import Verdict
from probes.watch.must_fail import NAME, MustFail


@pytest.fixture
def on():
    with bed(canary=Canary(())) as made:
        yield made


def test_detection_works(on):
    """The planted fault is found through the door that targets are asked by; nobody is told but the metric."""
    proof = MustFail(on.around)
    turn = proof.take(START, on.stop)
    assert (turn.entry, turn.verdict, turn.conclusive) == (NAME, Verdict.PASS, True)
    assert proof.fault is None
    assert ("must_fail", True, START) in on.metrics.told
    assert on.alerting.faults == [("probe.bug", None)]
    assert on.memory.runs == []


BROKEN = {
    "nothing is there to be found": (),
    "something else is found": ("reset-all",),
    "more is found": ("ai-crawler-rule", "bad-key-page"),
    "nothing can be told": ("block-all",),
}


@pytest.mark.parametrize("planted", BROKEN.values(), ids=BROKEN)
def test_detection_that_is_broken_is_found_out(on, planted):
    """Whatever else is found: the metric, an alert of its own and the evidence say so."""
    proof = MustFail(on.around, planted)
    turn = proof.take(START, on.stop)
    assert turn.verdict is Verdict.FAIL
    assert turn.reason.startswith(
        "blocked.client of openai-py was planted in the built-in lab, and found was: "
    )
    assert proof.fault == turn.reason
    assert ("must_fail", False, START) in on.metrics.told
    assert on.alerting.faults == [("probe.bug", turn.reason)]
    assert {entry for entry, _ in on.memory.runs} == {NAME}
    assert on.memory.runs[0][1].id == turn.run


def test_a_break_in_the_way_itself_is_found_out(on, monkeypatch):
    """A Governor that lets nothing pass makes every target look unmeasured, and this one too."""
    monkeypatch.setattr(Governor, "_affords", lambda *_: False)
    proof = MustFail(on.around)
    proof.take(START, on.stop)
    assert proof.fault is not None
    monkeypatch.undo()
    proof.take(START, on.stop)
    assert proof.fault is None
    assert [fault is None for _, fault in on.alerting.faults] == [False, True]


def test_a_confirmation_that_is_broken_is_found_out(on):
    """A rule that never asks again would let every blip pass, or nothing."""
    proof = MustFail(replace(on.around, rule=lambda *_: (1, 1)))
    proof.take(START, on.stop)
    assert proof.fault.endswith("found was: blocked.client once, and not again")


def test_a_drain_in_its_midst_proves_nothing(on):
    """Neither that it works nor that it does not."""
    on.stop("drained")
    proof = MustFail(on.around)
    turn = proof.take(START, on.stop)
    assert (turn.conclusive, turn.reason) == (False, "interrupted")
    assert on.alerting.faults == []
    assert on.metrics.told == []
