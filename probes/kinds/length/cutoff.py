"""What is said of a long request that a clock ended on one side?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude
from probes.kinds.length import where
from probes.kinds.length.cliff import Speed, advice, cliff
from probes.kinds.length.clock import NEAR, code_of, known_timers, matches, products_of, proven, spoken
from probes.kinds.length.limits import conditions
from probes.kinds.length.pair import evidence, uncut_for, uncut_in_words
from probes.kinds.words import shown
from probes.model import Confidence, Factor, Figure, Layer, Observed, Reason
from probes.twins import REPEATS, confounders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.length.pace import Pace
    from probes.kinds.length.pair import Pair
    from probes.kinds.length.side import Ending, Side
    from probes.model import Case, Exchange, Finding

Cut = tuple["Pair", "Ending"]
MORE = "more pairs (--set pairs=3)"


@dataclass(frozen=True, slots=True)
class Cutoff:
    """Seconds: the mean of `n` ends; `sure`: how exactly each was measured; `off`: with how far they were apart."""

    seconds: float
    sure: float
    off: float
    n: int

    @classmethod
    def of(cls, times: Sequence[float], sides: Sequence[Side]) -> Cutoff:
        sure = max(side.uncertainty for side in sides)
        return cls(sum(times) / len(times), sure, (max(times) - min(times)) / 2 + sure, len(times))

    def figures(self) -> dict[str, Figure]:
        low, high = self.seconds - self.off, self.seconds + self.off
        return {"cutoff": Figure(self.seconds, "s", self.n, low, high)}

    def confidence(self, code: str, exchange: Exchange, pairs: int, *, pure: bool) -> Confidence:
        """One pair is enough where its time is that of a known timer; one end at any time may be chance, and a vague time
        is that of some timer always.
        """
        known = known_timers(self.seconds, code, exchange, min(self.sure, NEAR))
        if not pure or (pairs < REPEATS and not known):
            return Confidence.LOW
        return Confidence.HIGH if pairs >= REPEATS else Confidence.MEDIUM


def plain_cut(case: Case, cuts: list[Cut], n: int, pace: Pace) -> Finding:
    """`cuts` are those of `n` pairs whose plain side was ended while the streamed one lived on."""
    pair, ending = cuts[-1]
    plain, stream = pair.plain, pair.stream
    cutoff = Cutoff.of([each.seconds for _, each in cuts], [each.plain for each, _ in cuts])
    middle, pure, speed = cutoff.seconds, len(cuts) == n, Speed.of(stream, pace)
    code = code_of(plain, ending, outlived=True)
    timers = known_timers(middle, code, plain.sent, cutoff.sure)
    seen = f"not streamed: {how(plain.sent)} after {middle:.1f} ± {cutoff.off:.1f} s; {_outlived(stream)} (through {plain.client})"
    streams = all(stream_helps(each.stream) for each, _ in cuts)
    return conclude(
        case,
        code,
        plain.sent,
        **of_a_clock(case, plain),
        factor=Factor.STREAM if pure else None,
        observed=Observed(len(cuts), n),
        control=stream.sent.id,
        variant=plain.sent.id,
        confounders=tuple(c for c in confounders(stream.sent, plain.sent) if c != "the bodies differ"),
        title=f"Long answers that are not streamed are cut after {middle:.1f} s",
        detail=(
            ("seen", seen),
            matches(timers, middle, on_the_way(pair, pace), proven(plain.sent)),
            *where.way(pair),
            *spoken(plain.sent, middle, cutoff.off),
            *where.waits(pair),
            *cliff(case, speed, middle),
        ),
        figures=cutoff.figures() | speed.figures() | where.figures(pair),
        confidence=cutoff.confidence(code, plain.sent, n, pure=pure),
        reason=None if pure else Reason.MIXED,
        next_test=MORE if n < REPEATS else None,
        advice=advice(
            timers, shows(plain), speed.longest(middle - cutoff.off), "stream" if streams else "no stream"
        ),
        evidence=evidence([pair for pair, _ in cuts]),
    )


def stream_cut(case: Case, cuts: list[Cut], n: int, pace: Pace) -> Finding:
    """The streamed side met a clock of its own, at another age than the plain one."""
    pair, ending = cuts[-1]
    stream, code = pair.stream, code_of(pair.stream, ending)
    cutoff = Cutoff.of([each.seconds for _, each in cuts], [each.stream for each, _ in cuts])
    middle, pure = cutoff.seconds, len(cuts) == n
    timers = known_timers(middle, code, stream.sent, cutoff.sure)
    when = f"after a silence of {middle:.1f} s" if ending.timer == "idle" else f"after {middle:.1f} s"
    seen = f"streamed: {shown(stream.sent)}; ended {when} (± {cutoff.off:.1f} s), {ending.at:.1f} s after the request"
    return conclude(
        case,
        code,
        stream.sent,
        **of_a_clock(case, stream),
        observed=Observed(len(cuts), n),
        title=f"Long streams are cut {when}",
        detail=(
            ("seen", f"{seen} (through {stream.client})"),
            matches(timers, middle, on_the_way(pair, pace), proven(stream.sent)),
            *uncut_in_words(uncut_for([each for each, _ in cuts])),
            *where.way(pair),
            *where.waits(pair),
        ),
        figures=cutoff.figures() | Speed.of(stream, pace).figures() | where.figures(pair),
        confidence=cutoff.confidence(code, stream.sent, n, pure=pure),
        reason=None if pure else Reason.MIXED,
        next_test=MORE if n < REPEATS else None,
        evidence=evidence([pair for pair, _ in cuts]),
    )


def of_a_clock(case: Case, side: Side) -> dict[str, Any]:
    """Who closed a connection without an answer can't be seen from here."""
    unproven = side.sent.status is None or side.sent.status < 400
    return {
        **(NOBODY if unproven else {}),
        "client": side.client,
        "conditions": conditions(case, side.client, side.sent, side.call.trial.deadline),
    }


NOBODY: dict[str, Any] = {"layer": Layer.UNKNOWN, "product": None, "vendor_code": None}


def shows(side: Side) -> tuple[str, ...]:
    """The products that its answer shows: who made it, then those that it passed."""
    made, maker = side.sent.attribution, proven(side.sent)
    passed = made.transit if made is not None and side.sent.status is not None else ()
    return (*((maker,) if maker else ()), *passed)


def on_the_way(pair: Pair, pace: Pace) -> frozenset[str]:
    """The products that any answer of the case shows: one that was closed unanswered shows none."""
    return frozenset(pace.products) | products_of(side.sent for side in pair.sides if side.last is not None)


def stream_helps(stream: Side) -> bool:
    """It was whole, or its tokens still came when the probe itself gave it up."""
    return stream.good or (
        stream.ending is None and stream.ttft is not None and stream.sent.error is not None
    )


def _outlived(stream: Side) -> str:
    same = "streamed, same prompt and length, at the same time"
    lived = stream.lived or 0.0
    return (
        f"{same}: complete after {lived:.1f} s" if stream.good else f"{same}: not ended before {lived:.1f} s"
    )


def how(exchange: Exchange) -> str:
    if exchange.status is None:
        return f"ended without an answer ({exchange.error.kind if exchange.error else 'closed'})"
    return (
        f"{exchange.status}, then {exchange.error.kind}"
        if exchange.error is not None
        else str(exchange.status)
    )
