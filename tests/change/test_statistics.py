"""How sure a difference is: over many simulated pairs as often right as it says."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from runs import latencies
from scipy import stats

from probes.change import statistics
from probes.change.statistics import (
    FAMILY,
    POWER,
    Share,
    effect,
    gap,
    more,
    needed,
    smallest,
    spread,
    weighted,
)
from probes.twins import Side, fisher


@pytest.mark.parametrize("n", [8, 30])
def test_the_same_is_called_slower_no_more_often_than_is_said(n):
    """Of 1,000 pairs from one heavy-tailed state, each tested for three figures, at most one in a hundred."""
    rng = np.random.default_rng(n)
    wrong = [
        any(effect(latencies(rng, n), latencies(rng, n), FAMILY / 3).low > 1 for _ in range(3))
        for _ in range(1000)
    ]
    assert sum(wrong) <= 10


@pytest.mark.parametrize("shift", [1.2, 1.5])
def test_a_shift_is_caught_as_often_as_is_said(shift):
    """With as many samples as are said to show it, by so many samples of a side beforehand."""
    rng = np.random.default_rng(5)
    n = needed(spread(latencies(rng, 1000)), shift, FAMILY)
    caught = [effect(latencies(rng, n), [shift * one for one in latencies(rng, n)], FAMILY).low > 1 for _ in range(300)]  # fmt: skip
    assert POWER - 0.08 <= np.mean(caught) <= POWER + 0.1


@pytest.mark.parametrize(("n", "m"), [(40, 40), (40, 200), (300, 60)])
def test_the_smallest_effect_is_the_one_that_is_caught_so_often(n, m):
    """It is what these numbers show with the stated power, also where the sides are of two sizes."""
    rng = np.random.default_rng(7)
    shift = smallest(spread(latencies(rng, 1000)), n, m, FAMILY)
    caught = [effect(latencies(rng, n), [shift * one for one in latencies(rng, m)], FAMILY).low > 1 for _ in range(200)]  # fmt: skip
    assert POWER - 0.1 <= np.mean(caught) <= POWER + 0.12


def test_the_interval_holds_the_ratio():
    """And is about it; one far outlier moves neither."""
    rng = np.random.default_rng(3)
    before = list(rng.lognormal(0, 0.2, 60))
    after = [1.5 * one for one in rng.lognormal(0, 0.2, 60)]
    seen = effect(before, after, 0.005)
    assert seen.low < 1.5 < seen.high
    assert seen.low > 1.2
    with_outlier = effect(before, [*after[:-1], 3600.0], 0.005)
    assert with_outlier.ratio == pytest.approx(seen.ratio, rel=0.02)


@pytest.mark.parametrize("samples", [1, 2, 4])
def test_few_samples_have_no_interval(samples):
    """However far apart they are: no shift is shown, and none can be."""
    seen = effect([0.1] * samples, [9.0] * samples, FAMILY)
    assert (seen.low, seen.high) == (0, math.inf)
    assert smallest(spread([0.1, 0.2, 0.4]), samples, samples, FAMILY) is None


def test_the_interval_is_no_narrower_than_the_exact_one():
    """For few samples by the exact distribution of the Mann-Whitney statistic."""
    for n, m, level in product(range(4, 13), range(4, 13), (0.025, 0.01, 0.001)):
        rank = statistics._rank(n, m, level)
        if rank:
            least = [0.5 + 0.001 * one for one in range(n)]
            exact = stats.mannwhitneyu(_at_statistic(least, m, rank - 1), least, method="exact", alternative="less").pvalue  # fmt: skip
            assert exact <= level, (n, m, level)


def _at_statistic(old: list[float], m: int, u: int) -> list[float]:
    """`m` values that are greater than those of `old` in just `u` pairs."""
    whole, rest = divmod(u, len(old))
    return [9.0] * whole + ([old[rest - 1] + 0.0005] if rest else []) + [0.0] * (m - whole - bool(rest))


def test_what_does_not_scatter_shows_any_shift():
    """Samples that are all alike."""
    assert effect([1.0] * 20, [1.0] * 20, FAMILY).ratio == 1
    assert smallest(spread([1.0] * 20), 20, 20, FAMILY) == 1
    assert statistics.differ([[1.0] * 5, [1.0] * 5]) == 1


def test_no_samples_tell_nothing():
    """Neither what they show nor how many would."""
    assert smallest(spread([1.0]), 1, 40, FAMILY) is None
    assert needed(spread([1.0]), 1.2, FAMILY) is None


def test_a_baseline_may_be_too_small_for_any_run():
    """Where no number of later samples shows the shift."""
    rng = np.random.default_rng(1)
    scatter = spread(latencies(rng, 500))
    assert needed(scatter, 1.2, FAMILY, 8) is None
    assert needed(scatter, 1.2, FAMILY, 2000) < needed(scatter, 1.2, FAMILY)


@pytest.mark.parametrize(("k", "n", "later_k", "later_n"), [(0, 20, 3, 20), (1, 9, 8, 9), (0, 3, 3, 3)])
def test_the_exact_test_agrees_with_that_of_twins(k, n, later_k, later_n):
    """One-sided it is never above the two-sided one."""
    assert more(k, n, later_k, later_n) <= fisher(Side(k, n), Side(later_k, later_n)) + 1e-12


@pytest.mark.parametrize(
    ("parts", "value", "worth"),
    [
        ([(50, 100)] * 10, 0.5, 10),
        ([(0, 10), (1000, 1000)], 1000 / 1010, 1010**2 / (10**2 + 1000**2)),
    ],
    ids=["equal weights", "one that outweighs the other"],
)
def test_a_share_of_tokens_is_worth_its_prompts(parts, value, worth):
    """And not its tokens, which are cached together."""
    assert (weighted(parts).value, weighted(parts).worth) == (pytest.approx(value), pytest.approx(worth))


def test_a_gap_of_shares_has_its_interval():
    """It holds nothing only where they are surely apart."""
    assert gap(Share(0.9, 100), Share(0.1, 100), 0.005)[1] < 0
    low, high = gap(Share(0.9, 3), Share(0.5, 3), 0.005)
    assert low < 0 < high
