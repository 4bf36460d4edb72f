"""What can a curve cost, and what can its samples show, before anything is sent?"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from probes.costs import PROMPT_TOKENS, of_filler
from probes.kinds.spec import Bound
from probes.kinds.ttft_curve import fit
from probes.kinds.ttft_curve.findings import GROWS
from probes.sampling import DRIFTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Case

CONTROLS = 2
"""Requests between two controls."""
_SECONDS = 60.0
_SCATTERS = (0.05, 0.2)
"""Of the answers of one length, by their standard deviation."""
_LONGEST = 4.0
"""TTFT of the longest prompt by that of the shortest one, in what is foretold."""
_TRIED = 200


def lengths(case: Case) -> list[int]:
    return sorted({int(length) for length in case.params["lengths"]})


def bound(case: Case) -> Bound:
    of_each, repeats = lengths(case), int(case.params["repeats"])
    long = 1 + repeats
    controls = len(case.clients) + 1 + repeats * -(-len(of_each) // CONTROLS)
    requests = controls + long * len(of_each)
    tokens = long * sum(map(of_filler, of_each))
    return Bound(requests, tokens + requests * (PROMPT_TOKENS + int(case.params["cap"])), _SECONDS)


def foretold(case: Case) -> list[str]:
    """How sure its speed can be, by how much answers scatter, and what it takes for one to be told at all."""
    of_each, repeats = lengths(case), int(case.params["repeats"])
    controls = 1 + repeats * -(-len(of_each) // CONTROLS)
    most = bound(case).tokens
    budget = case.target.budget.tokens
    sure, scatter = (
        " or ".join(f"{100 * share:.0f} %" for share in shares)
        for shares in ([_off(of_each, repeats, each) for each in _SCATTERS], _SCATTERS)
    )
    notes = [
        (
            f"{repeats} samples of each of {len(of_each)} lengths, prompts of {of_each[0]:,} to {of_each[-1]:,} tokens, tell a prefill speed "
            f"within {sure} where answers of one length scatter by {scatter} (95 %, the longest prompt {_LONGEST:g} times as slow as the shortest)"
        ),
        (
            f"none is told where TTFT grows by less than {100 * GROWS:.0f} % from the shortest prompt to the longest, nor where {controls} "
            f"controls show that the server changed its own pace by {100 * (DRIFTS - 1):.0f} % or more"
        ),
    ]
    if budget is not None and budget < most:
        notes.append(
            f"the budget of {budget:,} tokens may end it early: --max-tokens-total {most} bears all of it"
        )
    return notes


def _off(of_each: Sequence[int], repeats: int, scatter: float) -> float:
    """Share by which the slope misses the true one in 19 of 20 simulated curves."""
    rng, first, last = Random(1), of_each[0], of_each[-1]  # noqa: S311 - not for secrets
    true = (_LONGEST - 1) / max(last - first, 1)
    missed = []
    for _ in range(_TRIED):
        points = {
            n: [(1 + true * (n - first)) * max(rng.gauss(1, scatter), 0.01) for _ in range(repeats)]
            for n in of_each
        }
        missed.append(abs(fit.line(points).slope / true - 1))
    return sorted(missed)[int(0.95 * _TRIED)]
