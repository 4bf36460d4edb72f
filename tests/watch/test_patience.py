"""How long a turn may be under way before it is told that nothing is seen."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from labruns import CLOCK
from turned import START, Canary, Entry, bed

from probes.canary import Missed
from probes.clock import Clock
from probes.config import target_from_flags
from probes.model import Limits
from probes.suite import cases, load_suite
from probes.watch.patience import patience

TARGET = target_from_flags("http://127.0.0.1:9/v1", "openai", "m", no_key=True)


class KofN:
    k, n = 2, 5


def waits(suite="smoke", clock=None, entry=None, **limits):
    target = replace(TARGET, limits=Limits(**limits))
    planned = cases(load_suite(suite), target, 0)[0]
    return patience(entry or Entry(), planned, clock or Clock()).total_seconds()


def test_what_a_suite_gives_its_cases_is_waited_for():
    """Smoke's 41.4 s, and as much each time that it may be asked again; a pause that a run waits for is in it."""
    assert waits() == pytest.approx(3 * (41.4 + 10))
    assert waits(entry=replace(Entry(), alert=KofN)) == pytest.approx(5 * (41.4 + 10))


def test_where_time_runs_faster_a_case_has_as_many_seconds_of_the_clock():
    """They are the operator's: of scaled time they are more."""
    assert waits(clock=Clock(0.1)) == pytest.approx(3 * (414 + 10))


def test_what_the_operator_lets_take_longer_is_waited_for():
    """A longer deadline, and a rate of the target's own."""
    assert waits(deadline=30.0) > waits() + 3 * 5 * 19
    assert waits(per_minute=2) > 3 * 60 * 5


def test_a_long_case_is_waited_for_beside_the_short_ones():
    """As long as its plan says, not for its requests one after the other."""
    assert 125 < waits("long") < 3 * 3600
    assert waits("identity") < 600  # without `seconds`: a silent server is given up after two waits


def test_an_overlap_with_a_turn_in_time_is_no_blindness():
    """It is kept and counted, and nobody is told; one beyond that time is told."""
    with bed(canary=Canary((Entry(),))) as on:
        most = on.turns._files.patience["smoke-prod"]
        assert most == timedelta(seconds=patience(Entry(), cases_of(on), CLOCK).total_seconds())
        told = [
            on.turns.missed(Entry(), START + took, Missed.OVERLAP, "its turn before has not ended", START)
            for took in (timedelta(minutes=1), most, most + timedelta(seconds=1))
        ]
        late = on.turns.missed(Entry(), START, Missed.LATE, "its time passed unseen")
    assert on.memory.turns == [*told, late]
    assert [turn for turn, *_ in on.alerting.seen] == [told[2], late]
    assert [row[1] for row in on.metrics.told if row[0] == "turn"] == [*told, late]


def cases_of(on):
    return cases(load_suite("smoke"), on.target, 0, only=Entry().clients)[0]


@pytest.mark.parametrize("seconds", [", seconds: 3", ""], ids=["bounded by its suite", "bounded by patience"])
def test_a_turn_that_meets_a_server_that_hangs_ends_in_time(tmp_path, monkeypatch, seconds):
    """Confirmed, too: the times it overlaps until then tell nobody that nothing is seen."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suites").mkdir()
    text = f"version: 1\nname: asks\ncases:\n  - {{kind: completion, clients: genuine{seconds}}}\n"
    (tmp_path / "suites" / "asks.yaml").write_text(text)
    entry = Entry(suite="asks", clients=("openai-py",))
    with bed("ua-hang", canary=Canary((entry,))) as on:
        on.memory.served = {"openai-py": START - timedelta(days=1)}
        began = time.monotonic()
        on.take()
        took = timedelta(seconds=(time.monotonic() - began) / CLOCK.scale)
        assert on.alerting.paged == {"timeout.first_byte"}
        assert on.alerting.confirmed
        assert timedelta(seconds=10) < took <= on.turns._files.patience["smoke-prod"]
