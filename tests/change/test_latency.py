"""Slower, not slower, or not to be told: of pairs of runs."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from runs import AT, latencies, run, streamed, timed

from probes.change.compare import compare
from probes.change.latency import compare as latency
from probes.comparison import Side
from probes.model import Reason, Verdict

LATER = AT + timedelta(minutes=10)


def calm(seed: int, n: int = 40, times: float = 1.0) -> list[float]:
    """Seconds that scatter by a tenth."""
    return [times * float(one) for one in np.random.default_rng(seed).lognormal(-1, 0.1, n)]


def of(part, what="TTFT"):
    return next(row for row in part.rows if row.what == what)


def test_the_same_state_seldom_fails():
    """Of 100 pairs of runs with bad latencies, told as a whole; most can't tell a fifth, and say so."""
    rng = np.random.default_rng(2)
    runs = [timed(latencies(rng, 20)) for _ in range(101)]
    verdicts = [[row.verdict for row in latency([old], [new]).rows] for old, new in pairwise(runs)]
    assert sum(Verdict.FAIL in each for each in verdicts) <= 2
    assert sum(Verdict.INCONCLUSIVE in each for each in verdicts) > 60


@pytest.mark.parametrize(
    ("before", "after", "verdict", "reason"),
    [
        (calm(1), calm(2), Verdict.PASS, None),
        (calm(1), calm(2, times=1.2), Verdict.FAIL, None),
        (calm(1), calm(2, times=3), Verdict.FAIL, None),
        (calm(1, 300), calm(2, 300, times=1.08), Verdict.PASS, None),
        (calm(1), calm(2, times=0.5), Verdict.PASS, None),
        (calm(1, 6), calm(2, 6, times=1.2), Verdict.INCONCLUSIVE, Reason.TOO_FEW),
        (calm(1), [*calm(2, 20), *calm(3, 20, times=2)], Verdict.INCONCLUSIVE, Reason.DRIFT),
        ([*calm(1, 20), *calm(4, 20, times=2)], calm(2), Verdict.INCONCLUSIVE, Reason.DRIFT),
        (calm(1, 4), calm(2, 40), Verdict.INCONCLUSIVE, Reason.TOO_FEW),
    ],
    ids=["alike", "a fifth slower", "three times", "slower by less than counts", "faster", "few", "after drifts", "before drifts", "four are nothing"],
)  # fmt: skip
def test_what_is_said_of_two_samples(before, after, verdict, reason):
    """By the interval of the ratio; too few, or a state that is none, proves neither."""
    part = latency([timed(before)], [timed(after, at=LATER)])
    row = of(part) if any(row.what == "TTFT" for row in part.rows) else part.rows[0]
    assert row.verdict is verdict, row
    told = [one for one in part.findings if one.verdict is verdict]
    assert told
    assert told[0].reason is reason
    assert (told[0].code == "regression.latency") is (verdict is Verdict.FAIL)


def test_what_is_not_told_says_what_would_tell_it():
    """The smallest shift that these samples show, and how many show a fifth."""
    part = latency(
        [timed(latencies(np.random.default_rng(1), 12))], [timed(latencies(np.random.default_rng(2), 12))]
    )
    row = of(part)
    assert row.verdict is Verdict.INCONCLUSIVE
    assert "12 samples a side" in row.why
    assert "+20% takes" in row.why
    assert row.smallest > 1.2


def test_slower_by_an_open_amount_is_said_so():
    """The interval leaves out no shift, and holds the one that counts: slower for sure, whether by a fifth is open."""
    part = latency([timed(calm(1))], [timed(calm(2, times=1.14), at=LATER)], slower=0.2)
    row = of(part)
    assert (row.verdict, row.effect.low > 1, row.effect.high > 1.2) == (Verdict.INCONCLUSIVE, True, True), row
    assert row.why.startswith("slower: +")
    assert "whether by 20% can't be told" in row.why
    [told] = [one for one in part.findings if one.title.startswith("TTFT")]
    assert told.title.startswith("TTFT of s/streaming · openai-py is slower by +")
    assert told.title.endswith("; whether by 20% can't be told")


def test_runs_that_differ_among_themselves_are_no_state():
    """Several runs of a side, each steady, in different hours."""
    before = [timed(calm(n, 10, times=1 + (n % 2)), at=AT + timedelta(hours=n)) for n in range(4)]
    part = latency(before, [timed(calm(9), at=AT + timedelta(hours=9))])
    assert of(part).verdict is Verdict.INCONCLUSIVE
    assert "its runs among themselves" in of(part).why


@pytest.mark.parametrize(
    "changed",
    [{"connection": "reused"}, {"http_version": "2"}],
    ids=["another connection", "another version"],
)
def test_only_equal_conditions_are_compared(changed):
    """Else nothing is said of it but that it was not compared."""
    before = timed(calm(1))
    after = run([("openai-py", streamed(one, **changed)) for one in calm(2, times=3)], at=LATER)
    part = latency([before], [after])
    assert not part.rows
    assert any(next(iter(changed)).replace("_", " ") in said for said in part.left_out)


def test_an_answer_of_another_length_takes_another_time():
    """The total is compared among answers of one length alone."""
    before = run([("openai-py", streamed(one, tokens=11)) for one in calm(1)])
    longer = [("openai-py", streamed(one, tokens=400)) for one in calm(2, 10)]
    after = run([*(("openai-py", streamed(one, tokens=11)) for one in calm(3)), *longer], at=LATER)
    part = latency([before], [after])
    assert of(part, "total").verdict is Verdict.PASS
    assert any("another length" in said for said in part.left_out)


def test_what_the_probe_was_late_for_is_left_out_and_counted():
    """A stall of our own in which a mark was made."""
    stalled = [("openai-py", streamed(9.0, stalls=[[8.0, 9.5]])) for _ in range(5)]
    part = latency(
        [timed(calm(1))], [run([*(("openai-py", streamed(one)) for one in calm(2)), *stalled], at=LATER)]
    )
    assert of(part).verdict is Verdict.PASS
    assert of(part).after.endswith("of 40")
    assert "latency, 0 times before and 15 after, for which the probe itself was late" in part.left_out


@pytest.mark.parametrize("slower", [0.05, 0.2, 1.0])
def test_what_counts_as_slower_is_said(slower):
    """By so much less or more than a tenth."""
    row = of(latency([timed(calm(1, 200))], [timed(calm(2, 200, times=1.3))], slower))
    assert row.verdict is (Verdict.PASS if slower == 1.0 else Verdict.FAIL)


def test_a_shift_below_the_clock_is_none():
    """Three milliseconds of ten are a third, and nobody's."""
    before = [0.010 + 0.0001 * (n % 7) for n in range(40)]
    row = of(latency([timed(before)], [timed([one + 0.003 for one in before], at=LATER)]))
    assert row.verdict is Verdict.PASS


def test_many_clients_do_not_make_a_false_alarm_likelier():
    """Three clients, each with three figures: the level is shared among all tests."""
    rng = np.random.default_rng(8)
    case_clients = ("openai-py", "httpx", "curl")
    wrong = 0
    for _ in range(20):
        sides = []
        for at in (AT, LATER):
            asked = [(client, streamed(one)) for client in case_clients for one in latencies(rng, 20)]
            sides.append([run(asked, at=at)])
        wrong += any(row.verdict is Verdict.FAIL for row in latency(*sides).rows)
    assert wrong <= 1


def test_a_comparison_of_nothing_is_not_green():
    """Runs without anything in common."""
    side = Side("x", ("a",), AT, AT, "t")
    assert compare((side, [run()]), (side, [run()])).verdict is Verdict.INCONCLUSIVE
