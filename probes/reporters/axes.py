"""Which of a finding's exchanges belong on one time axis, and where on it does each begin?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from probes.model import Factor, Verdict
from probes.reporters.tracks import Seen, Track, is_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from probes.model import Exchange, Finding

MOST = 6
"""Streams of one finding that are shown."""
_PLOTS = 3
"""Of one finding on a page; of a call that was repeated, or of many clients that met the same, the rest stands with the calls."""
_STREAMED = {True: "streamed", False: "not streamed"}
_TWINS: Mapping[Factor, tuple[str, str]] = {Factor.LENGTH: ("shorter", "longer")}
_UNNAMED: Mapping[str, Factor] = {"length": Factor.STREAM, "buffering": Factor.LENGTH}
"""What the sides differ in by the kind, of a finding that puts nothing down to it."""
_SIDES: Mapping[Factor, Callable[[Seen], object]] = {
    Factor.CLIENT: lambda seen: seen.call.trial.client,
    Factor.ROUTE: lambda seen: seen.call.trial.route,
    Factor.HTTP_VERSION: lambda seen: seen.exchange.conditions.get("http_version"),
    Factor.ACCEPT_ENCODING: lambda seen: seen.sent("accept-encoding") or "no accept-encoding",
    Factor.SIZE: lambda seen: f"{seen.exchange.request.body_bytes:,} B",
}
_LABEL, _NO_NAMES = 24, ("control", "variant")
_LIVES = frozenset({"lifetimes", "streams"})
"""The kinds whose streams are begun one after another."""
_TOGETHER = frozenset({"knocks", "ttft_curve"})
"""The kinds whose requests are many, and tell something together on an axis of their own."""


def tracks(finding: Finding, seen: Mapping[str, Seen]) -> list[Track]:
    """Both sides of a twin, the requests that one call became, or the streams that the finding was read from."""
    if finding.kind in _TOGETHER:
        return []
    evidence = [seen[name] for name in finding.evidence if name in seen]
    if finding.kind in _LIVES and any(is_stream(each.exchange) for each in evidence):
        return _lives(finding, seen)
    if finding.verdict is not Verdict.PASS:
        if finding.code == "retry.amplified":
            requests = list(_one_after_the_other([each.exchange for each in evidence]))
            return requests if len(requests) > 1 else []
        if sides := _sides(finding, seen, evidence):
            return sides
        if finding.code == "client.parser":
            return [*_streams(evidence), *_read_whole(finding, seen, evidence)][:MOST]
    return _streams(evidence)


def plots(finding: Finding, shown: Sequence[Track]) -> list[Track]:
    """Those that a page draws beside the finding: of streams that died together all, since one alone shows nothing of it."""
    return unlike(shown, MOST if finding.kind in _LIVES else _PLOTS)


def _lives(finding: Finding, seen: Mapping[str, Seen]) -> list[Track]:
    """All that were begun one after another, and those that went on beside them: one age is seen where each begins with its
    own request, one moment by the clock that they share.
    """
    streams = [each for each in seen.values() if each.call.case == finding.case and is_stream(each.exchange)]
    streams.sort(key=_began)
    age = finding.code.startswith("timeout.")
    found = [
        Track(f"stream {number}", 0.0 if age else _began(each) - _began(streams[0]), each.exchange)
        for number, each in enumerate(streams, 1)
    ]
    return unlike(found, MOST)


def _began(seen: Seen) -> float:
    """When its request was whole, by the clock of the step."""
    line = seen.exchange.timeline
    at = seen.call.trial.start + (seen.call.own_lag or 0.0) + (line.upload_end or 0.0)
    return at if math.isfinite(at) else 0.0


def _read_whole(finding: Finding, seen: Mapping[str, Seen], evidence: Sequence[Seen]) -> list[Track]:
    """The same stream as another client had it: what the one that left never saw."""
    clients = {each.call.trial.client for each in evidence}
    others = [
        each
        for each in seen.values()
        if each.call.case == finding.case and each.call.trial.client not in clients and _good(each.exchange)
    ]
    return _streams(others)[:1]


def _good(exchange: Exchange) -> bool:
    return exchange.attribution is not None and exchange.attribution.code == "ok"


def unlike(tracks: Sequence[Track], most: int) -> list[Track]:
    """As many of them, in their order: one of each way to end before a second of the same."""
    first: dict[tuple[str, bool], int] = {}
    for n, track in enumerate(tracks):
        left = track.exchange.facts.get("complete") is None and not track.exchange.facts.get("terminal")
        first.setdefault((track.outcome.partition(" after")[0], left), n)
    rest = [n for n in range(len(tracks)) if n not in first.values()]
    return [tracks[n] for n in sorted([*first.values(), *rest][:most])]


def _sides(finding: Finding, seen: Mapping[str, Seen], evidence: Sequence[Seen]) -> list[Track]:
    control, variant = seen.get(finding.control or ""), seen.get(finding.variant or "")
    if finding.factor is None and finding.kind == "length":
        control = next((each for each in reversed(evidence) if each.exchange.request.stream), None)
        variant = next((each for each in reversed(evidence) if each.exchange.request.stream is False), None)
    elif finding.factor not in {*_TWINS, Factor.STREAM} and not any(
        each and is_stream(each.exchange) for each in (control, variant)
    ):
        return []
    if control is None or variant is None:
        return []
    factor = finding.factor or _UNNAMED.get(finding.kind)
    labels = _labels(factor, control, variant) if factor is not None else _NO_NAMES
    return [Track(label, 0.0, side.exchange) for label, side in zip(labels, (control, variant), strict=True)]


def _labels(factor: Factor, control: Seen, variant: Seen) -> tuple[str, str]:
    """By what differed, where it can be said shortly."""
    if factor is Factor.STREAM:
        # Of bytes that are sent as they are the record does not say what they ask for; their answer shows it.
        sides = (
            bool(side.exchange.request.stream) or is_stream(side.exchange) for side in (control, variant)
        )
        one, other = map(_STREAMED.__getitem__, sides)
        return (one, other) if one != other else _NO_NAMES
    if factor in _TWINS:
        return _TWINS[factor]
    if factor in _SIDES:
        one, other = (str(_SIDES[factor](side))[:_LABEL] for side in (control, variant))
        if one != other:
            return one, other
    return _NO_NAMES


def _streams(evidence: Sequence[Seen]) -> list[Track]:
    """One of each client."""
    first: dict[str, Track] = {}
    for each in evidence:
        if is_stream(each.exchange):
            client = each.call.trial.client
            first.setdefault(client, Track(client[:_LABEL], 0.0, each.exchange))
    return list(first.values())[:MOST]


def _one_after_the_other(exchanges: Sequence[Exchange]) -> Iterator[Track]:
    start = 0.0
    for number, exchange in enumerate(exchanges, 1):
        paused = exchange.conditions.get("paused")
        start += paused if isinstance(paused, int | float) and math.isfinite(paused) else 0.0
        track = Track(f"request {number}", start, exchange)
        yield track
        start += track.end
