"""What do long pairs say, whichever way they ended?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.kinds.by_us import by_us
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.length.both import both_cut
from probes.kinds.length.client_limit import client_gave_up
from probes.kinds.length.clock import at_any_time, is_clock, same_time
from probes.kinds.length.cutoff import plain_cut, stream_cut
from probes.kinds.length.failed import ended_at_any_time, other_failure
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
        return [_both(case, held, together)]
    plain = _clocks([(pair, ending) for pair in pairs if (ending := pair.cut) is not None], "plain")
    stream = _clocks(
        [(pair, ending) for pair in pairs if (ending := pair.stream_alone) is not None], "stream"
    )
    if plain and max(ending.at for _, ending in plain) < float(case.params["at_least"]):
        plain = []
    found = [_one_side(case, held, plain, "plain")] if plain else []
    found += [_one_side(case, held, stream, "stream")] if stream else []
    if held.uncut:
        return not_cut(case, held)
    told = [*(pair.plain for pair, _ in plain), *(pair.stream for pair, _ in stream)]
    rest = [side for pair in pairs for side in pair.sides if not side.good and side not in told]
    if found:
        others = [side for side in rest if not by_us(side.sent)]
        return [*found, *([other_failure(case, pairs, others)] if others else [])]
    given_up = client_gave_up(case, [side for pair in pairs for side in pair.sides])
    return [other_failure(case, pairs, rest) if given_up is None else given_up]


def _both(case: Case, held: Held, cuts: list[Cut]) -> Finding:
    sides = [pair.stream for pair, _ in cuts]
    if at_any_time(
        [(pair.stream, replace(ending, seconds=ending.at, timer="total")) for pair, ending in cuts]
    ):
        return ended_at_any_time(case, cuts, sides, len(cuts))
    return both_cut(case, cuts, held.pace)


def _one_side(case: Case, held: Held, cuts: list[Cut], which: str) -> Finding:
    sides: list[Side] = [getattr(pair, which) for pair, _ in cuts]
    n = len(held.pairs)
    if at_any_time([(side, ending) for side, (_, ending) in zip(sides, cuts, strict=True)]):
        return ended_at_any_time(case, cuts, sides, n)
    return (plain_cut if which == "plain" else stream_cut)(case, cuts, n, held.pace)


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
