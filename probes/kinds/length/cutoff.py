"""At which second are long answers cut, by which timer, and from how many tokens on?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude
from probes.kinds.length.pair import Pair, evidence, last_of, tpot, uncertainty, waited
from probes.kinds.words import shown
from probes.model import Confidence, Factor, Figure, Layer, Observed, Reason
from probes.timers import Timer, match
from probes.twins import REPEATS, confounders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Case, Exchange, Finding

_GATEWAY = frozenset({408, 499, 502, 503, 504})
_NEAR = 1.0
_SAME = 0.25
"""Seconds."""


def is_timer(exchange: Exchange, seconds: float) -> bool:
    """Whether what ended the plain side was a clock: a time-out by its own words, a silent close or reset, or a
    gateway's failure at the time of a known timer. The clock is trusted over the message.
    """
    made = exchange.attribution
    if exchange.status is None or (made is not None and made.code.startswith("timeout.")):
        return True
    product = made.product if made is not None else None
    return exchange.status in _GATEWAY and bool(match(seconds, "first_byte", product, _NEAR))


def same_time(cut: Sequence[tuple[Pair, float]]) -> bool:
    """A gateway's failure after the same wait each time is a clock's, too, whatever it says and whether it is known."""
    if len(cut) < REPEATS or any(last_of([pair])[1].status not in _GATEWAY for pair, _ in cut):
        return False
    times = [at for _, at in cut]
    return max(times) - min(times) <= max(2 * uncertainty(cut[-1][0].plain), _SAME)


def first_byte_cut(case: Case, pairs: list[Pair], cuts: list[float], n: int) -> Finding:
    """`pairs` are those of `n` whose plain side was cut, at `cuts` seconds, while the streamed one lived on."""
    stream, plain = last_of(pairs)
    made = plain.attribution
    code = made.code if made is not None and made.code.startswith("timeout.") else "timeout.first_byte"
    middle, off = _middle(cuts, pairs)
    pure = len(cuts) == n
    tokens = longest(stream, middle)
    apart = f"not streamed: {_how(plain)} after {middle:.1f} ± {off:.1f} s"
    outlived = stream.timeline.last_byte or 0.0
    beside = f"streamed, same prompt and length, at the same time: complete after {outlived:.1f} s"
    return conclude(
        case,
        code,
        plain,
        **_unproven_layer(plain),
        client=pairs[-1].plain.trial.client,
        factor=Factor.STREAM if pure else None,
        observed=Observed(len(cuts), n),
        control=stream.id,
        variant=plain.id,
        confounders=tuple(c for c in confounders(stream, plain) if c != "the bodies differ"),
        title=f"Long answers that are not streamed are cut after {middle:.1f} s",
        detail=(
            ("seen", f"{apart}; {beside} (through {pairs[-1].plain.trial.client})"),
            ("matches", _timers(middle, code, plain, off)),
            *_cliff(case, stream, middle),
        ),
        figures={"cutoff": Figure(middle, "s", len(cuts), middle - off, middle + off), **speed(stream)},
        conditions=conditions(plain),
        confidence=_confidence(n, pure=pure, known=bool(_matching(middle, code, plain, off))),
        reason=None if pure else Reason.MIXED,
        next_test="more pairs (--set pairs=3)" if n < REPEATS else None,
        advice=f"Stream, or cap answers that are not streamed at {tokens or 'fewer'} tokens, or raise the read timer of "
        "the layer that cut.",
        evidence=evidence(pairs),
    )


def total_cut(case: Case, pairs: list[Pair], ages: list[float]) -> Finding:
    """Both sides ended at the same age, one of them while tokens flowed: a limit on the whole, not on the first byte."""
    stream, plain = last_of(pairs)
    middle, off = _middle(ages, pairs)
    sides = f"not streamed {_how(plain)}; streamed {shown(stream)}"
    return conclude(
        case,
        "timeout.total",
        plain,
        **_unproven_layer(plain),
        client=pairs[-1].plain.trial.client,
        observed=Observed(2 * len(pairs), 2 * len(pairs)),
        title=f"Answers are cut after {middle:.1f} s, streamed or not",
        detail=(
            ("seen", f"both sides ended after {middle:.1f} ± {off:.1f} s: {sides}"),
            ("because", "both sides were ended at the same age, so streaming is not the cause"),
            ("matches", _timers(middle, "timeout.total", plain, off)),
        ),
        figures={"cutoff": Figure(middle, "s", len(ages), middle - off, middle + off)},
        conditions=conditions(plain),
        confidence=Confidence.MEDIUM,
        evidence=evidence(pairs),
    )


def _middle(seconds: list[float], pairs: list[Pair]) -> tuple[float, float]:
    """The mean, and how far off it may be."""
    return sum(seconds) / len(seconds), (max(seconds) - min(seconds)) / 2 + uncertainty(pairs[-1].plain)


def _confidence(pairs: int, *, pure: bool, known: bool) -> Confidence:
    """One pair is enough where its time is that of a known timer; one end at any time may be chance."""
    if not pure or (pairs < REPEATS and not known):
        return Confidence.LOW
    return Confidence.HIGH if pairs >= REPEATS else Confidence.MEDIUM


def _matching(seconds: float, code: str, exchange: Exchange, off: float) -> tuple[Timer, ...]:
    product = exchange.attribution.product if exchange.attribution is not None else None
    return match(seconds, code.partition(".")[2], product, off)


def _timers(seconds: float, code: str, exchange: Exchange, off: float) -> str:
    known = [
        f"{timer.product} {timer.timer} ({timer.seconds:g} s)"
        for timer in _matching(seconds, code, exchange, off)
    ]
    return " or ".join(known) or "no known timer"


def _unproven_layer(exchange: Exchange) -> dict[str, Layer]:
    """Who closed a connection without an answer can't be seen from here."""
    return {} if exchange.status is not None else {"layer": Layer.UNKNOWN}


def _how(exchange: Exchange) -> str:
    if exchange.status is None:
        return f"ended without an answer ({exchange.error.kind if exchange.error else 'closed'})"
    return str(exchange.status)


def _cliff(case: Case, stream: Exchange, cutoff: float) -> tuple[tuple[str, str], ...]:
    measured, tokens = tpot(stream), longest(stream, cutoff)
    if measured is None or tokens is None:
        return ()
    rows = [f"at {_ms(measured)} a token, as measured, an answer above {tokens:,} tokens is lost"]
    speeds = [float(given) for given in case.params["speeds"]]
    rows += [f"at {_ms(given)}: {longest(stream, cutoff, given):,}" for given in speeds]
    return (("cliff", " · ".join(rows)),)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def longest(stream: Exchange, cutoff: float, per_token: float | None = None) -> int | None:
    """The longest answer, in tokens, that is whole before the cutoff, at the stream's own speed or another; TTFT as
    it was measured.
    """
    per_token, first = per_token or tpot(stream), waited(stream, stream.timeline.first_token)
    if not per_token or first is None or cutoff <= first:
        return None
    return math.floor((cutoff - first) / per_token) + 1


def speed(stream: Exchange) -> dict[str, Figure]:
    per_token, first = tpot(stream), waited(stream, stream.timeline.first_token)
    figures = {"ttft": Figure(first, "s", 1)} if first is not None else {}
    return figures | ({"tpot": Figure(per_token, "s/token", 1)} if per_token is not None else {})


def conditions(exchange: Exchange) -> dict[str, object]:
    return {**exchange.conditions, "concurrency": 2, "client": "cold", "cache": "unknown"}
