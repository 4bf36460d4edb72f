"""A server that stays as it is is hardly ever said to have changed: many simulated runs, with a heavy tail."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from canned import answer

from probes.kinds.prompt_cache.evidence import Tried, timed
from probes.kinds.prompt_cache.trials import Asked
from probes.model import Ask, Call, Timeline, Trial
from probes.sampling import REPEATS, Conditions, Sample, drift

RUNS = 1000
CONTROLS = {"prompt_cache": 2 * REPEATS, "ttft_curve": 1 + 3 * REPEATS}
"""In the order of a case: two a round, and three a round beside the one at the begin."""
GOOD = answer("good stream")


def heavy(rng, sigma):
    """A lognormal time, which one time in twenty takes up to ten times as long."""
    return rng.lognormvariate(0, sigma) * (rng.uniform(2, 10) if rng.random() < 0.05 else 1)


def cache_run(rng, warm, sigma):
    """The TTFT of five rounds; `warm`: of what a long prompt costs, how much a read costs again."""
    short, prefill, asked = 0.3, 2.0, []
    for _ in range(REPEATS):
        for arm, cost in (("cold", 1.0), ("control", 0.0), ("warm", warm), ("control", 0.0)):
            at = (short + prefill * cost) * heavy(rng, sigma)
            line = Timeline(
                upload_start=0.0,
                upload_end=0.0,
                headers=0.01,
                first_token=at,
                last_token=at + 0.1,
                end=at + 0.1,
            )
            trial = Trial(f"prompt_cache/httpx/{arm}", "httpx", "edge", Ask("chat"))
            known = {
                "connection": "new",
                "client": "cold",
                "cache": arm,
                "concurrency": 1,
                "position": len(asked),
            }
            made = replace(GOOD, timeline=line)
            asked.append(Asked(Call("c", "s", trial, 0, (made,), conditions=known), len(asked)))
    return timed(Tried(asked)).time


@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.6])
@pytest.mark.parametrize(
    ("warm", "false"), [(0.05, "as slow"), (1.0, "sooner")], ids=["a cache that works", "a cache that is off"]
)
def test_of_a_cache_the_wrong_is_hardly_ever_said(warm, false, sigma):
    """At most 1 % of runs say that a cache is off which works, that one works which is off, or that the server drifts."""
    rng = Random(f"{warm}/{sigma}")
    said = Counter(cache_run(rng, warm, sigma) for _ in range(RUNS))
    assert said[false] <= RUNS // 100, said
    assert said["drift"] <= RUNS // 100, said


@pytest.mark.parametrize(
    ("warm", "right", "least"), [(0.05, "sooner", 0.8), (1.0, "as slow", 0.75)], ids=["works", "is off"]
)
def test_of_a_steady_server_the_right_is_mostly_said(warm, right, least):
    """At the first look, after which more is asked; where times vary by a tenth, and one in twenty takes far longer."""
    rng = Random(f"{right}")
    said = Counter(cache_run(rng, warm, 0.1) for _ in range(500))
    assert said[right] >= least * 500, said


def control(rng, n, sigma, later=1.0):
    way = Conditions("new", "cold", "cold", 1, "edge")
    return [Sample(heavy(rng, sigma) * (later if at >= n / 2 else 1), way, at, 0.0) for at in range(n)]


@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("n", CONTROLS.values(), ids=CONTROLS)
def test_a_control_without_drift_is_hardly_ever_said_to_drift(n, sigma):
    """At most 1 % of runs."""
    rng = Random(f"{n}/{sigma}")
    assert sum(drift(control(rng, n, sigma)).sure for _ in range(RUNS)) <= RUNS // 100


@pytest.mark.parametrize("n", CONTROLS.values(), ids=CONTROLS)
def test_a_control_that_takes_twice_as_long_is_mostly_found(n):
    """In two of three runs, though one time in twenty takes far longer by itself; nearly always where none does."""
    rng = Random(f"{n}")
    found = sum(drift(control(rng, n, 0.2, later=2.0)).sure for _ in range(500)) / 500
    assert found >= 2 / 3 - 0.05, found
    way = Conditions("new", "cold", "cold", 1, "edge")
    plain = [
        [Sample(rng.lognormvariate(0, 0.15) * (1 + (at >= n / 2)), way, at, 0.0) for at in range(n)]
        for _ in range(500)
    ]
    assert sum(drift(run).sure for run in plain) / 500 >= 0.9
