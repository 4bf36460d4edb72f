"""What can a long case cost, and what is known of it before anything is sent?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.budget import Governor, worst_case
from probes.clock import Clock
from probes.kinds.length import means as how
from probes.kinds.length.limits import in_words
from probes.kinds.length.pace import (
    MOST_COMMON,
    PATIENCE,
    TOKENS,
    by_preference,
    deadline_for,
    endpoint_of,
    hold_for,
    short,
)
from probes.kinds.spec import Bound
from probes.model import Ask, NotSent, Trial, unsent
from probes.prices import cost, prices

if TYPE_CHECKING:
    from probes.model import Call, Case, Finding, Flow

_FURTHER = 2
"""Means that may be tried after the first."""
_WORTH_IT = 5.0
"""Seconds: with fewer left nothing long is begun."""


def bound(case: Case) -> Bound:
    """Every client may be the one that is let in, and that only at its last pair; never above the target's budget.
    All clients share the seconds, which `within` keeps.
    """
    pairs, clients = int(case.params["pairs"]), len(case.clients)
    tries = clients + (_FURTHER if case.params["tokens"] is None else 0)
    requests = tries * (2 + 2 * pairs) + how.LESSONS
    read, made = _worst(case, _cap(case))
    sampled, _ = _worst(case, TOKENS)
    tokens = tries * (2 * (sampled + TOKENS) + 2 * pairs * (read + made))
    budget = case.target.budget.tokens
    if case.params["tokens"] is None and budget is not None:
        tokens = min(tokens, budget)
    holding = pairs * deadline_for(case, hold_for(case, ()))
    times = 1 if case.params["tokens"] is not None else 2  # by other means, where the first were too short
    return Bound(requests, tokens, times * (PATIENCE + holding))


def within(case: Case, flow: Flow, seconds: float) -> Flow:
    """The flow, with no request that lasts longer than what is left of so many seconds, nor one that starts after them.
    Kept by what its calls took, so that a replay decides the same.
    """
    left, calls = seconds, list["Call"]()
    try:
        trials = next(flow)
        while True:
            if left < _WORTH_IT:
                calls = [_too_late(case, trial, seconds) for trial in trials]
            else:
                calls = yield [_at_most(case, trial, left) for trial in trials]
                left -= max(map(_took, calls), default=0.0)
            trials = flow.send(calls)
    except StopIteration as done:
        found: list[Finding] = done.value
        return found


def _at_most(case: Case, trial: Trial, left: float) -> Trial:
    asked = case.target.limits.deadline if trial.deadline is None else trial.deadline
    return trial if asked <= left else replace(trial, deadline=left)


def _too_late(case: Case, trial: Trial, seconds: float) -> Call:
    return unsent(
        case, trial, 0, NotSent.BUDGET, f"the {seconds:.0f} s that a plan foretells at the most are used up"
    )


def _took(call: Call) -> float:
    paused = sum(float(exchange.conditions.get("paused", 0.0)) for exchange in call.exchanges)
    return sum(exchange.timeline.end or 0.0 for exchange in call.exchanges) + paused


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
        (
            f"holds {hold:g} s, {said}; by {_means(case)}; about {int(case.params['pairs']) * hold * 1.1:.0f} s where the server "
            "stays as fast as its short stream"
        ),
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
            (
                f"each side up to {int(case.params['tokens']):,} tokens, as given{_money(case, int(case.params['tokens']))}"
                f"{_not_borne(case)}"
            )
        ]
    most, rows = _borne(case, _cap(case)), []
    if case.params["tpot"] is not None:
        cap = min(how.tokens_for(hold, float(case.params["tpot"])), most)
        rows.append(
            f"each side about {cap:,} tokens at {float(case.params['tpot']) * 1000:g} ms a token{_money(case, cap)}"
        )
    else:
        rows.append(
            "each side as many tokens as a short stream shows to be needed (--set tpot=SECONDS foretells it)"
        )
    by = "most_tokens" if most == _cap(case) else "what the budget bears"
    rows.append(f"ceiling: {most:,} tokens a side, by {by} (--set most_tokens=N){_money(case, most)}")
    return rows


def _borne(case: Case, cap: int) -> int:
    """The largest cap of a pair, up to `cap`, that the target's budget bears after the short stream."""
    client, governor = by_preference(case)[0], Governor(case.target, Clock())
    governor.reserve([short(case, client, "", int(case.params["prompt_tokens"]))])
    ask = Ask(endpoint_of(case), recipe="count", cap=cap, prompt_tokens=int(case.params["prompt_tokens"]))
    return governor.most(
        [Trial(side, client.name, case.route, ask, pair="twin") for side in ("control", "variant")]
    )


def _not_borne(case: Case) -> str:
    fits = _borne(case, _cap(case)) == _cap(case)
    return "" if fits else "; that is more than the budget bears, so nothing long is sent"


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
