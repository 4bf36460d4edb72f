"""What is said of a stream of which arrival alone does not tell whether it is held back?

A longer answer beside a shorter one tells. Where it does not, what came one by one, or is over before a reader would notice,
is fine, with what was not told; a stream that came all at once after a wait is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.arrivals import MOMENT
from probes.kinds.buffering.findings import TO_THE_ORIGIN, held_back, in_words, last_of, measured, unclear
from probes.kinds.by_us import by_us
from probes.kinds.conclude import by_outcome, conclude, outcome_code
from probes.kinds.words import duration, shown
from probes.model import Confidence, Layer, Observed, Reason, Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from probes.kinds.buffering.growth import Growth, Pair
    from probes.kinds.buffering.trials import Looked
    from probes.model import Call, Case, Finding

_WHETHER = "whether its first token waits for others"


def unlooked(case: Case, call: Call) -> list[Finding]:
    """It did not come whole. What that is, the cases about streams say; a bound of our own, nobody else does."""
    last = call.last
    if last is None or by_us(last):
        found = by_outcome(case, [call], "a stream to look at")
        return [
            replace(one, verdict=Verdict.INCONCLUSIVE, reason=one.reason or Reason.BLOCKED, factor=None)
            for one in found
        ]
    came = vocabulary()[outcome_code(last)].title
    return [
        conclude(
            case, "not_measured", last, layer=Layer.UNKNOWN, product=None, vendor_code=None, reason=Reason.BLOCKED,
            title="Whether streams are held back was not looked at: none came whole",
            client=call.trial.client, confidence=Confidence.HIGH, next_test=None,
            detail=(("seen", f"{shown(last)} through {call.trial.client}: {came} ({outcome_code(last)})"), ("told as", outcome_code(last))),
            advice="Run it again when streams come whole.",
        )
    ]  # fmt: skip


def untold(case: Case, looked: Looked, why: str | None = None) -> Finding:
    """What was too short to tell is not called good, unless nobody would have noticed; nor does it speak for a hold."""
    seen = looked.arrivals
    why = why or seen.why or in_words(looked)
    if _unnoticed(looked):
        return _passed(case, looked, "The stream is over before anybody would notice a hold", why)
    if seen.ours:
        title = "Whether the stream is held back can't be told: this process itself ran late"
        return unclear(case, looked, title, why, reason=Reason.TAINTED)
    title = "The stream has too little text to tell whether it is held back"
    return unclear(case, looked, title, why, verdict=Verdict.WARN)


def weighed(case: Case, looked: Looked, grown: Growth) -> Finding:
    """By answers of two lengths, and where they don't tell, by what is left."""
    last, n = grown.pairs[-1], len(grown.pairs)
    rows = (("shorter", in_words(last.short)), ("longer", in_words(last.long)))
    beside = tuple(side.call.last.id for side in (last.short, last.long) if side.call.last is not None)
    if grown.held:
        because = (
            f"the longer answer's first token came {last.wait:.1f} s later, {n} of {n}, and its tokens followed each other within "
            f"{duration(last.long.arrivals.span)}: the first waits for the last"
        )
        return held_back(
            case, looked, (*rows, ("because", because)), layer=Layer.UNKNOWN, next_test=TO_THE_ORIGIN,
            observed=Observed(n, n), confidence=Confidence.HIGH if n >= 3 else Confidence.MEDIUM,
            control=beside[0], variant=beside[-1],
        )  # fmt: skip
    if grown.held is False:
        return conclude(
            case, "ok", last_of(looked), next_test=None, observed=Observed(0, n),
            title="The stream comes as it is made, and fast",
            detail=(("seen", in_words(looked)), *rows, ("so", "the first token does not wait for the last")),
            **measured(case, looked),
        )  # fmt: skip
    why = _why_not(last)
    if looked.arrivals.apart:
        return _passed(case, looked, "The stream comes event by event", why)
    if _unnoticed(looked):
        return _passed(case, looked, "The stream is over before anybody would notice a hold", why)
    title = "Whether the stream is held back can't be told"
    seen = "; ".join((f"shorter: {rows[0][1]}", f"longer: {rows[1][1]}", why))
    return unclear(case, looked, title, seen, evidence=beside or (last_of(looked).id,))


def _unnoticed(looked: Looked) -> bool:
    """However it was held, a reader had all of it by then."""
    line = last_of(looked).timeline
    end = line.last_byte or line.end
    return end is not None and end - (line.upload_end or 0.0) <= MOMENT


def _passed(case: Case, looked: Looked, title: str, why: str) -> Finding:
    return conclude(
        case, "ok", last_of(looked), next_test=None, observed=Observed(0, 1), confidence=Confidence.LOW,
        title=title, detail=(("seen", in_words(looked)), ("not told", f"{_WHETHER}: {why}")),
        **measured(case, looked),
    )  # fmt: skip


def _why_not(pair: Pair) -> str:
    """The real reason, ours included."""
    for name, side in (("longer", pair.long), ("shorter", pair.short)):
        last = side.call.last
        if last is not None and by_us(last):
            limit = side.call.trial.deadline
            return f"the {name} answer was ended by the probe's own limit of {limit:g} s (--set deadline=N)"
        if not side.usable:
            came = outcome_code(last) if last is not None else "nothing"
            return f"the {name} answer did not come whole ({came})"
    if not pair.grew:
        few, many = pair.short.arrivals.tokens, pair.long.arrivals.tokens
        return f"the model gives no answers of two lengths: {few} and {many} events with text"
    if pair.wait > MOMENT:
        return f"the longer answer's first token came {pair.wait:.1f} s later, which chance may do, too"
    return "the answers come faster than their times can be told apart"
