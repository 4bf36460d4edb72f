"""What does it cost to find the one thing that a request is refused for?

`uv run python tests/bench/repro.py [SEEDS]` prints JSON. By cause, behind a rule that always fires and one that lets 30 %
through: `requests` (median, most), those as a share of the budget (`of_budget`, aim 1), and the CPU of a request in
multiples of what it takes to attribute one answer, which every request costs anyway (`cpu`). `ratio` is the
largest share of the budget of a rule that always fires.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path
from random import Random
from statistics import median

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "kinds")]

from canned import answer  # noqa: E402
from planted_rules import RULES, outcome  # noqa: E402

from probes.attribution import attribute  # noqa: E402
from probes.kinds.reproduction.evidence import BUDGET, WIDE  # noqa: E402
from probes.signatures import catalogue  # noqa: E402

BUDGETS = {0.0: BUDGET, 0.3: WIDE}
ALIKE = 200


def attributing() -> float:
    """CPU seconds of one answer, the fastest of some rounds."""
    found, known = answer("refused"), catalogue()
    rounds = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(ALIKE):
            attribute(found, known)
        rounds.append((time.process_time() - began) / ALIKE)
    return min(rounds)


def cost(planted, share, seeds, one):
    """What came of it, by how often, beside what it took."""
    asked, outcomes, began = [], {}, time.process_time()
    for seed in range(seeds):
        rng = Random(seed)
        said, sent = outcome(planted(rng), share, rng)
        asked.append(sent)
        outcomes[said] = outcomes.get(said, 0) + 1
    spent = time.process_time() - began
    return {
        "requests": {"median": median(asked), "most": max(asked)},
        "of_budget": round(max(asked) / BUDGETS[share], 2),
        "cpu": round(spent / sum(asked) / one, 1),
        "outcomes": outcomes,
    }


def main(seeds):
    one = attributing()
    found = {
        f"lets {share:.0%} through": {rule.__name__: cost(rule, share, seeds, one) for rule in RULES}
        for share in BUDGETS
    }
    always = [each["of_budget"] for each in found["lets 0% through"].values()]
    return {
        "bench": "repro",
        "ratio": max(always),
        "n": seeds,
        "causes": found,
        "conditions": {
            "python": platform.python_version(),
            "budgets": [BUDGET, WIDE],
            "attributing_us": round(one * 1e6),
            "cpu": "of the search alone: nothing is sent",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)))
