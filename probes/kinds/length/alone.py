"""Is a long answer cut, where the API has no streams to compare it with?

Its clock alone tells, so no factor is claimed and nothing is sure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import by_outcome, conclude, not_sent
from probes.kinds.length import means as how
from probes.kinds.length.cliff import Speed, advice, cliff, reaches
from probes.kinds.length.clock import at_any_time, code_of, is_clock, known_timers, matches, proven, spoken
from probes.kinds.length.cutoff import Cutoff, shows
from probes.kinds.length.limits import conditions
from probes.kinds.length.pace import deadline_for, hold_for
from probes.kinds.length.side import Side
from probes.kinds.words import listed, shown
from probes.model import Confidence, Figure, NotSent, Observed, Reason, Trial
from probes.twins import one

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.kinds.length.door import Further
    from probes.kinds.length.pace import Pace
    from probes.kinds.length.side import Ending
    from probes.model import Case, Client, Finding

_ALONE = ("alone", "the API has no streams, so there was nothing to compare it with")


def alone(case: Case, client: Client, pace: Pace, salts: Iterator[str]) -> Further:
    """As many answers as pairs are wanted; once a longer one, where the server is faster than it was."""
    goal = hold_for(case, pace.products)
    means, may_grow, sides = how.first(case, client, pace, goal), True, list[Side]()
    while len(sides) < int(case.params["pairs"]):
        label = f"length/{client.name}/alone"
        deadline = deadline_for(case, goal)
        call = yield from one(
            Trial(label, client.name, case.route, means.ask, deadline=deadline, salt=next(salts))
        )
        if call.not_sent is NotSent.BUDGET and sides:
            break
        less = how.lowered(means, [call])
        if less is not None:
            means, may_grow = less, False
            continue
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, how.HOLDING, [call])]
        side = Side(call)
        if side.turned_away:
            return call
        more = (
            how.longer(case, client, means, goal / side.answered)
            if _short(side, goal) and side.answered
            else None
        )
        if means.chosen and may_grow and more is not None:
            means, may_grow = more, False
            continue
        sides.append(side)
        if side.last is None:
            break
    return _judged(case, sides, pace, goal)


def _short(side: Side, goal: float) -> bool:
    return side.good and (side.answered or 0.0) < goal


def _judged(case: Case, sides: Sequence[Side], pace: Pace, goal: float) -> list[Finding]:
    cuts = [
        (side, ending)
        for side in sides
        if side.last is not None and (ending := side.ending) is not None and is_clock(side, ending)
    ]
    bad = [side.call for side in sides if not side.good]
    if cuts and at_any_time(cuts):
        seen = listed([f"{ending.seconds:.1f}" for _, ending in cuts])
        apart = ("because", f"ended after {seen} s: not one clock, so no timer is named")
        found = by_outcome(case, bad, "a long answer")
        return [replace(f, detail=(*f.detail, apart, _ALONE), confidence=Confidence.LOW) for f in found]
    if cuts:
        return [_cut(case, cuts, len(sides), pace)]
    return by_outcome(case, bad, "a long answer") if bad else [_whole(case, sides, pace, goal)]


def _cut(case: Case, cuts: Sequence[tuple[Side, Ending]], n: int, pace: Pace) -> Finding:
    side, ending = cuts[-1]
    cutoff = Cutoff.of([each.seconds for _, each in cuts], [each for each, _ in cuts])
    middle, off, code = cutoff.seconds, cutoff.off, code_of(side, ending)
    timers, speed = known_timers(middle, code, side.sent, cutoff.sure), Speed(pace.ttft or 0.0, pace.tpot)
    product, pure = proven(side.sent), len(cuts) == n
    sure = cutoff.confidence(code, side.sent, n, pure=pure) is not Confidence.LOW
    return conclude(
        case,
        code,
        side.sent,
        **_fields(case, side),
        observed=Observed(len(cuts), n),
        title=f"Long answers are cut after {middle:.1f} s",
        detail=(
            ("seen", f"{shown(side.sent)}; ended after {middle:.1f} ± {off:.1f} s"),
            _ALONE,
            matches(timers, middle, {*pace.products, *shows(side)}, product),
            *spoken(side.sent, middle, off),
            *cliff(case, speed, middle),
        ),
        figures=cutoff.figures() | _tpot(pace),
        confidence=Confidence.MEDIUM if sure else Confidence.LOW,
        reason=None if pure else Reason.MIXED,
        next_test="the same request straight to the origin",
        advice=advice(timers, [product] if product else [], speed.longest(middle - off), "no stream"),
        evidence=tuple(each.sent.id for each, _ in cuts),
    )


def _whole(case: Case, sides: Sequence[Side], pace: Pace, goal: float) -> Finding:
    side, held = sides[-1], min(side.answered or 0.0 for side in sides)
    short: dict[str, Any] = {}
    if held < goal:
        why = "Ask for a longer answer (--set tokens=N), or hold for less (--set hold=S)."
        short = {"reason": Reason.STOPPED_EARLY, "advice": why}
    return conclude(
        case,
        "not_measured" if short else "ok",
        None if short else side.sent,
        **_fields(case, side),
        observed=Observed(0, len(sides)),
        title=f"No cut below {held:.1f} s; not tested beyond",
        detail=(
            ("seen", shown(side.sent)),
            *((("because", f"it ended before the {goal:g} s that were to be held"),) if short else ()),
            _ALONE,
            *reaches(Speed(pace.ttft or 0.0, pace.tpot), held),
        ),
        figures={"held": Figure(held, "s", len(sides))} | _tpot(pace),
        confidence=Confidence.MEDIUM,
        evidence=tuple(each.sent.id for each in sides),
        **short,
    )


def _fields(case: Case, side: Side) -> dict[str, Any]:
    held = conditions(case, side.client, side.sent, side.call.trial.deadline, together=1)
    return {"client": side.client, "conditions": held}


def _tpot(pace: Pace) -> dict[str, Figure]:
    return {} if pace.tpot is None else {"tpot": Figure(pace.tpot, "s/token", 1)}
