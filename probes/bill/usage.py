"""How many tokens do the requests of a run have, by its own usage?"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from probes.bill import NOT_TOLD, Month, Range, Traffic
from probes.costs import used
from probes.kinds.conclude import is_good
from probes.model import Ask
from probes.prices import prices
from probes.samples import cached_share

if TYPE_CHECKING:
    from probes.model import Run


REQUESTS = 1_000_000
"""A month, where nobody says how many."""
EXAMPLE = f"{REQUESTS:,} requests are an example: say --requests-per-month N"


class Used(NamedTuple):
    """Of `n` good answers that were counted, the means; `told` of them tell of a cache, the others may have had all of
    their prompt from it, or nothing. `arms`: whether the probe itself saw to it what was cached, so that their share is
    nobody's.
    """

    n: int
    told: int
    prompt: float
    output: float
    cached: Range
    prompts: tuple[int, int]
    """The shortest and the longest."""
    arms: bool = False


def of_run(run: Run) -> Used | None:
    """`None` where no good answer was counted."""
    prompts: list[int] = []
    outputs: list[int] = []
    cached = told = untold = 0
    arms = False
    for call in run.calls:
        if call.last is None or not isinstance(call.trial.request, Ask) or not is_good(call):
            continue
        usage = call.last.facts.get("usage")
        tokens, share = used(usage), cached_share(usage or {})
        if tokens is None or not tokens[0]:
            continue
        arms |= call.trial.request.arm is not None
        prompts.append(tokens[0] if share is None else share[1])
        outputs.append(tokens[1])
        if share is None:
            untold += tokens[0]
        else:
            told, cached = told + 1, cached + share[0]
    if not prompts:
        return None
    whole = sum(prompts)
    shares = NOT_TOLD if arms else Range(cached / whole, (cached + untold) / whole)
    return Used(
        len(prompts), told, fmean(prompts), fmean(outputs), shares, (min(prompts), max(prompts)), arms
    )


def month_of(run: Run) -> Month | None:
    """By its own usage alone; `None` where that or the prices are not known."""
    seen, price = of_run(run), prices(run.target)
    if seen is None or price is None:
        return None
    traffic = Traffic(REQUESTS, seen.prompt, seen.output, seen.cached)
    return Month(traffic, price, run.target, (EXAMPLE, taken(seen)))


def taken(seen: Used) -> str:
    shortest, longest = seen.prompts
    prompts = f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
    tell = (
        "how much of their prompts came from the cache was the probe's own doing"
        if seen.arms
        else f"{seen.told:,} of which tell of a cache"
    )
    return (
        f"the mean of the probe's own {seen.n:,} good answers, {tell}; their prompts of {prompts} "
        "tokens are not your customers': say --prompt-tokens, --cached-share, --output-tokens"
    )
