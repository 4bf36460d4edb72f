"""Of a told request and a rule that is known, the whole flow names the one thing, though the rule lets requests through."""

from __future__ import annotations

from random import Random

import pytest
from planted_rules import RULES, outcome
from planted_walls import RIGHT, WRONG, Score

from probes.kinds.reproduction.evidence import BUDGET, WIDE

SEEDS = range(40)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_what_is_planted_is_named(share):
    """Each rule in nearly all repetitions, and hardly ever another with confidence, within the budget."""
    scores = {}
    for planted in RULES:
        score = scores[planted.__name__] = Score()
        for seed in SEEDS:
            rng = Random(seed)
            score.count(*outcome(planted(rng), share, rng))
    for name, score in scores.items():
        assert score.right >= RIGHT * score.seen, (name, scores)
        assert score.most <= (WIDE if share or name.startswith("one_that") else BUDGET), (name, scores)
    assert sum(score.wrong for score in scores.values()) <= WRONG * len(SEEDS) * len(RULES), scores
