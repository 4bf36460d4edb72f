"""What do long pairs say, whichever way they ended?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.by_us import by_us
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.length import where
from probes.kinds.length.client_limit import client_gave_up
from probes.kinds.length.clock import is_clock, same_time
from probes.kinds.length.cutoff import both_cut, plain_cut, stream_cut
from probes.kinds.length.limits import conditions
from probes.kinds.length.pair import evidence
from probes.kinds.length.uncut import not_cut
from probes.kinds.words import listed, shown
from probes.model import Confidence, Layer, Observed, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.length.cutoff import Cut
    from probes.kinds.length.held import Held
    from probes.kinds.length.pair import Pair
    from probes.kinds.length.side import Side
    from probes.model import Call, Case, Finding


def judged(case: Case, held: Held) -> list[Finding]:
    pairs = held.pairs
    if any(side.last is None for pair in pairs for side in pair.sides):
        return [_not_even_sent(case, pairs)]
    together = [(pair, ending) for pair in pairs if (ending := pair.together) is not None]
    if len(together) == len(pairs) and all(
        ending.spoke or is_clock(p.plain, p.plain.ending) for p, ending in together if p.plain.ending
    ):
        return [both_cut(case, together, held.pace)]
    plain = _clocks([(pair, ending) for pair in pairs if (ending := pair.cut) is not None], "plain")
    stream = _clocks(
        [(pair, ending) for pair in pairs if (ending := pair.stream_alone) is not None], "stream"
    )
    if plain and max(ending.at for _, ending in plain) < float(case.params["at_least"]):
        plain = []
    found = [plain_cut(case, plain, len(pairs), held.pace)] if plain else []
    found += [stream_cut(case, stream, len(pairs), held.pace)] if stream else []
    if found:
        return found
    if held.whole:
        return not_cut(case, held)
    given_up = client_gave_up(case, [side for pair in pairs for side in pair.sides])
    return [_other_failure(case, pairs) if given_up is None else given_up]


def _clocks(cuts: list[Cut], which: str) -> list[Cut]:
    ended = [(getattr(pair, which), ending) for pair, ending in cuts]
    if same_time(ended):
        return cuts
    return [cut for cut, (side, ending) in zip(cuts, ended, strict=True) if is_clock(side, ending)]


def all_refused(case: Case, calls: Sequence[Call]) -> Finding:
    """No client got past the door; `calls` are the ones that were turned away."""
    refusal = calls[-1].last
    assert refusal is not None
    names = [call.trial.client for call in calls]
    return conclude(
        case,
        outcome_code(refusal),
        refusal,
        verdict=Verdict.INCONCLUSIVE,
        reason=Reason.BLOCKED,
        observed=Observed(len(calls), len(calls)),
        title="Long answers could not be tested: every client was refused",
        detail=(("seen", f"{listed(names)}: {shown(refusal)}"),),
    )


def _not_even_sent(case: Case, pairs: Sequence[Pair]) -> Finding:
    """The guard of an SDK speaks for the side that left no exchange; what became of the other one is told beside it."""
    sides = [side for pair in pairs for side in pair.sides]
    guarded = next(side for side in sides if side.last is None)
    raised = guarded.call.raised
    said = f"{raised.type}: {raised.text}" if raised else "nothing"
    others = "; ".join(f"{side.name}: {shown(side.sent)}" for side in sides if side.last is not None)
    return conclude(
        case,
        "client.guard",
        layer=Layer.CLIENT,
        client=guarded.client,
        confidence=Confidence.HIGH,
        title=f"{guarded.client} refuses to send so long a request that is {guarded.name}",
        detail=(("seen", said), *((("beside", others),) if others else ())),
        evidence=evidence(pairs),
    )


def _other_failure(case: Case, pairs: Sequence[Pair]) -> Finding:
    """Something failed, but not as a clock that ends one side in the life of the other."""
    sides = [side for pair in pairs for side in pair.sides]
    failed = [side for side in sides if not side.good]
    bad = failed[0].sent
    return conclude(
        case,
        outcome_code(bad),
        bad,
        **({"verdict": Verdict.INCONCLUSIVE, "reason": Reason.TOO_FEW} if by_us(bad) else {}),
        client=failed[0].client,
        observed=Observed(len(failed), len(sides)),
        detail=(
            ("seen", "; ".join(f"{side.name}: {shown(side.sent)}" for side in sides)),
            ("because", _because(failed)),
            *where.waits(pairs[-1]),
        ),
        confidence=Confidence.LOW,
        conditions=conditions(case, failed[0].client, bad, failed[0].call.trial.deadline),
        evidence=evidence(pairs),
    )


def _because(failed: Sequence[Side]) -> str:
    if all(not side.streamed for side in failed):
        return "only what was not streamed failed, but not as a timer does"
    return "streaming is not the cause"
