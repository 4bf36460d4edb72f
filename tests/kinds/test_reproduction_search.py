"""The smallest failing part is found by asking, whatever the rule is and though it lets requests through."""

from __future__ import annotations

from math import ceil, log2
from random import Random

import pytest
from planted_walls import RIGHT, WRONG, Score, Wall, opened, run

from probes.kinds.reproduction.evidence import BUDGET, WIDE, Evidence, Halted
from probes.kinds.reproduction.experiment import isolating
from probes.kinds.reproduction.search import causes, substring, threshold

SEEDS = range(200)
PARTS = 20
SHARES = [0.0, 0.1, 0.3]
PLANTED = {
    "single header": [1],
    "pair": [2],
    "triple": [3],
    "either of two": [1, 1],
    "a pair or one": [2, 1],
}


def check(score, share):
    assert score.right >= RIGHT * score.seen, score
    assert score.wrong <= (WRONG * score.seen if share else 0), score
    assert score.most <= (WIDE if share else BUDGET), score


def planted(sizes, rng):
    """Sets of parts that the rule is for."""
    names = [f"part {number}" for number in range(PARTS)]
    chosen = rng.sample(names, sum(sizes))
    sets = []
    for size in sizes:
        sets.append(frozenset(chosen[:size]))
        chosen = chosen[size:]
    return names, sets


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("sizes", PLANTED.values(), ids=PLANTED)
def test_the_planted_parts_are_found(sizes, share):
    """In nearly all repetitions, within the budget, and none of them names another part with confidence."""
    score = Score()
    for seed in SEEDS:
        rng = Random(seed)
        names, sets = planted(sizes, rng)
        wall = Wall(lambda parts, sets=sets: any(one <= parts for one in sets), share, rng)
        evidence = opened(wall, frozenset(names), frozenset())
        if not evidence.of(frozenset(names)).k:
            score.unseen += 1
            continue
        found = run(causes(evidence, names), wall)
        known = {cause.parts for cause in found.causes} == set(sets)
        score.count("unsure" if not found.whole else "right" if known else "wrong", wall.asked)
        if found.halted:
            left = set(found.suspects).union(*(cause.parts for cause in found.causes))
            assert all(one & left for one in sets), "the suspects that are left hold the cause"
    check(score, share)


@pytest.mark.parametrize("share", [0.05, 0.12, 0.2, 0.35, 0.7])
def test_what_strikes_everybody_names_no_part(share):
    """Requests that are refused by chance, whatever is in them: the control is asked until that shows, or nothing is
    named.
    """
    names = [f"part {number}" for number in range(PARTS)]
    named = seen = 0
    for seed in range(500):
        wall = Wall(lambda _: True, 1 - share, Random(seed))
        evidence = opened(wall, frozenset(names), frozenset())
        if not evidence.of(frozenset(names)).k:
            continue
        seen += 1
        if evidence.of(frozenset()).k:
            continue
        named += bool(run(isolating(evidence, names), wall).causes)
        assert wall.asked <= WIDE
    assert named <= WRONG * seen, (named, seen)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_rule_that_lets_some_through_is_still_found(share):
    """Asking the control again leaves enough of the budget for the search."""
    score = Score()
    for seed in SEEDS:
        rng = Random(seed)
        names, [planted_] = planted([1], rng)
        wall = Wall(lambda parts, planted_=planted_: planted_ <= parts, share, rng)
        evidence = opened(wall, frozenset(names), frozenset())
        if not evidence.of(frozenset(names)).k:
            score.unseen += 1
            continue
        found = run(isolating(evidence, names), wall)
        right = {cause.parts for cause in found.causes} == {planted_}
        score.count("unsure" if not found.whole else "right" if right else "wrong", wall.asked)
    check(score, share)


@pytest.mark.parametrize("parts", [1, 2, 3, 8, 20, 64])
def test_a_culprit_that_always_fires_costs_few_requests(parts):
    """Of n headers one is found with no more than 2 log2 n + 6 different requests, wherever it stands."""
    names = [f"part {number}" for number in range(parts)]
    for name in names:
        wall = Wall(lambda asked, name=name: name in asked, 0.0, Random(1))
        evidence = opened(wall, frozenset(names), frozenset())
        found = run(causes(evidence, names), wall)
        assert [cause.parts for cause in found.causes] == [{name}]
        assert len(wall.distinct) <= 2 * log2(parts) + 6
        assert wall.asked <= 5 + 5 + 3 * ceil(log2(parts) + 1) + 8


def repeated(share, make):
    """`make`: a seeded rule, the failing and the passing question, the search and what it must find."""
    score = Score()
    for seed in SEEDS:
        rng = Random(seed)
        rule, fails, passes, search, wanted = make(rng)
        wall = Wall(rule, share, rng)
        evidence = opened(wall, fails, passes)
        if not evidence.of(fails).k:
            score.unseen += 1
            continue
        try:
            found = run(search(evidence), wall)
        except Halted:
            score.count("unsure", wall.asked)
            continue
        score.count("right" if found == wanted else "wrong", wall.asked)
    return score


@pytest.mark.parametrize("share", SHARES)
def test_a_size_is_found_to_the_byte(share):
    """By binary search, in which a size that passed by luck is found out."""

    def make(rng):
        least = rng.randint(2, 60_000)
        return (
            lambda size: size >= least,
            60_000,
            0,
            lambda evidence: threshold(evidence, lambda size: size, [0], 60_000),
            (least - 1, least),
        )

    check(repeated(share, make), share)


@pytest.mark.parametrize("share", SHARES)
def test_the_smallest_text_is_found(share):
    """Its end first, then its start."""

    def make(rng):
        start = rng.randint(0, 3_900)
        end = start + rng.randint(1, 40)
        return (
            lambda piece: piece[0] <= start and piece[1] >= end,
            (0, 4_000),
            (0, 0),
            lambda evidence: substring(evidence, lambda *piece: piece, 4_000),
            (start, end),
        )

    check(repeated(share, make), share)


@pytest.mark.parametrize("share", SHARES)
def test_what_went_away_is_noticed(share):
    """A failing request that does not fail any more at the end is said not to, however often it failed before."""
    for seed in SEEDS:
        wall = Wall(lambda parts: "part 3" in parts, share, Random(seed), gone_after=30)
        names = [f"part {number}" for number in range(PARTS)]
        evidence = opened(wall, frozenset(names), frozenset())
        for _ in range(30):
            wall(frozenset())
        try:
            assert not run(evidence.still_fails(frozenset(names)), wall)
        except Halted:  # so seldom a failure that no number of passes proves its end
            assert evidence.of(frozenset(names)).k < 3


def test_what_is_still_so_is_said_to_be():
    """A rule that lets three in ten through is still seen at the end."""
    missed = 0
    for seed in SEEDS:
        wall = Wall(lambda parts: "part 3" in parts, 0.3, Random(seed))
        every = frozenset({"part 3"})
        evidence = opened(wall, every, frozenset())
        if evidence.of(every).k:
            try:
                missed += not run(evidence.still_fails(every), wall)
            except Halted:
                continue
    assert missed <= WRONG * len(SEEDS)


def test_a_search_ends_at_its_budget_and_says_what_is_left():
    """It names no cause, and the one that there is stands among the suspects."""
    names = [f"part {number}" for number in range(PARTS)]
    for number in range(12, 22):
        wall = Wall(lambda parts: {"part 3", "part 11", "part 17"} <= parts, 0.0, Random(1))
        evidence = opened(wall, frozenset(names), frozenset())
        evidence.budget = number
        found = run(causes(evidence, names), wall)
        assert (found.halted, found.whole, found.causes) == ("budget", False, [])
        assert {"part 3", "part 11", "part 17"} <= set(found.suspects)
        assert wall.asked == number


def test_answers_that_say_nothing_end_a_question():
    """Another error is neither a failure as told nor a pass, and three of them in a row are enough."""
    search = Evidence().fails("x")
    next(search)
    search.send(None)
    search.send(None)
    with pytest.raises(Halted, match="silent"):
        search.send(None)
