"""A baseline by its name: which runs it is given, what is said of them, and how long they are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from runs import run

from probes.memory import Memory
from probes.model import Began, Called, Finished, Verdict
from probes.store import save


def marks():
    with Memory.open(make=False) as memory:
        return memory.marks(datetime(2000, 1, 1, tzinfo=UTC))


def kept(*hours, **changed):
    """Runs so many hours before now, in files."""
    for hour in hours:
        at = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=hour)
        save(replace(run([("openai-py", changed.pop("got", "good stream"))], at=at), **changed))


def test_a_baseline_says_what_it_is_of(edgeprobe, reports):
    """How many runs of which target, from when to when and with which verdicts; the list counts them, too."""
    kept(3, 2)
    done = edgeprobe("mark", "release 42", "--baseline", "v41")
    assert "v41: 2 runs of t (2 pass)" in " ".join(done.out.split())
    assert "warning" not in done.out
    assert len(marks()[0].runs) == 2
    assert "baseline v41 (2 runs)" in " ".join(edgeprobe("mark", "--list").out.split())


def test_a_baseline_warns_of_what_it_is_worth(edgeprobe, reports):
    """Runs that did not pass, of several vantages and speeds of time."""
    kept(4)
    kept(3, verdict=Verdict.FAIL)
    kept(2, vantage="office", time_scale=0.1)
    said = " ".join(edgeprobe("mark", "x", "--baseline", "v41").out.split())
    assert "3 runs of t (2 pass, 1 fail)" in said
    assert "warning 1 of 3 did not pass" in said
    assert "several vantages (none, office)" in said
    assert "several speeds of a lab's time (0.1, 1)" in said


def test_a_baseline_without_a_run_is_told(edgeprobe, reports):
    """The mark stands."""
    done = edgeprobe("mark", "x", "--baseline", "v41")
    assert (done.code, "nothing can be held against it yet" in done.out) == (0, True)
    assert marks()[0].runs == ()


@pytest.mark.parametrize("of", [None, "t"], ids=["every target", "that target"])
def test_a_baseline_is_not_moved_to_nothing(edgeprobe, reports, of):
    """Where no run was kept since the last mark: nothing is marked, the mark in between is named, the name stays."""
    kept(3, 2, 1.25)
    edgeprobe("mark", "release 42", "--baseline", "v41", "--at", "-90m")
    edgeprobe("mark", "rule on", "--at", "-1h", *(["--target", of] if of else []))
    before = marks()
    done = edgeprobe("mark", "x", "--baseline", "v41")
    said = " ".join(done.err.split())
    assert (done.code, marks()) == (2, before)
    assert 'UTC; it is bounded by the mark "rule on" (' in said
    assert "nothing is marked, and v41 stays what it is, before" in said
    new = edgeprobe("mark", "x", "--baseline", "v42")
    assert (new.code, "v42: no run is kept from" in " ".join(new.out.split()), '"rule on"' in new.out) == (
        0,
        True,
        True,
    )


def test_what_is_forgotten_is_not_a_baseline(edgeprobe, reports):
    """Its runs are kept as long as one that failed."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(days=40)
    for made in (run([("httpx", "good stream")], at=at - timedelta(hours=h)) for h in (1, 30)):
        with Memory.open(now=lambda made=made: made.started) as memory:
            tell = memory.recording()
            for event in (
                Began(replace(made, calls=(), findings=())),
                *map(Called, made.calls),
                Finished(made),
            ):
                tell(event)
    edgeprobe("mark", "x", "--baseline", "v11", "--at", at.isoformat())
    assert len(marks()[0].runs) == 1
    with Memory.open() as memory:
        assert memory.prune(datetime.now(UTC)).runs == 1
        assert memory.load(marks()[0].runs[0])
