"""How fast are answers attributed, and what do more signatures cost?

`uv run python tests/bench/attribution.py [ROUNDS]` prints JSON: microseconds an answer with the first quarter of the
signatures, with half of them, with all, and with four times as many; `ratio` is the last step's: 4 is linear.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from exchanges import exchange

from probes.attribution import attribute
from probes.signatures import Catalogue, catalogue


def best(rounds: int, work) -> float:
    """Seconds of the fastest round: the rest is other people's work."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def sized(share: float) -> Catalogue:
    """The bundled catalogue with `share` of its signatures, evenly picked, or each several times."""
    whole = catalogue()
    if share >= 1:
        return replace(whole, signatures=tuple(one for one in whole.signatures for _ in range(int(share))))
    return replace(whole, signatures=whole.signatures[:: round(1 / share)])


def main(rounds: int) -> dict[str, object]:
    answers = [
        exchange(sample.status, sample.body, sample.headers, url="")
        for one in catalogue().signatures
        for sample in one.row.samples
    ]
    costs = {}
    for share in (0.25, 0.5, 1, 4):
        known = sized(share)

        def judge(known: Catalogue = known) -> None:
            for answer in answers:
                attribute(answer, known)

        judge()
        costs[len(known.signatures)] = best(rounds, judge) / len(answers)
    *_, all_of_them, fourfold = costs.values()
    return {
        "bench": "attribution",
        "ratio": round(fourfold / all_of_them, 2),
        "n": rounds,
        "us_an_answer": {str(signatures): round(cost * 1e6, 1) for signatures, cost in costs.items()},
        "conditions": {
            "answers": len(answers),
            "from": "the samples of all signatures",
            "python": platform.python_version(),
            "statistic": "fastest round, warm",
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))
