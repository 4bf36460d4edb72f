"""What does a customer feel of a long request that is not streamed, when his SDK repeats it by itself?

A mode of its own, apart from the measurement: none of its figures is a cutoff, and the measurement sends without retries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.attempts import ATTEMPTS, LONGEST_PAUSE
from probes.budget import worst_case
from probes.client_rules import SDKS
from probes.kinds.conclude import not_sent
from probes.kinds.length import means as how
from probes.kinds.length.door import let_in
from probes.kinds.length.experienced import experienced
from probes.kinds.length.limits import in_words
from probes.kinds.length.pace import (
    LONGEST_HOLD,
    PATIENCE,
    TOKENS,
    by_preference,
    deadline_for,
    endpoint_of,
    hold_for,
)
from probes.kinds.length.side import Side
from probes.kinds.spec import Bound
from probes.model import Ask, Trial
from probes.twins import one

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from probes.kinds.length.door import Further
    from probes.kinds.length.pace import Pace
    from probes.model import Call, Case, Client, Flow

_DOING = "a long request was left to an SDK and its retries"


def experience(case: Case) -> Flow:
    """The first SDK that is let in, with the retries that it has by default; a short stream tells the pace before it."""

    def held(client: Client, pace: Pace, salts: Iterator[str]) -> Further:
        hold = hold_for(case, pace.products)
        call = yield from _retried(case, client, pace, hold, next(salts))
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, _DOING, [call])]
        return call if Side(call).turned_away else experienced(case, call, hold)

    return (yield from let_in(case, _with_retries(case), held))


def unfit(case: Case) -> str | None:
    return None if _with_retries(case) else "none of its clients is an SDK with retries of its own"


def bound(case: Case) -> Bound:
    """Every SDK may be the one that is let in; never above the target's budget, to which the cap is lowered."""
    clients = len(_with_retries(case))
    cap = int(case.params["tokens"] or case.params["most_tokens"])
    read, made = worst_case(Trial("", "", case.route, _ask(case, cap)))
    tokens = clients * (2 * (read + TOKENS) + ATTEMPTS * (read + made))
    budget = case.target.budget.tokens
    if case.params["tokens"] is None and budget is not None:
        tokens = min(tokens, budget)
    longest = float(case.params["hold"] or LONGEST_HOLD)
    seconds = PATIENCE + _deadline(case, longest) + (ATTEMPTS - 1) * LONGEST_PAUSE
    return Bound(clients * (2 + ATTEMPTS) + how.LESSONS, tokens, seconds)


def foretold(case: Case) -> list[str]:
    client, hold = _with_retries(case)[0], hold_for(case, ())
    limits = in_words(client, _deadline(case, hold), case.target.limits.body_mib, retries=ATTEMPTS - 1)
    return [
        f"one call of {client.name}, to be held {hold:g} s, with the SDK's own retries",
        f"limits: {limits}",
    ]


def _with_retries(case: Case) -> list[Client]:
    return [client for client in by_preference(case) if client.kind in SDKS]


def _ask(case: Case, cap: int) -> Ask:
    tokens = int(case.params["prompt_tokens"])
    return Ask(endpoint_of(case), recipe="count", cap=cap, prompt_tokens=tokens)


def _deadline(case: Case, hold: float) -> float:
    """Of all attempts together, each of which is held as long."""
    return deadline_for(case, None) if case.params["deadline"] is not None else ATTEMPTS * hold


def _retried(
    case: Case, client: Client, pace: Pace, hold: float, salt: str
) -> Generator[Sequence[Trial], list[Call], Call]:
    """With a cap that is lowered to what the budget bears for all attempts."""
    means = how.first(case, client, pace, hold)
    label = f"length/{client.name}/retried"
    trial = Trial(
        label, client.name, case.route, means.ask, deadline=_deadline(case, hold), salt=salt, retries=True
    )
    call = yield from one(trial)
    lowered = how.lowered(means, [call])
    return call if lowered is None else (yield from one(replace(trial, request=lowered.ask)))
