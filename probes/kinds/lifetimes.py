"""Do long streams that are begun one after another end at one age, or at one moment?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Self

from probes.budget import PROMPT_TOKENS
from probes.config import conversation
from probes.deaths import Life, Pattern, Together, judge
from probes.instances import COLO, instances
from probes.kinds.buffering.trials import by_preference
from probes.kinds.conclude import by_outcome, conclude, not_sent
from probes.kinds.length.clock import known_timers, matches, products_of
from probes.kinds.length.limits import conditions
from probes.kinds.length.side import Side
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.streaming.ends import same_chunk, says_why
from probes.kinds.words import listed
from probes.model import Ask, Confidence, Figure, Layer, Observed, Trial
from probes.twins import REPEATS, unsent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Case, Finding, Flow
    from probes.timers import Timer

_FEWEST = 2
_OFF = 3.0
"""Times what one time may be off: two moments are compared, each by two of them."""


def lifetimes(case: Case) -> Flow:
    rng, client = case.rng, by_preference(case)[0].name
    ask = Ask(conversation(case.target), recipe="count", stream=True, cap=int(case.params["tokens"]))
    calls = yield [
        Trial(
            f"lifetimes/{number + 1}", client, case.route, ask, start=number * float(case.params["apart"]),
            deadline=float(case.params["deadline"]), salt=f"{rng.getrandbits(48):012x}",
        )
        for number in range(_streams(case))
    ]  # fmt: skip
    if (why := unsent(calls)) is not None:
        return [not_sent(case, why, "holding several streams open", calls)]
    sides = [Side(call) for call in calls]
    cut = [side for side in sides if was_cut(side)]
    if any(side.last is None or not (was_cut(side) or lived(side)) for side in sides):
        return by_outcome(case, calls, "each of several long streams")
    together = judge([life(side) for side in sides], max(map(off_by, sides)))
    if together.pattern is Pattern.NONE:
        return [_whole(case, sides)]
    otherwise = no_limit(cut, together) if together.pattern is Pattern.AGE else _untold(together)
    if otherwise is None:
        return [limit(case, cut, together)]
    if together.pattern is Pattern.MOMENT:
        return [at_once(case, sides, cut, together)]
    return [_with(found, otherwise) for found in by_outcome(case, calls, "each of several long streams")]


def _streams(case: Case) -> int:
    return max(int(case.params["streams"]), _FEWEST)


def was_cut(side: Side) -> bool:
    """After it had begun: what was refused or never answered is no stream that ended."""
    ending = side.ending
    return ending is not None and ending.spoke


def lived(side: Side) -> bool:
    """To its own end, or until we ended it."""
    error = side.sent.error
    return (
        side.good or side.whole or (error is not None and (error.kind, error.phase) == ("deadline", "body"))
    )


def off_by(side: Side) -> float:
    """Seconds that its end may be off: by what one time may be, and by how late this process itself ran just then."""
    end = side.sent.timeline.end or 0.0
    stalls = side.sent.conditions.get("stalls") or ()
    return _OFF * side.uncertainty + max((b - a for a, b in stalls if a <= end <= b + (b - a)), default=0.0)


def life(side: Side) -> Life:
    """By the clock of the step: when its request was whole, and how long it lived from there."""
    line, ending = side.sent.timeline, side.ending
    sent = line.upload_end or 0.0
    began = side.call.trial.start + (side.call.own_lag or 0.0) + sent
    age = ending.at if ending is not None and was_cut(side) else (line.end or sent) - sent
    return Life(began, age, died=was_cut(side))


def _whole(case: Case, sides: Sequence[Side]) -> Finding:
    lives = [life(side).age for side in sides]
    return conclude(
        case, "ok", sides[-1].sent, client=sides[0].client, observed=Observed(0, len(sides)), next_test=None,
        title=f"{len(sides)} streams, begun {case.params['apart']:g} s apart, were cut by nobody",
        detail=(("seen", f"they lived from {min(lives):.1f} s to {max(lives):.1f} s"),),
        figures={"lived": Figure(max(lives), "s", len(lives), min(lives), max(lives))},
        conditions=_conditions(case, sides), evidence=tuple(side.sent.id for side in sides),
    )  # fmt: skip


class _Clock(NamedTuple):
    """What the clock of a limit had counted, in seconds, give or take `off`, and the known timers that it may be."""

    code: str
    seconds: float
    off: float
    timers: tuple[Timer, ...]

    @classmethod
    def of(cls, last: Side, together: Together) -> Self:
        ending, off = last.ending, max(together.apart or 0.0, last.uncertainty)
        idle = ending is not None and ending.timer == "idle"
        counted = ending.seconds if idle and ending is not None else together.at or 0.0
        code = "timeout.idle" if idle else "timeout.total"
        return cls(code, counted, off, known_timers(counted, code, last.sent, off))


def no_limit(cut: Sequence[Side], together: Together) -> str | None:
    """Streams of one prompt that end by themselves, or fail at one token, are of one age, too."""
    exchanges, clock = [side.sent for side in cut], _Clock.of(cut[-1], together)
    if clock.code == "timeout.idle":
        return None
    if own := next(filter(None, map(says_why, exchanges)), None):
        return f"at one age, {together.at:.1f} s, and that of one answer: {own}, so this is no limit"
    return None


def limit(case: Case, cut: Sequence[Side], together: Together) -> Finding:
    last, age = cut[-1], together.at or 0.0
    code, counted, off, timers = _Clock.of(last, together)
    idle = code == "timeout.idle"
    chunks = None if idle else same_chunk([side.sent for side in cut])
    also = (
        (("or", f"each had come to {chunks} chunks: what fails there would look the same"),)
        if chunks is not None
        else ()
    )
    seen = f"{together.died} streams, begun {case.params['apart']:g} s apart, were each cut after {age:.1f} ± {off:.1f} s"
    return conclude(
        case, code, last.sent, layer=Layer.UNKNOWN, product=None, client=last.client,
        title=f"Streams are cut at the age of {age:.1f} s" + (f", {counted:.1f} s after their last byte" if idle else ""),
        observed=Observed(together.died, together.of),
        detail=(
            ("seen", seen),
            ("because", "at one age and at different moments: a limit, no restart"),
            matches(timers, counted, products_of(side.sent for side in cut)),
            *also,
        ),
        figures={"cutoff": Figure(counted, "s", together.died, counted - off, counted + off)},
        conditions=_conditions(case, cut), confidence=Confidence.MEDIUM if also else _sure(together),
        evidence=tuple(s.sent.id for s in cut),
    )  # fmt: skip


def at_once(case: Case, sides: Sequence[Side], cut: Sequence[Side], together: Together) -> Finding:
    last, apart = cut[-1], together.apart or 0.0
    ages = sorted(life(side).age for side in cut)
    whole = together.died == together.of
    who = f"All {together.died} open streams" if whole else f"{together.died} of {together.of} open streams"
    went_on = [side for side in sides if side not in cut]
    also = "" if whole else "; the others went on, so it was one instance of several"
    return conclude(
        case, "stream.truncated", last.sent, layer=Layer.UNKNOWN, product=None, client=last.client,
        title=f"{who} were cut at one moment: a restart or a reload, no limit",
        observed=Observed(together.died, together.of),
        detail=(
            ("seen", f"all {together.died} ended within {apart:.1f} s of wall clock, aged {ages[0]:.1f} to {ages[-1]:.1f} s"),
            ("because", f"at one moment and at different ages: something restarted or was reloaded{also}"),
            *_where(cut, went_on),
        ),
        figures={"apart": Figure(apart, "s", together.died), "moment": Figure(together.at or 0.0, "s", together.died)},
        conditions={**_conditions(case, sides), **_located(cut)}, confidence=_sure(together),
        advice="Let what restarts or reloads drain its open streams first, for as long as the longest answer takes.",
        next_test="the logs of each layer at that moment: which of them restarted, reloaded or was deployed?",
        evidence=tuple(side.sent.id for side in cut),
    )  # fmt: skip


def _where(cut: Sequence[Side], went_on: Sequence[Side]) -> list[tuple[str, str]]:
    """A location of the edge, or the way to it, that resets its connections looks like a restart."""
    died, lived = _locations(cut), _locations(went_on)
    if not died:
        return []
    others = f"; those at {listed(sorted(lived))} went on" if lived and not lived & died else ""
    return [
        ("where", f"edge location {listed(sorted(died))}{others}: it, or the way to it, may be what broke")
    ]


def _located(cut: Sequence[Side]) -> dict[str, object]:
    places = _locations(cut)
    return {"colo": ", ".join(sorted(places))} if places else {}


def _locations(sides: Sequence[Side]) -> set[str]:
    return {which for side in sides for kind, which in instances(side.sent) if kind == COLO}


def _with(finding: Finding, pattern: str) -> Finding:
    """The streams were cut, which is told; by what kind of thing is not known."""
    return replace(finding, detail=(*finding.detail, ("pattern", pattern)))


def _untold(together: Together) -> str:
    few = "too few were cut, or too close together," if together.pattern is Pattern.UNTOLD else "they ended"
    said = f"{few} at neither one age nor one moment: a limit and a restart can't be told apart"
    if together.pattern is Pattern.UNTOLD:
        said = f"{few} to tell a limit from a restart"
    return said


def _sure(together: Together) -> Confidence:
    return Confidence.HIGH if together.died >= REPEATS else Confidence.MEDIUM


def _conditions(case: Case, sides: Sequence[Side]) -> dict[str, object]:
    last = sides[-1]
    return conditions(
        case, last.client, last.sent, last.call.trial.deadline, together=int(case.params["streams"])
    )


def unfit(case: Case) -> str | None:
    streams, limits = int(case.params["streams"]), case.target.limits
    if streams < _FEWEST:
        return "asked for by name, since it holds many streams open for long: --set streams=4"
    if limits.concurrency < streams:
        return (
            f"{streams} streams at once need limits.concurrency: {streams} in the target's file, which allows "
            f"{limits.concurrency}"
        )
    return None


def bound(case: Case) -> Bound:
    streams = _streams(case)
    each = PROMPT_TOKENS + int(case.params["tokens"])
    return Bound(streams, streams * each, streams * float(case.params["apart"]))


SPEC = KindSpec(
    flow=lifetimes,
    about="several long streams begun one after another: is any cut, and do the cuts share an age or a moment",
    bound=bound,
    defaults={"streams": 0, "apart": 5.0, "tokens": 2000, "deadline": 300.0},
    limits={"streams": (0, 200), "apart": (2.5, 600), "tokens": (1, 1_000_000), "deadline": (0.1, 7200)},
    unfit=unfit,
)
