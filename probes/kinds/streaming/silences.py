"""Which streams stood still in the middle of an answer that ended well?

Silence counts from the first text or tool call on: before it, and between parts of reasoning, a model may think unseen.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from probes import timers
from probes.arrivals import FEWEST, RESOLUTION, How, arrivals
from probes.kinds.conclude import conclude, is_good
from probes.kinds.length.clock import LIBRARIES
from probes.kinds.words import clients_of, duration, listed
from probes.model import Confidence, Layer, Observed, Verdict
from probes.samples import stalled
from probes.sampling import conditions_of, figure, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.model import Call, Case, Exchange, Figure, Finding

PATIENCE = 10.0
"""Seconds that a person's attention stays with what does not move (Nielsen, as told at
https://lettersremain.com/the-three-important-response-time-limits/), and that OkHttp waits for a byte.
"""
_TIMES = 20
"""Times the usual gap, the server's own or the promised one, whichever is longer."""
_FINE = 10
"""Times the resolution that all other gaps take together: what came faster came in portions."""
_AT_ONCE, _PLAINLY = 8, 3
"""Parts behind a silence, and times what the stream's pace makes in that moment: so many were held."""
_TOKENS, _QUIET = "vrk", {"c": "comment", "p": "ping", "b": "blank", "o": "event without text"}
_FEW = 3
"""Silences: more of them in a stream that comes in steps are a buffer's, which is another question's."""
_SEVERAL = {
    "comment": "comments",
    "ping": "pings",
    "blank": "blanks",
    "event without text": "events without text",
}
_TIMES_EVENTS = frozenset({"LangChain"})
"""Libraries whose idle timer looks at events, so that a comment does not keep them."""
_NAMED = 3


class Silence(NamedTuple):
    """From `begin` to `end`; `seconds` of it are not our own lag's. `before`: parts that had come. `usual`: seconds for
    each part else. `alive`: what came meanwhile, by kind, and `apart` how long no byte did. `then`: the letter of the part
    that ended it, empty where that was the stream's end. `behind`: parts that came with that one at once, 0
    where they are no more than its pace and our clock account for.
    """

    begin: float
    end: float
    seconds: float
    before: int
    usual: float
    alive: dict[str, int]
    apart: float
    then: str
    behind: int


def stood(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """At most one finding, of the good streams that stood still."""
    good = [call for call in calls if is_good(call) and call.last is not None]
    found = [
        (call, still) for call in good if call.last and (still := silences(call.last, *_bounds(case, call)))
    ]
    if not found:
        return []
    call, longest = max(
        ((call, max(still, key=lambda s: s.seconds)) for call, still in found),
        key=lambda each: each[1].seconds,
    )
    way = conditions_of(call)
    every = [(of, each) for of, still in found if conditions_of(of) == way for each in still]
    last = call.last
    assert last is not None
    excused = _excuse(last, longest)
    where = f"in {len(found)} of {len(good)} streams, through {listed(clients_of([c for c, _ in found]))}"
    return [
        conclude(
            case,
            "stream.stalled",
            last,
            verdict=Verdict.WARN if excused else Verdict.FAIL,
            layer=Layer.UNKNOWN,
            product=None,
            vendor_code=None,
            confidence=Confidence.MEDIUM if excused else Confidence.HIGH,
            title=f"The stream stands still for {duration(longest.seconds)} {'in its middle' if longest.then else 'before its end'}",
            observed=Observed(len(found), len(good)),
            detail=(("seen", f"{_seen(last, longest)}; {where}"), *_rows(longest, excused)),
            figures=_figures(every),
            conditions={**last.conditions, **way._asdict()},
            next_test="the same stream straight to the origin: does it stand still there, too?",
            evidence=tuple(c.last.id for c, _ in found if c.last is not None),
        )
    ]  # fmt: skip


def stands_still(case: Case, call: Call) -> bool:
    return call.last is not None and bool(silences(call.last, *_bounds(case, call)))


def _bounds(case: Case, call: Call) -> tuple[float, float]:
    return float(call.conditions.get("resolution", RESOLUTION)), case.target.slo.tpot or 0.0


def silences(exchange: Exchange, resolution: float = RESOLUTION, promised: float = 0.0) -> list[Silence]:
    """Those far longer than the stream's own gaps, than `promised` seconds a token, and than a person waits."""
    columns = list(zip(exchange.event_times, exchange.event_kinds, strict=False))
    parts = [(at, kind) for at, kind in columns if kind in _TOKENS]
    told = [at for at, kind in columns if kind not in "cpb"]
    if not parts:
        return []
    times = [at for at, _ in parts]
    moments = list(_told_apart([*times, max(told[-1], times[-1])], resolution))
    gaps = [later - sooner for sooner, later in pairwise(moments)]
    usual = [gap for gap in gaps if gap < PATIENCE]
    if len(usual) < FEWEST or sum(usual) < _FINE * resolution:
        return []
    pace = max(median(gaps), sum(usual) / len(usual))
    each = sum(usual) / len(times)
    least = max(PATIENCE, _TIMES * max(pace, promised))
    found = []
    for begin, end in pairwise(moments):
        before = bisect_right(times, begin)
        seconds = end - begin - _ours(exchange, begin, end)
        if seconds < least or parts[before - 1][1] == "r":
            continue
        behind = bisect_right(times, end + 2 * resolution) - before
        made = 2 * resolution / each if each else 0.0
        if behind < _AT_ONCE + _PLAINLY * made or stalled(exchange, end):
            behind = 0
        then = parts[before][1] if before < len(parts) else ""
        alive = _alive(columns, begin, end)
        apart = _apart(exchange.chunk_times, begin, end)
        found.append(Silence(begin, end, seconds, before, each, alive, apart, then, behind))
    return [] if len(found) > _FEW and arrivals(exchange, resolution).how is How.STEPS else found


def _told_apart(times: Sequence[float], resolution: float) -> Iterator[float]:
    """Without those that come so soon after another that only the reading is between them; a silence keeps both its sides."""
    kept = last = times[0]
    yield kept
    for at in times[1:]:
        if at - last >= PATIENCE and last > kept:
            yield last
        if at - kept >= resolution:
            yield at
            kept = at
        last = at


def _ours(exchange: Exchange, begin: float, end: float) -> float:
    """Seconds of it in which this process ran late, or read what had piled up since."""
    stalls = exchange.conditions.get("stalls") or ()
    late = [(since, until + (until - since)) for since, until in stalls]
    return float(sum(max(min(until, end) - max(since, begin), 0.0) for since, until in late))


def _alive(columns: Sequence[tuple[float, str]], begin: float, end: float) -> dict[str, int]:
    kinds = [kind for at, kind in columns if begin < at < end and kind in _QUIET]
    return {name: n for kind, name in _QUIET.items() if (n := kinds.count(kind))}


def _apart(times: Sequence[float], begin: float, end: float) -> float:
    inside = times[bisect_right(times, begin) : bisect_left(times, end)]
    return max(later - sooner for sooner, later in pairwise((begin, *inside, end)))


def _excuse(exchange: Exchange, silence: Silence) -> str:
    """What a model may do in silence and legally: that hurts who waits, and nothing is broken."""
    if silence.then == "k":
        return "a tool call came then: many servers make one whole before they send any of it"
    if silence.then == "r":
        return "reasoning came then: the model may have thought before it"
    usage = exchange.facts.get("usage") or {}
    details = usage.get("completion_tokens_details") or usage.get("output_tokens_details") or {}
    thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
    if thought and not (exchange.facts.get("channels") or {}).get("reasoning"):
        return f"the usage counts {thought} tokens of reasoning that were not shown: the model may have thought meanwhile"
    return ""


def _seen(exchange: Exchange, silence: Silence) -> str:
    begin = silence.begin - (exchange.timeline.upload_end or 0.0)
    return (
        f"after {silence.before} parts, {duration(max(begin, 0.0))} after the request, no text for "
        f"{duration(silence.seconds)}, where parts came {duration(silence.usual)} apart else"
    )


def _rows(silence: Silence, excused: str) -> Iterator[tuple[str, str]]:
    if silence.alive:
        kinds = listed([f"{n} {kind if n == 1 else _SEVERAL[kind]}" for kind, n in silence.alive.items()])
        yield (
            "meanwhile",
            f"{kinds} came, and no byte for {duration(silence.apart)} at the most: the connection was alive",
        )
    elif silence.apart < silence.seconds / 2:
        yield (
            "meanwhile",
            f"bytes came all the same, {duration(silence.apart)} apart at the most, and no event was whole",
        )
    else:
        yield "meanwhile", "not one byte came, so timers of idle connections ran on the whole way"
    if given_up := _given_up(silence):
        yield "too long", f"for whoever waits no longer by default: {given_up}"
    if excused:
        yield "because", f"{excused}; so this need not be a fault"
    elif silence.behind:
        yield (
            "because",
            f"{silence.behind} parts came at once behind it: they were made meanwhile, and something held them",
        )


def _given_up(silence: Silence) -> str:
    """The longest default timers that the silence outlasts: of clients' libraries, then of what stands on the way."""
    idle = [timer for timer in timers.timers() if timer.kind == "idle" and timer.default]
    met = [
        timer for timer in idle
        if timer.seconds + timer.tolerance < (silence.seconds if timer.product in _TIMES_EVENTS and "event without text" not in silence.alive else silence.apart)
    ]  # fmt: skip
    met.sort(key=lambda timer: -timer.seconds)
    ours = [timer for timer in met if timer.product in LIBRARIES][:_NAMED]
    theirs = [timer for timer in met if timer.product not in LIBRARIES][:_NAMED]
    return (
        listed([f"{timer.product} ({timer.seconds:g} s)" for timer in (*ours, *theirs)])
        if ours or theirs
        else ""
    )


def _figures(every: Sequence[tuple[Call, Silence]]) -> dict[str, Figure]:
    """The longest, which `low` and `high` hold beside the shortest, and what came between parts else."""
    lengths = figure([sampled(call, each.seconds) for call, each in every])
    seconds = [each.seconds for _, each in every]
    longest = replace(lengths, value=max(seconds), low=min(seconds), high=max(seconds), spread=None)
    apart = max(each.apart for _, each in every)
    return {
        "silence_max": longest,
        "chunk_gap": figure([sampled(call, each.usual) for call, each in every]),
        "transport_gap_max": replace(longest, value=apart, low=None, high=None),
    }
