"""A stored run is judged again from its own calls, and never better than it was."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from canned import as_text, check_not_better
from hypothesis import given, settings
from hypothesis import strategies as st
from labruns import lab_run

from probes import store
from probes.model import Case, Run, Verdict
from probes.runner import judge, replay
from probes.signatures import catalogue

RUNS = {
    "healthy": ("smoke",),
    "user agent": ("identity", "ai-crawler-rule"),
    "SDK headers": ("identity", "sdk-headers-rule"),
    "now and then": ("identity", "ua-rule-every-second"),
    "tainted": ("identity", "block-after-6"),
    "cut streams": ("smoke", "cut-close"),
    "a leak": ("smoke", "key-echo"),
    "redirects": ("smoke", "redirect-307"),
    "rate limit": ("smoke", "rate-limit-unhinted"),
    "replaced errors": ("smoke", "bad-key-page"),
    "read timer": ("long", "read-timer"),
    "total timer": ("long", "total-timer-100"),
}
runs = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.xdist_group(f"replay {n}")) for n in RUNS]
)


def rejudged(run: Run, anew=None):
    return [finding for case in run.cases for finding in judge(case, replay(run, case, anew))]


@cache
def taken(name) -> Run:
    return lab_run(*RUNS[name])


def of_case(run: Run, case: Case):
    return [finding for finding in run.findings if finding.case == case.id]


@runs
def test_replay_is_live(name):
    """The stored calls give the findings that the live run gave, also when they are attributed anew."""
    run = taken(name)
    assert rejudged(run) == list(run.findings)
    assert rejudged(run, catalogue()) == list(run.findings)


@runs
def test_replay_is_live_after_the_store(name, tmp_path, monkeypatch):
    """Also when the run has been written and read: the calls are the very same, stored figures to the microsecond."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path))
    run = taken(name)
    store.save(run)
    loaded = store.load(run.id)
    assert loaded.calls == run.calls
    assert rejudged(loaded) == rejudged(loaded, catalogue()) == list(run.findings)
    assert to_the_microsecond(loaded.findings) == to_the_microsecond(run.findings)


def to_the_microsecond(findings):
    """Figures alone: sentences have fewer digits."""

    def rounded(figure):
        numbers = (figure.value, figure.low, figure.high)
        return (figure.unit, figure.n, *(None if x is None else pytest.approx(x, abs=3e-6) for x in numbers))

    return [
        (replace(f, figures={}), {name: rounded(figure) for name, figure in f.figures.items()})
        for f in findings
    ]


@runs
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_replay_with_calls_missing_is_never_better(name, data):
    """Whatever is missing: no pass is made of trouble, no failure is made up, no new cause is named."""
    run = taken(name)
    missing = data.draw(st.sets(st.integers(0, len(run.calls) - 1), min_size=1), label="missing")
    left = replace(run, calls=tuple(call for i, call in enumerate(run.calls) if i not in missing))
    for case in run.cases:
        check_not_better(of_case(run, case), judge(case, replay(left, case)))


@runs
def test_one_call_missing(name):
    """The same for every single call; a case that misses one that it asked for does not pass."""
    run = taken(name)
    for gone in run.calls:
        left = replace(run, calls=tuple(call for call in run.calls if call is not gone))
        case = next(case for case in run.cases if case.id == gone.case)
        again = judge(case, replay(left, case))
        check_not_better(of_case(run, case), again)
        assert {f.verdict for f in again} != {Verdict.PASS}, f"{gone.id}\n{as_text(again)}"
