"""Is a long answer cut when it is not streamed, at which second, and from how many tokens on?

A twin: the same prompt, long output, both sides at once, only `stream` differs. A clock is evidence of its own: one
pair is enough when the failing side was ended at a measured time and the other outlived that time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.attribution import is_refusal
from probes.budget import PROMPT_TOKENS
from probes.config import conversation
from probes.kinds.by_us import by_us
from probes.kinds.conclude import conclude, not_sent, outcome_code
from probes.kinds.length.cutoff import (
    conditions,
    first_byte_cut,
    is_timer,
    longest,
    same_time,
    speed,
    total_cut,
)
from probes.kinds.length.pair import Pair, evidence, good, last_of, waited
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import listed, shown
from probes.model import Ask, Confidence, Figure, Layer, Observed, Reason, Trial, Verdict
from probes.twins import unsent

if TYPE_CHECKING:
    from probes.model import Call, Case, Client, Finding, Flow


def length(case: Case) -> Flow:
    rng = case.rng
    refused: list[Pair] = []
    for client in _by_preference(case):
        pairs: list[Pair] = []
        while len(pairs) < int(case.params["pairs"]):
            calls = yield _pair(case, client, salt=f"{rng.getrandbits(48):012x}")
            why = unsent(calls)
            if why is not None:
                return [not_sent(case, why, "holding a long answer open")]
            pair = Pair(*calls)
            if pair.refused:
                refused.append(pair)
                break
            pairs.append(pair)
        if pairs:
            return [_judged(case, pairs)]
    return [_all_refused(case, refused)]


def _by_preference(case: Case) -> list[Client]:
    """The SDK that customers use first; one that the edge refuses can't hold anything open, so then the next."""
    return sorted(case.clients, key=lambda client: client.api != case.target.api)


def _pair(case: Case, client: Client, salt: str) -> list[Trial]:
    endpoint = conversation(case.target)
    ask = Ask(endpoint, recipe="count", cap=int(case.params["tokens"]))
    label = f"length/{client.name}"
    variant = Trial(
        f"{label}/variant", client.name, case.route, ask,
        deadline=float(case.params["deadline"]), salt=salt, pair=label,
    )  # fmt: skip
    return [replace(variant, label=f"{label}/control", request=replace(ask, stream=True)), variant]


def _all_refused(case: Case, pairs: list[Pair]) -> Finding:
    refusal = next(
        e for c in (pairs[-1].stream, pairs[-1].plain) if (e := c.last) is not None and is_refusal(e)
    )
    names = [pair.plain.trial.client for pair in pairs]
    return conclude(
        case,
        outcome_code(refusal),
        refusal,
        verdict=Verdict.INCONCLUSIVE,
        reason=Reason.BLOCKED,
        observed=Observed(len(pairs), len(pairs)),
        title="Long answers could not be tested: every client was refused",
        detail=(("seen", f"{listed(names)}: {shown(refusal)}"),),
    )


def _judged(case: Case, pairs: list[Pair]) -> Finding:
    if any(call.last is None for pair in pairs for call in (pair.stream, pair.plain)):
        return _not_even_sent(case, pairs)
    ended = [(pair, at) for pair in pairs if (at := pair.cut) is not None]
    cut = ended if same_time(ended) else [each for each in ended if is_timer(last_of([each[0]])[1], each[1])]
    if cut and max(at for _, at in cut) >= float(case.params["at_least"]):
        return first_byte_cut(case, [pair for pair, _ in cut], [at for _, at in cut], len(pairs))
    ages = [age for pair in pairs if (age := pair.same_age) is not None]
    if len(ages) == len(pairs):
        return total_cut(case, pairs, ages)
    calls = [call for pair in pairs for call in (pair.stream, pair.plain)]
    failed = [call for call in calls if call.last is not None and not good(call.last)]
    return _other_failure(case, calls, failed) if failed else _not_cut(case, pairs)


def _not_even_sent(case: Case, pairs: list[Pair]) -> Finding:
    """The guard of an SDK speaks for the side that left no exchange; what became of the other one is told beside it."""
    calls = [call for pair in pairs for call in (pair.stream, pair.plain)]
    guarded = next(call for call in calls if call.last is None)
    said = f"{guarded.raised.type}: {guarded.raised.text}" if guarded.raised else "nothing"
    others = "; ".join(f"{_side(call)}: {shown(call.last)}" for call in calls if call.last is not None)
    return conclude(
        case,
        "client.guard",
        layer=Layer.CLIENT,
        client=guarded.trial.client,
        confidence=Confidence.HIGH,
        title=f"{guarded.trial.client} refuses to send so long a request that is {_side(guarded)}",
        detail=(("seen", said), *((("beside", others),) if others else ())),
        evidence=evidence(pairs),
    )


def _other_failure(case: Case, calls: list[Call], failed: list[Call]) -> Finding:
    """Something failed, but not as a timer that only the plain side meets."""
    bad = failed[0].last
    assert bad is not None
    seen = "; ".join(f"{_side(call)}: {shown(call.last)}" for call in calls if call.last is not None)
    only_plain = all(_side(call) == "not streamed" for call in failed)
    why = (
        "only what was not streamed failed, but not as a timer does"
        if only_plain
        else "streaming is not the cause"
    )
    return conclude(
        case,
        outcome_code(bad),
        bad,
        **({"verdict": Verdict.INCONCLUSIVE, "reason": Reason.TOO_FEW} if by_us(bad) else {}),
        client=failed[0].trial.client,
        observed=Observed(len(failed), len(calls)),
        detail=(("seen", seen), ("because", why)),
        confidence=Confidence.LOW,
        evidence=tuple(call.last.id for call in calls if call.last is not None),
    )


def _side(call: Call) -> str:
    return "streamed" if isinstance(call.trial.request, Ask) and call.trial.request.stream else "not streamed"


def _not_cut(case: Case, pairs: list[Pair]) -> Finding:
    """No cut up to the time really held: a pass only where that is as long as was asked for."""
    stream, plain = last_of(pairs)
    held = min(waited(last_of([pair])[1], last_of([pair])[1].timeline.headers) or 0.0 for pair in pairs)
    hold = float(case.params["hold"])
    short = held < hold
    tokens = longest(stream, held)
    beyond = f"; longer answers (above {tokens:,} tokens at this speed) are not covered" if tokens else ""
    streamed = f"streamed: complete after {stream.timeline.last_byte or 0.0:.1f} s"
    why = [("because", f"the answer ended before the {hold:g} s that were to be held")] if short else []
    return conclude(
        case,
        "not_measured" if short else "ok",
        None if short else plain,
        client=pairs[-1].plain.trial.client,
        observed=Observed(0, len(pairs)),
        title=f"No cut below {held:.1f} s; not tested beyond",
        detail=(("seen", f"not streamed: {shown(plain)}; {streamed}{beyond}"), *why),
        figures={"held": Figure(held, "s", len(pairs)), **speed(stream)},
        conditions=conditions(plain),
        reason=Reason.STOPPED_EARLY if short else None,
        evidence=evidence(pairs),
        **(
            {"advice": "Ask for a longer answer (--set tokens=N), or a shorter hold (--set hold=S)."}
            if short
            else {}
        ),
    )


def bound(case: Case) -> Bound:
    """Every client may be the one that is let in, and that only at its last pair."""
    pairs = int(case.params["pairs"])
    requests = 2 * pairs * len(case.clients)
    tokens = requests * (PROMPT_TOKENS + int(case.params["tokens"]))
    return Bound(requests, tokens, pairs * float(case.params["hold"]))


SPEC = KindSpec(
    flow=length,
    about="a long answer, streamed and not, at the same time: is the second one cut, and when",
    bound=bound,
    defaults={
        "tokens": 2000,
        "hold": 137.0,
        "deadline": 600.0,
        "pairs": 1,
        "at_least": 1.0,
        "speeds": [0.05, 0.02],
    },
    limits={
        "tokens": (1, 1_000_000),
        "hold": (0, 3600),
        "deadline": (0.1, 7200),
        "pairs": (1, 100),
        "at_least": (0, 3600),
        "speeds": (0.0001, 60),
    },
    long=True,
)
