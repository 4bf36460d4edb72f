"""Is a long answer cut when it is not streamed, at which second, and by whose clock?

The same prompt and length, both sides at once, only `stream` differs. A clock is evidence of its own: one pair is enough
when the failing side was ended at a measured time and the other outlived that time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from probes.kinds.conclude import not_sent
from probes.kinds.length import means as how
from probes.kinds.length.alone import alone
from probes.kinds.length.door import let_in
from probes.kinds.length.held import Held
from probes.kinds.length.judge import judged
from probes.kinds.length.pace import Pace, by_preference, deadline_for, hold_for, not_reached, short
from probes.kinds.length.pair import Pair
from probes.kinds.length.side import Side
from probes.kinds.length.uncut import by_itself, no_means
from probes.kinds.length.upstream import repeated_upstream
from probes.model import Ask, Call, Finding, NotSent, Trial
from probes.twins import one, unsent

if TYPE_CHECKING:
    from probes.kinds.length.door import Further
    from probes.kinds.length.means import Means
    from probes.model import Case, Client, Flow

Pairs = tuple[tuple[Pair, ...], "Means"]
Step = Generator[Sequence[Trial], list[Call], "Pairs | list[Finding]"]


def twin(case: Case) -> Flow:
    def held_open(client: Client, pace: Pace, salts: Iterator[str]) -> Further:
        if not pace.streams:
            return (yield from alone(case, client, pace, salts))
        held = yield from _held(case, client, pace, salts)
        if isinstance(held, list):
            return held
        if held.pairs[-1].refused:
            return next(side.call for side in held.pairs[-1].sides if side.turned_away)
        sent = [side.sent for pair in held.pairs for side in pair.sides if side.last is not None]
        return [*judged(case, held), *repeated_upstream(case, client.name, sent)]

    return (yield from let_in(case, by_preference(case), held_open))


def _held(
    case: Case, client: Client, pace: Pace, salts: Iterator[str]
) -> Generator[Sequence[Trial], list[Call], Held | list[Finding]]:
    """By the cheapest means first; by another where that is too short and nothing was cut."""
    goal = hold_for(case, pace.products)
    means: Means | str = how.first(case, client, pace, goal)
    if isinstance(means, how.Means) and case.params["means"] == "prefill" and not means.ask.prompt_tokens:
        means = yield from _prompted(case, client, how.short_answer(means), pace, goal, salts)
    if isinstance(means, str):
        return [no_means(case, client.name, means)]
    got = yield from _pairs(case, client, means, goal, salts)
    if isinstance(got, list):
        return got
    held = Held(*_with(got, pace, goal), not_reached(case, pace.products))
    if not _too_short(held) or not held.means.chosen or case.params["means"] != "auto":
        return held
    other = yield from _another(case, client, held, salts)
    if other is None or isinstance(other, str):
        return replace(held, remark=other)
    again = yield from _pairs(case, client, other, goal, salts)
    if isinstance(again, list) or again[0][-1].refused:
        return held
    further = Held(*_with(again, pace, goal))
    return held if further.whole and further.seconds < held.seconds else further


def _with(got: Pairs, pace: Pace, goal: float) -> tuple[tuple[Pair, ...], Pace, Means, float]:
    return got[0], pace, got[1], goal


def _too_short(held: Held) -> bool:
    return held.whole and held.seconds < held.goal


def _another(
    case: Case, client: Client, held: Held, salts: Iterator[str]
) -> Generator[Sequence[Trial], list[Call], Means | str | None]:
    """No end before the cap, where the model ended and its engine knows that; a longer answer, where the server was faster
    than the short stream; a long prompt, where the cap is too low.
    """
    plain, means = held.pairs[-1].plain, held.means
    if by_itself(plain):
        if (
            means.ask.endless
            or case.params["engine"] != "auto"
            or means.ask.endpoint != "chat"
            or case.target.api != "openai"
        ):
            return None
        call = yield from one(Trial(f"length/{client.name}/models", client.name, case.route, Ask("models")))
        made = call.last.attribution if call.last is not None else None
        known = made is not None and made.product in {"vLLM", "SGLang"}
        return replace(means, ask=replace(means.ask, endless=True)) if known else None
    if plain.cap == means.ask.cap and means.lowered is None:
        return how.longer(case, client, means, held.goal / held.seconds) if held.seconds else None
    if means.lowered == how.BUDGET or means.ask.prompt_tokens:
        return None
    capped = replace(means, ask=replace(means.ask, cap=plain.cap))
    return (yield from _prompted(case, client, capped, held.pace, held.goal, salts))


def _prompted(
    case: Case, client: Client, means: Means, pace: Pace, goal: float, salts: Iterator[str]
) -> Generator[Sequence[Trial], list[Call], Means | str]:
    """The means with a prompt as long as it takes, by another short stream; or why there is none."""
    sample = yield from one(short(case, client, next(salts), how.SAMPLE, "prefill"))
    if sample.last is None or not Side(sample).good:
        return "a long prompt could not be tried"
    return how.prefill(means, pace, Pace.of(sample), goal)


def _pairs(case: Case, client: Client, means: Means, goal: float, salts: Iterator[str]) -> Step:
    """As many pairs as are wanted, with a cap that is lowered to what the budget bears; a client that is
    refused gets no second one.
    """
    pairs: list[Pair] = []
    while len(pairs) < int(case.params["pairs"]):
        calls = yield pair_of(case, client, means.ask, goal, next(salts))
        why = unsent(calls)
        if why is NotSent.BUDGET and pairs:
            break  # what was seen is known
        less = how.lowered(means, calls) if not pairs else None
        if less is not None:
            means = less
            continue
        if why is not None:
            return [not_sent(case, why, how.HOLDING, calls)]
        pairs.append(Pair.of(calls))
        if pairs[-1].refused or any(call.last is None for call in calls):
            break
    return tuple(pairs), means


def pair_of(case: Case, client: Client, ask: Ask, goal: float, salt: str) -> list[Trial]:
    label = f"length/{client.name}"
    variant = Trial(
        f"{label}/variant", client.name, case.route, ask,
        deadline=deadline_for(case, goal), salt=salt, pair=label,
    )  # fmt: skip
    return [replace(variant, label=f"{label}/control", request=replace(ask, stream=True)), variant]
