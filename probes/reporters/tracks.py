"""What came when in an exchange, and which of a finding's exchanges belong on one time axis?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from probes.model import Factor, Verdict
from probes.reporters.judged import as_judged
from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from probes.model import Call, Exchange, Finding, Run

OURS = frozenset({"deadline", "limit", "interrupted"})
"""Errors that are the probe's own bounds."""
MOST = 6
"""Streams of one finding that are shown."""
_ENDS = {"reset": "reset", "closed": "closed", "timeout": "given up", "lost": "lost", "protocol": "broken"}
_TWINS: Mapping[Factor, tuple[str, str]] = {
    Factor.STREAM: ("streamed", "not streamed"),
    Factor.LENGTH: ("shorter", "longer"),
}
_UNNAMED: Mapping[str, Factor] = {"length": Factor.STREAM, "buffering": Factor.LENGTH}
"""What the sides differ in by the kind, of a finding that puts nothing down to it."""
_SIDES: Mapping[Factor, Callable[[Seen], object]] = {
    Factor.CLIENT: lambda seen: seen.call.trial.client,
    Factor.ROUTE: lambda seen: seen.call.trial.route,
    Factor.HTTP_VERSION: lambda seen: seen.exchange.conditions.get("http_version"),
    Factor.ACCEPT_ENCODING: lambda seen: seen.sent("accept-encoding") or "no accept-encoding",
    Factor.SIZE: lambda seen: f"{seen.exchange.request.body_bytes:,} B",
}
_TOKENS, _BEATS = "vrk", "cpb"
"""Letters of `wire.facts`, which a reporter can't import: visible text, reasoning, tool calls; comments, pings, blanks."""
_COLUMNS = 65_536
LONG = 0.25
"""Seconds that a silence lasts at the least."""
_APART = 5
"""How many times as long as the usual gap between two tokens."""

_AT_ONCE, _BURST, _MANY = 0.05, 0.5, 8
"""Of the whole time, and in seconds: so many parts that come within are one burst."""


class Seen(NamedTuple):
    """An exchange, and the call that it is of."""

    call: Call
    exchange: Exchange

    def sent(self, name: str) -> str | None:
        """A header of the request as it left."""
        return next((value for key, value in self.exchange.request.headers if key.lower() == name), None)


@dataclass(frozen=True)
class Track:
    """One exchange; `start` is where it begins on the axis, its own times count from when the request was sent whole."""

    label: str
    start: float
    exchange: Exchange

    @cached_property
    def end(self) -> float:
        """When the error came or the last byte was there, since the request was sent whole; of a stream without end marker
        when it was over, since the end of its framing is no byte of a body.
        """
        seen, line = self.exchange, self.exchange.timeline
        if seen.error is not None or (is_stream(seen) and not seen.facts.get("terminal")):
            return self.since(line.end)
        failed = (seen.status or 0) >= 400
        return self.since(line.headers if failed else line.last_byte or line.end)

    def since(self, at: float | None) -> float:
        seconds = (at or 0.0) - (self.exchange.timeline.upload_end or 0.0)
        return max(seconds, 0.0) if math.isfinite(seconds) else 0.0

    @property
    def capped(self) -> bool:
        """The columns of its chunks or events end before it does."""
        seen = self.exchange
        return bool(seen.facts.get("columns_capped")) or len(seen.event_times) >= _COLUMNS

    @cached_property
    def arrivals(self) -> list[tuple[float, int]]:
        """(when, how many) of the parts of an answer that came: events with tokens of any channel; for what is no stream the
        tokens that its usage names, all at its end.
        """
        seen = self.exchange
        if not is_stream(seen):
            good = seen.error is None and 200 <= (seen.status or 0) < 300
            return [(self.end, _completion(seen.facts.get("usage")))] if good and seen.body_bytes else []
        pairs = zip(seen.event_times, seen.event_kinds, strict=False)
        came = Counter(self.since(at) for at, kind in pairs if kind in _TOKENS)
        return sorted(came.items())

    @cached_property
    def beats(self) -> list[float]:
        """When heartbeats came."""
        seen = self.exchange
        pairs = zip(seen.event_times, seen.event_kinds, strict=False)
        return sorted(self.since(at) for at, kind in pairs if kind in _BEATS)

    def silences(self, least: float) -> list[tuple[float, float]]:
        """(begin, end) of each time without tokens that lasts so long, from the first token to the end, as far as their
        times were kept.
        """
        times = [at for at, _ in self.arrivals]
        if times and not self.capped:
            times.append(max(self.end, times[-1]))
        return [(before, after) for before, after in pairwise(times) if after - before >= least]

    def late(self, begin: float, end: float) -> bool:
        """Our own process stood still for as long as would make a pause of it: what it stamped then came before."""
        stalls = self.exchange.conditions.get("stalls") or ()
        stood = sum(
            min(self.since(until), end) - max(self.since(since), begin)
            for since, until in stalls
            if self.since(until) > begin and self.since(since) < end
        )
        return stood > (end - begin) / 4

    def gaps(self) -> list[tuple[float, float]]:
        """The silences that stand out from the stream's own pace, by the pauses between its goes or by its parts: where
        each go holds many, the pauses between them are no pace. None that our own process may have made.
        """
        came = self.arrivals
        pauses = [later - earlier for (earlier, _), (later, _) in pairwise(came)]
        each = (came[-1][0] - came[0][0]) / (sum(n for _, n in came) - 1) if pauses else 0.0
        usual = min(median(pauses), each) if pauses else 0.0
        found = self.silences(max(LONG, self.end / 50, _APART * usual))
        return [(begin, end) for begin, end in found if not self.late(begin, end)]

    @cached_property
    def at_once(self) -> bool:
        """Many parts came within a moment, after a wait that is far longer: an answer that was held back, or a fast model's."""
        came = self.arrivals
        if not is_stream(self.exchange) or sum(n for _, n in came) < _MANY:
            return False
        return came[-1][0] - came[0][0] <= min(_AT_ONCE * self.end, _BURST)

    @property
    def outcome(self) -> str:
        made, error, status = self.exchange.attribution, self.exchange.error, self.exchange.status
        if error is not None:
            what = "our limit" if error.kind in OURS else _ENDS.get(error.kind, "ended")
        elif made is not None and made.code == "ok":
            what = "complete"
        elif made is not None and made.code == "client.parser":
            what = "misread" if self.exchange.facts.get("terminal") else "client left"
        elif status is not None and status >= 400:
            what = str(status)
        else:
            what = made.code.removeprefix("stream.").replace("_", " ") if made is not None else "ended"
        return f"{what} after {duration(self.end)}"


def by_id(run: Run) -> dict[str, Seen]:
    return {exchange.id: Seen(call, exchange) for call in as_judged(run) for exchange in call.exchanges}


def span(tracks: Sequence[Track]) -> float:
    """Seconds of the axis that all of them fit on."""
    return max((track.start + track.end for track in tracks), default=0.0)


def tracks(finding: Finding, seen: Mapping[str, Seen]) -> list[Track]:
    """Both sides of a twin, the requests that one call became, or the streams that the finding was read from."""
    evidence = [seen[name] for name in finding.evidence if name in seen]
    if finding.verdict is not Verdict.PASS:
        if finding.code == "retry.amplified":
            requests = list(_one_after_the_other([each.exchange for each in evidence]))
            return requests if len(requests) > 1 else []
        if sides := _sides(finding, seen, evidence):
            return sides
        if finding.code == "client.parser":
            return [*_streams(evidence), *_read_whole(finding, seen, evidence)][:MOST]
    return _streams(evidence)


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
    elif finding.factor not in _TWINS and not any(
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
    if factor in _TWINS:
        return _TWINS[factor]
    if factor in _SIDES:
        one, other = (str(_SIDES[factor](side))[:_LABEL] for side in (control, variant))
        if one != other:
            return one, other
    return _NO_NAMES


_LABEL, _NO_NAMES = 24, ("control", "variant")


def is_stream(exchange: Exchange) -> bool:
    """By its bytes, which are read as one where one was asked for."""
    return exchange.request.stream is not False and bool(exchange.facts.get("stream"))


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


def _completion(usage: object) -> int:
    """Tokens that an answer says it is; one where it does not say."""
    names = ("completion_tokens", "output_tokens")
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    return next((n for n in counts if isinstance(n, int) and 0 < n < _COLUMNS), 1)
