"""What is said of long pairs that failed, but of which no clock is known to have ended them?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.by_us import by_us, told_of_us
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.length import where
from probes.kinds.length.clock import at_any_time
from probes.kinds.length.cutoff import MORE, Cutoff, how, of_a_clock
from probes.kinds.length.limits import conditions
from probes.kinds.length.pair import evidence, uncut_for, uncut_in_words
from probes.kinds.length.side import REFUSED_WITHIN
from probes.kinds.words import listed, shown
from probes.model import Confidence, Factor, Figure, Observed, Reason, Verdict, WhoActs
from probes.output_cap import ours_refused
from probes.response import Response, at
from probes.twins import REPEATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.length.cutoff import Cut
    from probes.kinds.length.pair import Pair
    from probes.kinds.length.side import Ending, Side
    from probes.model import Case, Finding

_SHOWN = 200
_NAMED = 4
_ORIGIN = "the same pair straight to the origin"


def ended_at_any_time(case: Case, cuts: list[Cut], sides: Sequence[Side], n: int) -> Finding:
    """`sides`, one of each cut, look as if a timer ended them, but at ages that no one timer has."""
    last = sides[-1]
    ages = [
        f"{how(side.sent)} at {ending.seconds:.1f} s" for side, (_, ending) in zip(sides, cuts, strict=True)
    ]
    plain = not any(side.streamed for side in sides)
    proven = plain and len(cuts) == n >= REPEATS and all(pair.stream.good for pair, _ in cuts)
    pairs = [pair for pair, _ in cuts]
    return conclude(
        case,
        outcome_code(last.sent),
        last.sent,
        **of_a_clock(case, last),
        factor=Factor.STREAM if proven else None,
        **({"control": pairs[-1].stream.sent.id, "variant": last.sent.id} if plain else {}),
        observed=Observed(len(cuts), n),
        title=f"Long {'answers that are not streamed' if plain else 'streams'} are ended at {_seconds(cuts)}: not one clock",
        detail=(
            ("seen", f"{last.name}: {listed(ages)}"),
            ("because", "these are not one clock's: no timer is named, and no length is known to be safe"),
            *where.way(pairs[-1]),
            *where.waits(pairs[-1]),
        ),
        figures=where.figures(pairs[-1]),
        confidence=Confidence.LOW,
        reason=None if len(cuts) == n else Reason.MIXED,
        next_test=MORE if n < REPEATS else _ORIGIN,
        advice="Look in the logs of the layer that answered for what ended them: a restart, a worker that was killed, a limit "
        "on load.",
        evidence=evidence(pairs),
    )  # fmt: skip


def _seconds(cuts: list[Cut]) -> str:
    times = [f"{ending.seconds:.1f}" for _, ending in cuts]
    return (
        f"{listed(times)} s"
        if len(times) <= _NAMED
        else f"{min(times, key=float)} to {max(times, key=float)} s"
    )


def other_failure(case: Case, pairs: Sequence[Pair], failed: Sequence[Side]) -> Finding:
    """Of what failed otherwise than by a clock that is known to be one."""
    sides = [side for pair in pairs for side in pair.sides]
    side = next((each for each in failed if not by_us(each.sent)), failed[0])
    bad = side.sent
    cutoff = _perhaps_a_clock(failed)
    uncut = uncut_for(pairs)
    told = _of_the_ask(case, failed) or told_of_us(case, bad)
    if cutoff is not None and len(pairs) < REPEATS:
        told = {"next_test": MORE} | told
    return conclude(
        case,
        outcome_code(bad),
        bad,
        client=side.client,
        observed=Observed(len(failed), len(sides)),
        detail=(
            ("seen", "; ".join(f"{each.name}: {shown(each.sent)}" for each in sides)),
            *_message(side),
            ("because", _because(failed, sides)),
            *uncut_in_words(uncut),
            *where.way(pairs[-1]),
            *where.waits(pairs[-1]),
        ),
        figures=where.figures(pairs[-1])
        | (cutoff.figures() if cutoff is not None else {})
        | ({} if uncut is None else {"held": Figure(uncut, "s", len(pairs))}),
        confidence=Confidence.LOW,
        conditions=conditions(case, side.client, bad, side.call.trial.deadline),
        evidence=evidence(pairs),
        **told,
    )


def _endings(failed: Sequence[Side]) -> list[tuple[Side, Ending]]:
    return [(side, ending) for side in failed if (ending := side.ending) is not None]


def _perhaps_a_clock(failed: Sequence[Side]) -> Cutoff | None:
    """Of ends on one side alone, after a wait, that are not known to be a timer's nor known not to be."""
    ended = _endings(failed)
    one_side = len({side.streamed for side in failed}) == 1
    if (
        not one_side
        or len(ended) < len(failed)
        or min(e.at for _, e in ended) < REFUSED_WITHIN
        or at_any_time(ended)
    ):
        return None
    return Cutoff.of([ending.seconds for _, ending in ended], failed)


def _because(failed: Sequence[Side], sides: Sequence[Side]) -> str:
    """What is true of this kind of failure, and no more."""
    if any(_interrupted(side) for side in failed):
        return "the run was interrupted while the answer was awaited: nothing is known of what would have become of it"
    if all(by_us(side.sent) for side in failed):
        return "the probe itself ended what was not whole, at a limit of its own: no fault of the service is seen in that"
    if all(_is_refused(side) for side in failed) and any(side.streamed for side in failed):
        return "the API refused the request that the probe asks, before anything was held"
    ages = listed([f"{ending.at:.1f} s" for _, ending in _endings(failed)]) or "at once"
    after = f"after {ages}" if ages != "at once" else ages
    others = all(side.good for side in sides if side not in failed)
    if all(side.streamed for side in failed):
        beside = ", while the same request that was not streamed was answered" if others else ""
        return f"only what was streamed broke, {after}{beside}: not known whether a timer did it"
    if all(not side.streamed for side in failed):
        return f"only what was not streamed failed, {after}: not known whether a timer did it"
    return f"streamed and not, both failed, {after}: streaming makes no difference to that"


def _interrupted(side: Side) -> bool:
    return side.sent.error is not None and side.sent.error.kind == "interrupted"


def _is_refused(side: Side) -> bool:
    return outcome_code(side.sent) in {"request.rejected", "size.rejected"}


def _of_the_ask(case: Case, failed: Sequence[Side]) -> dict[str, Any]:
    """The short stream was taken, so what is refused of the long one is what the probe chose: its length."""
    ours = any(side.streamed for side in failed) or all(ours_refused(side.sent) for side in failed)
    if not all(_is_refused(side) for side in failed) or not ours:
        return {}
    cap = failed[0].cap
    prompt = " or a shorter prompt (--set prompt_tokens=N)" if case.params["prompt_tokens"] else ""
    return {
        "verdict": Verdict.INCONCLUSIVE,
        "reason": Reason.TOO_FEW,
        "who_acts": WhoActs.PROBE,
        "title": f"The long request as the probe asks it, of up to {cap:,} tokens, is refused; a short one was taken",
        "advice": f"Give a cap that the server takes (--set tokens=N){prompt}.",
    }


def _message(side: Side) -> tuple[tuple[str, str], ...]:
    said = at(Response.of(side.sent).document, ("error", "message"))
    return (("it says", said[:_SHOWN]),) if isinstance(said, str) and said else ()
