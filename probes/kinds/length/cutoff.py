"""What is said of a long request that a clock ended?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude
from probes.kinds.length import where
from probes.kinds.length.cliff import Speed, advice, cliff
from probes.kinds.length.clock import code_of, in_words, known_timers, spoken
from probes.kinds.length.limits import conditions
from probes.kinds.length.pair import evidence
from probes.kinds.words import shown
from probes.model import Confidence, Factor, Figure, Layer, Observed, Reason
from probes.twins import REPEATS, confounders

if TYPE_CHECKING:
    from probes.kinds.length.pace import Pace
    from probes.kinds.length.pair import Pair
    from probes.kinds.length.side import Ending, Side
    from probes.model import Case, Exchange, Finding

Cut = tuple["Pair", "Ending"]


def plain_cut(case: Case, cuts: list[Cut], n: int, pace: Pace) -> Finding:
    """`cuts` are those of `n` pairs whose plain side was ended while the streamed one lived on."""
    pair, ending = cuts[-1]
    plain, stream = pair.plain, pair.stream
    middle, off = _middle(cuts, plain)
    pure, speed = len(cuts) == n, Speed.of(stream, pace)
    code = code_of(plain, ending, outlived=True)
    timers = known_timers(middle, code, plain.sent, off)
    seen = f"not streamed: {_how(plain.sent)} after {middle:.1f} ± {off:.1f} s; {_outlived(stream)} (through {plain.client})"
    return conclude(
        case,
        code,
        plain.sent,
        **_of_a_clock(case, plain),
        factor=Factor.STREAM if pure else None,
        observed=Observed(len(cuts), n),
        control=stream.sent.id,
        variant=plain.sent.id,
        confounders=tuple(c for c in confounders(stream.sent, plain.sent) if c != "the bodies differ"),
        title=f"Long answers that are not streamed are cut after {middle:.1f} s",
        detail=(
            ("seen", seen),
            ("matches", in_words(timers, middle)),
            *spoken(plain.sent, middle, off),
            *where.waits(pair),
            *cliff(case, speed, middle),
        ),
        figures=_cutoff(middle, off, len(cuts)) | speed.figures() | where.figures(pair),
        confidence=_confidence(n, pure=pure, known=bool(timers)),
        reason=None if pure else Reason.MIXED,
        next_test=_MORE if n < REPEATS else None,
        advice=advice(timers, _product(plain), speed.longest(middle - off), silent=False),
        evidence=evidence([pair for pair, _ in cuts]),
    )


def stream_cut(case: Case, cuts: list[Cut], n: int, pace: Pace) -> Finding:
    """The streamed side met a clock of its own, at another age than the plain one."""
    pair, ending = cuts[-1]
    stream, code = pair.stream, code_of(pair.stream, ending)
    middle, off = _middle(cuts, stream)
    timers = known_timers(middle, code, stream.sent, off)
    when = f"after a silence of {middle:.1f} s" if ending.timer == "idle" else f"after {middle:.1f} s"
    seen = (
        f"streamed: {shown(stream.sent)}; ended {when} (± {off:.1f} s), {ending.at:.1f} s after the request"
    )
    return conclude(
        case,
        code,
        stream.sent,
        **_of_a_clock(case, stream),
        observed=Observed(len(cuts), n),
        title=f"Long streams are cut {when}",
        detail=(
            ("seen", f"{seen} (through {stream.client})"),
            ("matches", in_words(timers, middle)),
            *where.waits(pair),
        ),
        figures=_cutoff(middle, off, len(cuts)) | Speed.of(stream, pace).figures() | where.figures(pair),
        confidence=_confidence(n, pure=len(cuts) == n, known=bool(timers)),
        reason=None if len(cuts) == n else Reason.MIXED,
        next_test=_MORE if n < REPEATS else None,
        evidence=evidence([pair for pair, _ in cuts]),
    )


def both_cut(case: Case, cuts: list[Cut], pace: Pace) -> Finding:
    """Both sides ended at the same age: before the first token by a clock that streaming does not escape, after it by a
    limit on the whole.
    """
    pair, ending = cuts[-1]
    plain, code = pair.plain, "timeout.total" if ending.spoke else code_of(pair.plain, _of_plain(pair))
    ages = [each.at if ending.spoke else _of_plain(p).at for p, each in cuts]
    middle, off = sum(ages) / len(ages), _spread(ages) + plain.uncertainty
    timers = known_timers(middle, code, plain.sent, off)
    said = _said_of_silence(pair, middle, timers, pace) if not ending.spoke else _SAID_OF_WHOLE | {
        "title": f"Answers are cut after {middle:.1f} s, streamed or not"
    }  # fmt: skip
    sides = f"not streamed {_how(plain.sent)}; streamed {shown(pair.stream.sent)}"
    return conclude(
        case,
        code,
        plain.sent,
        **_of_a_clock(case, plain),
        observed=Observed(2 * len(cuts), 2 * len(cuts)),
        detail=(
            ("seen", f"both sides ended after {middle:.1f} ± {off:.1f} s: {sides}"),
            ("because", said.pop("because")),
            ("matches", in_words(timers, middle)),
            *spoken(plain.sent, middle, off),
            *where.waits(pair),
        ),
        figures=_cutoff(middle, off, len(cuts)) | where.figures(pair),
        confidence=Confidence.MEDIUM,
        next_test=_MORE if len(cuts) < REPEATS else "the same pair straight to the origin",
        evidence=evidence([pair for pair, _ in cuts]),
        **said,
    )


_MORE = "more pairs (--set pairs=3)"
_SAID_OF_WHOLE: dict[str, Any] = {
    "because": "both sides were ended at the same age while tokens were flowing, so it is a limit on the whole answer"
}


def _said_of_silence(pair: Pair, middle: float, timers: Any, pace: Pace) -> dict[str, Any]:
    tokens = Speed.of(pair.stream, pace).longest(middle)
    return {
        "title": f"What has no first token within {middle:.1f} s is cut, streamed or not",
        "because": "the stream was silent before its first token and was ended at the same age: streaming is no way out",
        "advice": advice(timers, _product(pair.plain), tokens, silent=True),
    }


def _of_plain(pair: Pair) -> Ending:
    ending = pair.plain.ending
    assert ending is not None
    return ending


def _of_a_clock(case: Case, side: Side) -> dict[str, Any]:
    """Who closed a connection without an answer can't be seen from here."""
    unproven = side.sent.status is None or side.sent.status < 400
    return {
        **({"layer": Layer.UNKNOWN, "product": None, "vendor_code": None} if unproven else {}),
        "client": side.client,
        "conditions": conditions(case, side.client, side.sent, side.call.trial.deadline),
    }


def _cutoff(middle: float, off: float, n: int) -> dict[str, Figure]:
    return {"cutoff": Figure(middle, "s", n, middle - off, middle + off)}


def _middle(cuts: list[Cut], side: Side) -> tuple[float, float]:
    """The mean, and how far off it may be."""
    seconds = [ending.seconds for _, ending in cuts]
    return sum(seconds) / len(seconds), _spread(seconds) + side.uncertainty


def _spread(seconds: list[float]) -> float:
    return (max(seconds) - min(seconds)) / 2


def _confidence(pairs: int, *, pure: bool, known: bool) -> Confidence:
    """One pair is enough where its time is that of a known timer; one end at any time may be chance."""
    if not pure or (pairs < REPEATS and not known):
        return Confidence.LOW
    return Confidence.HIGH if pairs >= REPEATS else Confidence.MEDIUM


def _product(side: Side) -> str | None:
    made = side.sent.attribution
    return made.product if made is not None and side.sent.status is not None else None


def _outlived(stream: Side) -> str:
    same = "streamed, same prompt and length, at the same time"
    lived = stream.lived or 0.0
    return (
        f"{same}: complete after {lived:.1f} s" if stream.good else f"{same}: not ended before {lived:.1f} s"
    )


def _how(exchange: Exchange) -> str:
    if exchange.status is None:
        return f"ended without an answer ({exchange.error.kind if exchange.error else 'closed'})"
    return (
        f"{exchange.status}, then {exchange.error.kind}"
        if exchange.error is not None
        else str(exchange.status)
    )
