"""Is a long answer cut when it is not streamed, at which second, and from how many tokens on?

A twin: the same prompt, long output, both sides at once, only `stream` differs. A clock is evidence of its own: one
pair is enough when the failing side was ended at a measured time and the other outlived that time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer, is_refusal
from probes.config import endpoints
from probes.kinds.conclude import conclude, listed, not_sent, outcome_code, shown
from probes.kinds.spec import Bound, KindSpec
from probes.model import Ask, Confidence, Factor, Figure, Layer, Observed, Reason, Trial, Verdict
from probes.timers import match
from probes.twins import REPEATS, confounders, unsent

if TYPE_CHECKING:
    from probes.model import Call, Case, Client, Exchange, Finding, Flow

_REFUSED_WITHIN = 5.0
_JITTER = 0.05
"""Seconds: what scheduling and one read cost at the least."""


def length(case: Case) -> Flow:
    rng = case.rng
    refused: list[Pair] = []
    for client in _by_preference(case):
        pairs: list[Pair] = []
        for _ in range(int(case.params["pairs"])):
            calls = yield _pair(case, client, salt=f"{rng.getrandbits(48):012x}")
            why = unsent(calls)
            if why is not None:
                return [not_sent(case, why, "holding a long answer open")]
            pairs.append(Pair(*calls))
            if pairs[-1].refused:
                break
        if not pairs[-1].refused:
            return [_judged(case, pairs)]
        refused.append(pairs[-1])
    return [_all_refused(case, refused)]


def _by_preference(case: Case) -> list[Client]:
    """The SDK that customers use first; one that the edge refuses can't hold anything open, so then the next."""
    return sorted(case.clients, key=lambda client: client.api != case.target.api)


def _pair(case: Case, client: Client, salt: str) -> list[Trial]:
    endpoint = next(name for name in endpoints(case.target) if name in {"chat", "messages"})
    ask = Ask(endpoint, recipe="count", cap=int(case.params["tokens"]))
    label = f"length/{client.name}"
    variant = Trial(
        f"{label}/variant", client.name, case.route, ask,
        deadline=float(case.params["deadline"]), salt=salt, pair=label,
    )  # fmt: skip
    return [replace(variant, label=f"{label}/control", request=replace(ask, stream=True)), variant]


@dataclass(frozen=True, slots=True)
class Pair:
    stream: Call
    plain: Call

    @property
    def refused(self) -> bool:
        """One side did not get past the door, so this client says nothing of long answers."""
        return any(
            call.last is not None and is_refusal(call.last) and _at_once(call.last)
            for call in (self.stream, self.plain)
        )

    @property
    def cut(self) -> float | None:
        """Seconds from the request sent to the answer, close or reset that ended the plain side in the stream's life."""
        plain, stream = self.plain.last, self.stream.last
        if plain is None or stream is None or not good(stream):
            return None
        lived, ended = waited(stream, stream.timeline.last_byte), _ended(plain)
        return ended if ended is not None and lived is not None and lived > ended else None

    @property
    def same_age(self) -> float | None:
        """Seconds after which both sides were ended, where that is the same for both within the clocks' error."""
        plain, stream = self.plain.last, self.stream.last
        if plain is None or stream is None or _ended(plain) is None or _ended(stream) is None:
            return None
        first, second = sorted((_ended(plain) or 0.0, _ended(stream) or 0.0))
        near = second - first <= _uncertainty(self.plain) + _uncertainty(self.stream)
        return second if near and first >= _REFUSED_WITHIN else None


def _ended(exchange: Exchange) -> float | None:
    """Seconds after which something other than us ended a side that was not good."""
    if good(exchange) or _by_us(exchange) or (exchange.error is None and is_api_answer(exchange)):
        return None
    timeline = exchange.timeline
    return waited(exchange, timeline.end if exchange.error is not None else timeline.headers)


def _at_once(exchange: Exchange) -> bool:
    """A close or reset after a wait is a timer's, not a refusal."""
    ended = _ended(exchange)
    return ended is None or ended < _REFUSED_WITHIN


def good(exchange: Exchange) -> bool:
    return outcome_code(exchange) == "ok"


def _by_us(exchange: Exchange) -> bool:
    return exchange.error is not None and exchange.error.kind in {"deadline", "limit", "interrupted"}


def waited(exchange: Exchange, until: float | None) -> float | None:
    """Seconds since the request was sent whole: that is when an edge's first-byte timer starts."""
    since = exchange.timeline.upload_end
    return None if until is None or since is None else until - since


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
    cuts = [cut for pair in pairs if (cut := pair.cut) is not None]
    stream, plain = pairs[-1].stream.last, pairs[-1].plain.last
    if stream is None or plain is None:
        refusal = pairs[-1].stream.raised or pairs[-1].plain.raised
        return conclude(
            case, "client.guard", layer=Layer.CLIENT, confidence=Confidence.HIGH,
            title="The client refused to send a long request",
            detail=(("seen", f"{refusal.type}: {refusal.text}" if refusal else "nothing was sent"),),
        )  # fmt: skip
    if cuts and max(cuts) >= float(case.params["at_least"]):
        return _cut(case, [pair for pair in pairs if pair.cut is not None], cuts, len(pairs))
    ages = [age for pair in pairs if (age := pair.same_age) is not None]
    if len(ages) == len(pairs):
        return _total(case, pairs, ages)
    bad = next(
        (e for pair in pairs for c in (pair.stream, pair.plain) if (e := c.last) is not None and not good(e)),
        None,
    )
    if bad is not None:
        return _other_failure(case, pairs, bad)
    return _not_cut(case, pairs)


def _cut(case: Case, pairs: list[Pair], cuts: list[float], n: int) -> Finding:
    stream, plain = pairs[-1].stream.last, pairs[-1].plain.last
    assert stream is not None
    assert plain is not None
    made = plain.attribution
    code = made.code if made is not None and made.code.startswith("timeout.") else "timeout.first_byte"
    middle, spread = sum(cuts) / len(cuts), (max(cuts) - min(cuts)) / 2
    off = spread + _uncertainty(pairs[-1].plain)
    pure = len(cuts) == n
    known = match(middle, code.partition(".")[2], made.product if made else None, off)
    matches = " or ".join(f"{timer.product} {timer.timer} ({timer.seconds:g} s)" for timer in known)
    figures = {"cutoff": Figure(middle, "s", len(cuts), middle - off, middle + off), **_speed(stream)}
    outlived = stream.timeline.last_byte or 0.0
    apart = f"not streamed: {_how(plain)} after {middle:.1f} ± {off:.1f} s"
    beside = f"streamed, same prompt and length, at the same time: complete after {outlived:.1f} s"
    rows = [("seen", f"{apart}; {beside}"), ("matches", matches or "no known timer")]
    return conclude(
        case,
        code,
        plain,
        **({} if plain.status is not None else {"layer": Layer.UNKNOWN}),
        client=pairs[-1].plain.trial.client,
        factor=Factor.STREAM if pure else None,
        observed=Observed(len(cuts), n),
        control=stream.id,
        variant=plain.id,
        confounders=tuple(c for c in confounders(stream, plain) if c != "the bodies differ"),
        title=f"Long answers that are not streamed are cut after {middle:.1f} s",
        detail=(*rows, *_cliff(case, stream, middle)),
        figures=figures,
        conditions=_conditions(plain),
        confidence=Confidence.HIGH
        if pure and n >= REPEATS
        else Confidence.MEDIUM
        if pure
        else Confidence.LOW,
        reason=None if pure else Reason.MIXED,
        next_test="more pairs (--set pairs=3)" if n < REPEATS else None,
        advice=f"Stream, or cap answers that are not streamed below {_tokens(stream, middle) or 'that length'} tokens, "
        "or raise the read timer of the layer that cut.",
        evidence=tuple(
            e.id for pair in pairs for call in (pair.stream, pair.plain) if (e := call.last) is not None
        ),
    )


def _total(case: Case, pairs: list[Pair], ages: list[float]) -> Finding:
    """Both sides ended at the same age, one of them while tokens flowed: a limit on the whole, not on the first byte."""
    plain, stream = pairs[-1].plain.last, pairs[-1].stream.last
    assert plain is not None
    assert stream is not None
    middle = sum(ages) / len(ages)
    off = (max(ages) - min(ages)) / 2 + _uncertainty(pairs[-1].plain)
    made = plain.attribution if plain.status is not None else None
    known = match(middle, "total", made.product if made else None, off)
    return conclude(
        case,
        "timeout.total",
        plain,
        **({} if made else {"layer": Layer.UNKNOWN}),
        client=pairs[-1].plain.trial.client,
        observed=Observed(2 * len(pairs), 2 * len(pairs)),
        title=f"Answers are cut after {middle:.1f} s, streamed or not",
        detail=(
            (
                "seen",
                f"both sides ended after {middle:.1f} ± {off:.1f} s: not streamed {_how(plain)}; streamed {shown(stream)}",
            ),
            ("because", "both sides were ended at the same age, so streaming is not the cause"),
            (
                "matches",
                " or ".join(f"{t.product} {t.timer} ({t.seconds:g} s)" for t in known) or "no known timer",
            ),
        ),
        figures={"cutoff": Figure(middle, "s", len(ages), middle - off, middle + off)},
        conditions=_conditions(plain),
        confidence=Confidence.MEDIUM,
        evidence=_evidence(pairs),
    )


def _conditions(exchange: Exchange) -> dict[str, object]:
    return {**exchange.conditions, "concurrency": 2, "client": "cold", "cache": "unknown"}


def _evidence(pairs: list[Pair]) -> tuple[str, ...]:
    return tuple(e.id for pair in pairs for call in (pair.stream, pair.plain) if (e := call.last) is not None)


def _how(exchange: Exchange) -> str:
    if exchange.status is None:
        return f"ended without an answer ({exchange.error.kind if exchange.error else 'closed'})"
    return str(exchange.status)


def _uncertainty(call: Call) -> float:
    """The way there and back (when the timer's owner began to count, when its answer arrived), and our own clock."""
    connect = call.last.timeline.connect if call.last is not None else None
    return max(2 * (connect or 0.0), _JITTER) + float(call.conditions.get("resolution", 0.0))


def _tpot(stream: Exchange) -> float | None:
    """Seconds per output token, by the server's own count: a chunk is not a token."""
    usage, timeline = stream.facts.get("usage") or {}, stream.timeline
    tokens = usage.get("completion_tokens", usage.get("output_tokens"))
    if (
        not isinstance(tokens, int)
        or tokens < 2
        or timeline.first_token is None
        or timeline.last_token is None
    ):
        return None
    return (timeline.last_token - timeline.first_token) / (tokens - 1)


def _speed(stream: Exchange) -> dict[str, Figure]:
    tpot, first = _tpot(stream), waited(stream, stream.timeline.first_token)
    figures = {"ttft": Figure(first, "s", 1)} if first is not None else {}
    return figures | ({"tpot": Figure(tpot, "s/token", 1)} if tpot is not None else {})


def _tokens(stream: Exchange, cutoff: float, tpot: float | None = None) -> int | None:
    """The longest answer, in tokens, that is whole before the cutoff at a speed; TTFT as it was measured."""
    per_token, first = tpot or _tpot(stream), waited(stream, stream.timeline.first_token)
    if not per_token or first is None or cutoff <= first:
        return None
    return math.floor((cutoff - first) / per_token) + 1


def _cliff(case: Case, stream: Exchange, cutoff: float) -> tuple[tuple[str, str], ...]:
    measured = _tpot(stream)
    longest = _tokens(stream, cutoff)
    if measured is None or longest is None:
        return ()
    rows = [f"at {measured * 1000:.3g} ms a token, as measured, an answer above {longest:,} tokens is lost"]
    speeds = [float(tpot) for tpot in case.params["speeds"]]
    rows += [f"at {tpot * 1000:.3g} ms: {_tokens(stream, cutoff, tpot):,}" for tpot in speeds]
    return (("cliff", " · ".join(rows)),)


def _other_failure(case: Case, pairs: list[Pair], bad: Exchange) -> Finding:
    """Something failed, but not as a timer that only the plain side meets."""
    calls = [call for pair in pairs for call in (pair.stream, pair.plain)]
    failed = [call for call in calls if call.last is not None and not good(call.last)]
    both = any(pair.stream in failed and pair.plain in failed for pair in pairs)
    ours = _by_us(bad)
    return conclude(
        case,
        outcome_code(bad),
        bad,
        **({"verdict": Verdict.INCONCLUSIVE, "reason": Reason.TOO_FEW} if ours else {}),
        client=failed[0].trial.client,
        observed=Observed(len(failed), len(calls)),
        detail=(
            (
                "seen",
                "; ".join(f"{_side(call)}: {shown(call.last)}" for call in calls if call.last is not None),
            ),
            ("because", "both sides failed, so streaming is not the cause" if both else "not isolated"),
        ),
        confidence=Confidence.LOW,
        evidence=tuple(call.last.id for call in calls if call.last is not None),
    )


def _side(call: Call) -> str:
    return "streamed" if isinstance(call.trial.request, Ask) and call.trial.request.stream else "not streamed"


def _not_cut(case: Case, pairs: list[Pair]) -> Finding:
    """No cut up to the time really held: a pass only where that is as long as was asked for."""
    stream, plain = pairs[-1].stream.last, pairs[-1].plain.last
    assert stream is not None
    assert plain is not None
    held = min(waited(e, e.timeline.headers) or 0.0 for pair in pairs if (e := pair.plain.last) is not None)
    hold = float(case.params["hold"])
    short = held < hold
    tpot = _tpot(stream)
    reach = (
        f"; customers whose answers take longer (above {_tokens(stream, held):,} tokens here) are not covered"
        if tpot
        else ""
    )
    return conclude(
        case,
        "not_measured" if short else "ok",
        None if short else plain,
        client=pairs[-1].plain.trial.client,
        observed=Observed(0, len(pairs)),
        title=f"No cut below {held:.1f} s; not tested beyond",
        detail=(
            (
                "seen",
                f"not streamed: {shown(plain)}; streamed: complete after {stream.timeline.last_byte or 0.0:.1f} s{reach}",
            ),
            *(
                (("because", f"the answer ended before the {hold:g} s that were to be held"),)
                if short
                else ()
            ),
        ),
        figures={"held": Figure(held, "s", len(pairs)), **_speed(stream)},
        conditions=_conditions(plain),
        reason=Reason.STOPPED_EARLY if short else None,
        evidence=tuple(
            e.id for pair in pairs for call in (pair.stream, pair.plain) if (e := call.last) is not None
        ),
    )


def bound(case: Case) -> Bound:
    pairs, tokens = int(case.params["pairs"]), int(case.params["tokens"])
    return Bound(2 * pairs, 2 * pairs * (80 + tokens), pairs * float(case.params["hold"]))


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
    long=True,
)
