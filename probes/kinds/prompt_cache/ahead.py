"""What can the experiment with the prompt cache cost, and what can its samples show, before anything is sent?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from probes.costs import PROMPT_TOKENS, of_filler
from probes.kinds.prompt_cache.ages import EACH
from probes.kinds.prompt_cache.evidence import MATTERS
from probes.kinds.prompt_cache.judge import MORE
from probes.kinds.prompt_cache.rounds import FURTHER
from probes.kinds.prompt_cache.search import SEARCH
from probes.kinds.prompt_cache.trials import CAP, SIZES, SOON
from probes.kinds.spec import Bound
from probes.sampling import SURE
from probes.twins import wilson

if TYPE_CHECKING:
    from probes.model import Case

WARM_UP = 2
MOST_TIMES = 2
"""That further rounds are asked: some of theirs may have to be left out, too."""
_LONG, _SHORT, _READS = 6, 2, 2
"""Long prompts of a round, short controls, and those of the long ones that are reads."""
_KEYED = 6
"""Long prompts of a round that asks with a key, too, and has no lines."""
_SECONDS = 0.3
"""That a request takes on a server that answers at once."""


def bound(case: Case) -> Bound:
    repeats, ages = int(case.params["repeats"]), list(case.params["ages"])
    more = max(MOST_TIMES * repeats, MORE)
    long = SEARCH + _LONG * repeats + _KEYED * more + 5 * FURTHER + 2 * EACH * len(ages)
    short = WARM_UP * len(case.clients) + _SHORT * (repeats + more)
    waits = float(case.params["settle"]) + 2 * repeats * SOON + max(map(float, ages), default=0.0)
    tokens = _tokens(long, short, int(case.params["prompt_tokens"]))
    return Bound(long + short, tokens, waits + (long + short) * _SECONDS)


def foretold(case: Case) -> list[str]:
    """What it takes where all goes well, and what so many samples can show."""
    repeats, most = int(case.params["repeats"]), bound(case)
    smallest = min(SIZES[0], int(case.params["prompt_tokens"]))
    ages = 2 * EACH * len(list(case.params["ages"]))
    long, short = 2 + _LONG * repeats + ages, WARM_UP + _SHORT * repeats
    budget = case.target.budget.tokens
    short_of = ""
    if budget is not None and budget < most.tokens:
        short_of = f"; --max-tokens-total {most.tokens} bears that, too"
    reads = _READS * repeats
    return [
        (
            f"{long + short} requests, at most {_tokens(long, short, smallest):,} tokens, where prompts of {smallest:,} tokens are "
            f"cached and told of; up to {most.requests} and {most.tokens:,} where they are not{short_of}"
        ),
        (
            f"{reads} reads: if all hit, at least {_percent(wilson(reads, reads)[0])} of such reads do, if none, at most "
            f"{_percent(wilson(0, reads)[1])} (95 %); if some do, {(1 + MOST_TIMES) * reads} reads tell their share to "
            f"{_half((1 + MOST_TIMES) * reads)} points"
        ),
        _by_time(repeats),
    ]


def _by_time(repeats: int) -> str:
    chance = math.comb(2 * repeats, repeats)
    if 1 / chance > SURE:
        fewest = next(n for n in range(repeats, 100) if 1 / math.comb(2 * n, n) <= SURE)
        return f"times: {repeats} of each arm tell nothing, whatever they are: --set repeats={fewest}"
    return (
        f"times: {repeats} of each arm show a hit where all of its first tokens come sooner than those without one, their "
        f"middle by {_percent(1 - MATTERS)} or more; by chance that comes once in {chance:,} runs"
    )


def _tokens(long: int, short: int, size: int) -> int:
    """As the budget books them."""
    return long * of_filler(size) + (long + short) * (PROMPT_TOKENS + CAP)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _half(n: int) -> str:
    """Half the interval's width, where it is widest."""
    low, high = wilson(n / 2, n)
    return f"±{100 * (high - low) / 2:.0f}"
