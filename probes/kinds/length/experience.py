"""What does a customer feel of a long request that is not streamed, when his SDK repeats it by itself?

A mode of its own, apart from the measurement: none of its figures is a cutoff, and the measurement sends without retries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.attempts import ATTEMPTS, LONGEST_PAUSE
from probes.budget import worst_case
from probes.client_rules import SDKS
from probes.kinds.by_us import told_of_us
from probes.kinds.conclude import conclude, not_sent, outcome_code
from probes.kinds.length import means as how
from probes.kinds.length.door import let_in
from probes.kinds.length.felt import Felt, conditions_of, repeated
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
from probes.kinds.length.upstream import repeated_upstream
from probes.kinds.spec import Bound
from probes.kinds.words import shown
from probes.model import Ask, Layer, NotSent, Observed, Reason, Trial
from probes.twins import one

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from probes.kinds.length.door import Further
    from probes.kinds.length.pace import Pace
    from probes.model import Call, Case, Client, Finding, Flow

_DOING = "a long request was left to an SDK and its retries"


def experience(case: Case) -> Flow:
    """The first SDK that is let in, with the retries that it has by default; a short stream tells the pace before it."""

    def held(client: Client, pace: Pace, salts: Iterator[str]) -> Further:
        hold = hold_for(case, pace.products)
        call = yield from _retried(case, client, pace, hold, next(salts))
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, _DOING, [call])]
        return call if Side(call).turned_away else _experienced(case, call, hold)

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


def _experienced(case: Case, call: Call, hold: float) -> list[Finding]:
    if call.last is None:
        return [_guarded(case, call)]
    felt = Felt(call)
    if felt.interrupted:
        return [not_sent(case, NotSent.INTERRUPTED, "an SDK repeated a long request")]
    found = repeated(case, felt) if len(felt.attempts) > 1 or felt.left_pausing else _once(case, felt, hold)
    return [found, *repeated_upstream(case, call.trial.client, felt.attempts)]


def _once(case: Case, felt: Felt, hold: float) -> Finding:
    """One request, so nothing was repeated: a good answer, or a failure that the SDK does not take for a passing one."""
    call, last = felt.call, felt.last
    told = _answered(felt, hold) if felt.good else told_of_us(case, last, [call.trial.client])
    why = f"{call.trial.client} does not repeat what fails so" if not (felt.good or felt.ended_by_us) else ""
    return conclude(
        case,
        told.pop("code", outcome_code(last)),
        last,
        client=call.trial.client,
        observed=Observed(int(not felt.good), 1),
        detail=(
            ("seen", f"{'; then '.join(map(shown, call.exchanges))}, with the SDK's own retries on"),
            *((("because", why),) if why else ()),
        ),
        conditions=conditions_of(case, felt),
        **told,
    )


def _answered(felt: Felt, hold: float) -> dict[str, Any]:
    """A pass only where the answer took as long as was to be held."""
    name = felt.call.trial.client
    if felt.waited >= hold:
        title = f"One call of {name} is one request, answered after {felt.waited:.1f} s; not tested beyond"
        return {"title": title, "figures": felt.figures}
    return {
        "code": "not_measured",
        "layer": Layer.PROBE,
        "product": None,
        "reason": Reason.STOPPED_EARLY,
        "title": f"An answer of {felt.waited:.1f} s does not show what a customer feels of one of {hold:g} s",
        "advice": "Ask for a longer answer (--set tokens=N), or hold for less (--set hold=S).",
    }


def _guarded(case: Case, call: Call) -> Finding:
    said = f"{call.raised.type}: {call.raised.text}" if call.raised else "nothing"
    return conclude(
        case,
        "client.guard",
        layer=Layer.CLIENT,
        client=call.trial.client,
        title=f"{call.trial.client} refuses to send so long a request that is not streamed",
        detail=(("seen", said),),
    )
