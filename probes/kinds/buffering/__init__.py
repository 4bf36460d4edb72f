"""Is a stream held back on its way, and by what of the request or the way does that come?

A stream that flows costs three requests: a small one, a large one, and where it can be one over HTTP/2. Only one that looks held is asked for again in every
way that differs from it in one factor, and of those that flow, three times beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.arrivals import How
from probes.kinds.buffering import findings as say
from probes.kinds.buffering import versions
from probes.kinds.buffering.growth import MOST_PAIRS, TIMES, growth
from probes.kinds.buffering.second import second
from probes.kinds.buffering.told import unlooked, untold, weighed
from probes.kinds.buffering.trials import Looked, Other, by_preference, held, large, longer, others, plain
from probes.kinds.conclude import not_sent, outcome_code
from probes.kinds.length.side import Side
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.streaming.baseline import CAP, PROOFS, learn, taken
from probes.twins import REPEATS, Twin, cells, one, unsent

if TYPE_CHECKING:
    from probes.model import Call, Case, Flow, Trial

_LONGER = 4
_WAYS = 5
"""Other streams at the most: identity, two of curl's, a small request, the origin route."""
_ASKING = "asking for a stream"


def buffering(case: Case) -> Flow:
    rng = case.rng
    for client in by_preference(case):
        small = plain(case, client.name, f"{rng.getrandbits(48):012x}")
        call = yield from one(small)
        if not _unreadable(call):
            break
    if call.not_sent is not None:
        return [not_sent(case, call.not_sent, _ASKING, [call])]
    [call], proof = yield from learn(case, [call])
    first = Looked(call)
    if not first.usable:
        return unlooked(case, call)
    flow = _looked_at(case, small, first)
    return (yield from (flow if proof is None else taken(flow, proof)))


def _unreadable(call: Call) -> bool:
    """By this client, which is refused, or left; another may see the bytes."""
    last = call.last
    return last is not None and (Side(call).turned_away or outcome_code(last) == "client.parser")


def _looked_at(case: Case, small: Trial, first: Looked) -> Flow:
    base, looked = small, first
    if first.arrivals.how is How.UNTOLD:
        base = longer(small, _LONGER)
        looked = Looked((yield from one(base)))
    elif first.as_made and int(case.params["prompt_tokens"]):
        base = large(case, small)
        looked = Looked((yield from one(base)))
    if looked.call.not_sent is not None:
        told = [say.fine(case, first, None)] if first.as_made else []
        return [*told, not_sent(case, looked.call.not_sent, _ASKING, [looked.call])]
    if looked.looks_held:
        return (yield from _by_what(case, base, looked, small))
    if looked.as_made or first.as_made:
        return (yield from second(case, base if looked.as_made else small, first, looked))
    if looked.usable:
        return (yield from _by_length(case, base, looked))
    return (yield from _by_length(case, small, first))


def _by_what(case: Case, base: Trial, looked: Looked, small: Trial) -> Flow:
    """Every other way once, at the same time; of those that flow, three times beside what does not."""
    ways = others(case, base, small)
    asked = [trial for way in ways for trial in (way.trial, way.held) if trial is not None]
    came = [Looked(call) for call in ((yield asked) if asked else [])]
    if (why := unsent([each.call for each in came])) is not None:
        return [not_sent(case, why, "looking for what holds a stream back", [each.call for each in came])]
    seen = dict(zip((trial.label for trial in asked), came, strict=True))
    flowing = [way for way in ways if seen[way.trial.label].as_made and _is_held(way, seen)]
    if not flowing:
        found = yield from _without_twin(case, base, looked)
        why_not = versions.why_not(case) or next(
            (versions.not_agreed(seen[way.trial.label].call) for way in ways if way.held is not None), None
        )
        return [versions.without(each, why_not) for each in found] if why_not is not None else found
    trials = [base, *(trial for way in flowing for trial in (way.trial, way.held) if trial is not None)]
    sides = yield from cells(trials, held, REPEATS)
    if (why := unsent([call for side in sides for call in side.calls])) is not None:
        return [not_sent(case, why, "repeating what holds a stream back")]
    by_label = dict(zip((trial.label for trial in trials), sides, strict=True))
    pairs = [
        (way.factor, Twin(by_label[way.trial.label], by_label[(way.held or base).label])) for way in flowing
    ]
    return [say.twins(case, looked, pairs)]


def _is_held(way: Other, seen: dict[str, Looked]) -> bool:
    if way.held is None:
        return True
    held_one = seen[way.held.label]
    return held_one.looks_held and versions.differ(held_one.call, seen[way.trial.label].call)


def _without_twin(case: Case, base: Trial, looked: Looked) -> Flow:
    """Nothing that was tried flows: either all is held before every fork of the way, or nothing is held at all."""
    seen = looked.arrivals
    if (why := say.proof(looked)) is not None or seen.how is How.STEPS or seen.opening:
        return [say.alone(case, looked, why)]
    return (yield from _by_length(case, base, looked))


def _by_length(case: Case, base: Trial, looked: Looked) -> Flow:
    """Of what arrival alone does not tell."""
    if say.made_at_once(looked):
        return [say.fine(case, looked, None)]
    if looked.arrivals.ours or not looked.arrivals.tokens:
        return [untold(case, looked)]
    grown = yield from growth(base, looked)
    if grown.unsent is not None:
        return [not_sent(case, grown.unsent, "asking for a longer stream beside the same one")]
    if not grown.pairs:
        return [untold(case, looked)]
    last = grown.pairs[-1].long
    if grown.held is False and last.usable and last.arrivals.how is How.STEPS:
        return [say.alone(case, last, say.proof(last))]
    return [weighed(case, looked, grown)]


def bound(case: Case) -> Bound:
    clients, cap = len(case.clients), int(case.params["tokens"])
    requests = clients + 1 + _WAYS + max(REPEATS * (1 + _WAYS), 4 * MOST_PAIRS)
    each = _LONGER * (1 + TIMES) * cap + int(case.params["prompt_tokens"])
    proofs = 1 + PROOFS
    return Bound(requests + proofs, requests * each + proofs * CAP, 15.0)


SPEC = KindSpec(
    flow=buffering,
    about="a stream as its bytes arrive: do they come as they are made, and what makes them wait",
    bound=bound,
    defaults={"tokens": 256, "prompt_tokens": 4000, "deadline": 120.0},
    limits={"tokens": (16, 100_000), "prompt_tokens": (0, 1_000_000), "deadline": (0.1, 3600)},
)
