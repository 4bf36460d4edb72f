"""What does a customer feel of a long request that is not streamed, when his SDK repeats it by itself?

A mode of its own, apart from the measurement: none of its figures is a cutoff, and the measurement sends without retries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.attempts import ATTEMPTS, LONGEST_PAUSE
from probes.budget import worst_case
from probes.client_rules import SDKS
from probes.kinds.conclude import by_outcome, not_sent
from probes.kinds.length import means as how
from probes.kinds.length.experienced import experienced
from probes.kinds.length.judge import all_refused
from probes.kinds.length.limits import in_words
from probes.kinds.length.pace import TOKENS, Pace, deadline_for, endpoint_of, hold_for, short_stream, tells
from probes.kinds.length.side import Side
from probes.kinds.length.twin import by_preference, fresh
from probes.kinds.length.twin import lowered as means_lowered
from probes.kinds.spec import Bound
from probes.model import Ask, Trial
from probes.twins import one

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Client, Flow

_DOING = "a long request was left to an SDK and its retries"


def experience(case: Case) -> Flow:
    """The first SDK that is let in, with the retries that it has by default; a short stream tells the pace before it."""
    salts, refused = fresh(case), list["Call"]()
    for client in _with_retries(case):
        call = yield from one(short_stream(case, client, next(salts), int(case.params["prompt_tokens"])))
        if call.not_sent is None and not Side(call).turned_away:
            if not tells(call):
                return by_outcome(case, [call], "a short stream")
            pace = Pace.of(call)
            hold = hold_for(case, pace.products)
            call = yield from _retried(case, client, pace, hold, next(salts))
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, _DOING, [call])]
        if not Side(call).turned_away:
            return experienced(case, call, hold)
        refused.append(call)
    return [all_refused(case, refused)]


def unfit(case: Case) -> str | None:
    return None if _with_retries(case) else "none of its clients is an SDK with retries of its own"


def bound(case: Case) -> Bound:
    """Every SDK may be the one that is let in; never above the target's budget, to which the cap is lowered."""
    clients = len(_with_retries(case))
    cap = int(case.params["tokens"] or case.params["most_tokens"])
    read, made = worst_case(Trial("", "", case.route, _ask(case, cap)))
    tokens, budget = clients * (read + TOKENS + ATTEMPTS * (read + made)), case.target.budget.tokens
    if case.params["tokens"] is None and budget is not None:
        tokens = min(tokens, budget)
    seconds = ATTEMPTS * hold_for(case, ()) + (ATTEMPTS - 1) * LONGEST_PAUSE
    return Bound(clients * (1 + ATTEMPTS), tokens, seconds)


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
    lowered = means_lowered(means, [call])
    return call if lowered is None else (yield from one(replace(trial, request=lowered.ask)))
