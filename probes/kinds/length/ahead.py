"""What can a long case cost, and what is known of it before anything is sent?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.budget import worst_case
from probes.kinds.length import means as how
from probes.kinds.length.limits import in_words
from probes.kinds.length.pace import MOST_COMMON, TOKENS, deadline_for, endpoint_of, hold_for
from probes.kinds.length.twin import by_preference
from probes.kinds.spec import Bound
from probes.model import Ask, Trial
from probes.prices import cost, prices

if TYPE_CHECKING:
    from probes.model import Case

_FURTHER = 2
"""Means that may be tried after the first."""


def bound(case: Case) -> Bound:
    """Every client may be the one that is let in, and that only at its last pair; never above the target's budget."""
    pairs, clients = int(case.params["pairs"]), len(case.clients)
    tries = clients + (_FURTHER if case.params["tokens"] is None else 0)
    requests = tries * (1 + 2 * pairs)
    read, made = _worst(case, _cap(case))
    sampled, _ = _worst(case, TOKENS)
    tokens = tries * (sampled + TOKENS + 2 * pairs * (read + made))
    budget = case.target.budget.tokens
    if case.params["tokens"] is None and budget is not None:
        tokens = min(tokens, budget)
    return Bound(requests, tokens, pairs * hold_for(case, ()) * 1.1)


def foretold(case: Case) -> list[str]:
    """Means, seconds, tokens and money of the pair that holds, and every limit that is set."""
    hold = hold_for(case, ())
    client = by_preference(case)[0]
    said = (
        "as given"
        if case.params["hold"] is not None
        else f"as for {MOST_COMMON}, until the product is recognised"
    )
    return [
        f"holds {hold:g} s, {said}; by {_means(case)}",
        *_length(case, hold),
        f"limits: {in_words(client, deadline_for(case, hold), case.target.limits.body_mib)}",
    ]


def _means(case: Case) -> str:
    wanted, prompt = case.params["means"], int(case.params["prompt_tokens"])
    if prompt:
        return f"a prompt of about {prompt:,} tokens and a long answer"
    words = {
        "auto": "reasoning where the model does it, else a long answer, else a long prompt",
        "reasoning": "reasoning",
        "output": "a long answer",
        "prefill": "a long answer, then a long prompt",
    }
    return words[wanted]


def _length(case: Case, hold: float) -> list[str]:
    if case.params["tokens"] is not None:
        return [
            f"each side up to {int(case.params['tokens']):,} tokens, as given{_money(case, int(case.params['tokens']))}"
        ]
    most, rows = _cap(case), []
    if case.params["tpot"] is not None:
        cap = min(how.tokens_for(hold, float(case.params["tpot"])), most)
        rows.append(
            f"each side about {cap:,} tokens at {float(case.params['tpot']) * 1000:g} ms a token{_money(case, cap)}"
        )
    else:
        rows.append(
            "each side as many tokens as a short stream shows to be needed (--set tpot=SECONDS foretells it)"
        )
    budget = case.target.budget
    or_budget = (
        "" if budget.tokens is None and budget.usd is None else ", or what the budget bears if that is less"
    )
    rows.append(f"ceiling: {most:,} tokens a side (--set most_tokens=N){or_budget}{_money(case, most)}")
    return rows


def _cap(case: Case) -> int:
    given = case.params["tokens"]
    return int(given) if given is not None else int(case.params["most_tokens"])


def _worst(case: Case, cap: int) -> tuple[int, int]:
    ask = Ask(endpoint_of(case), recipe="count", cap=cap, prompt_tokens=int(case.params["prompt_tokens"]))
    return worst_case(Trial("", "", case.route, ask))


def _money(case: Case, cap: int) -> str:
    price = prices(case.target)
    if price is None:
        return ""
    pairs = int(case.params["pairs"])
    read, made = _worst(case, cap)
    return f", ${cost(price, 2 * pairs * read, 2 * pairs * made):.4f} for both"
