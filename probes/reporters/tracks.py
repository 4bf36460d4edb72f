"""What came when in an exchange, by the time since its request?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from probes.reporters.judged import as_judged
from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Exchange, Run

_ENDS = {"reset": "reset", "closed": "closed", "timeout": "given up", "lost": "lost", "protocol": "broken"}
_TOKENS, _BEATS = "vrk", "cpb"
"""Letters of `wire.facts`, which a reporter can't import: visible text, reasoning, tool calls; comments, pings, blanks."""
_COLUMNS = 65_536
LONG = 0.25
"""Seconds that a silence lasts at the least."""
_APART = 5
"""How many times as long as the usual gap between two tokens."""

_AT_ONCE, _BURST, _MANY = 0.05, 0.5, 8
"""Of the whole time, and in seconds: so many parts that come within are one burst."""


class Manner(StrEnum):
    """How it ended, as a mark in a picture; `FAULTY`: whole, without the proper end of a stream."""

    WHOLE = "whole"
    FAULTY = "faulty"
    CUT = "cut"
    OURS = "ours"


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

    @cached_property
    def lags(self) -> list[tuple[float, float]]:
        """When our own process stood still, and read what had piled up meanwhile: what came then may have come before."""
        found: list[tuple[float, float]] = []
        for since, until in sorted(self.exchange.conditions.get("stalls") or ()):
            begin, end = self.since(since), min(self.since(until + (until - since)), self.end)
            if found and begin <= found[-1][1]:
                begin, end = found[-1][0], max(found.pop()[1], end)
            if end > begin:
                found.append((begin, end))
        return found

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
        """Many parts came within a moment, after a wait that is far longer, and not our own: an answer that was held back, or
        a fast model's.
        """
        came = self.arrivals
        if not is_stream(self.exchange) or sum(n for _, n in came) < _MANY:
            return False
        return came[-1][0] - came[0][0] <= min(_AT_ONCE * self.end, _BURST) and not self.late(0.0, came[0][0])

    @property
    def in_doubt(self) -> bool:
        """All that is wrong with it is a character that the model may have written itself."""
        made = self.exchange.attribution
        return made is not None and made.code == "stream.corrupted" and bool(made.extracted.get("maybe"))

    @property
    def manner(self) -> Manner:
        made, error = self.exchange.attribution, self.exchange.error
        if error is not None and error.ours:
            return Manner.OURS
        if made is not None and made.code == "stream.no_end":
            return Manner.FAULTY
        return Manner.WHOLE if self.in_doubt or (made is not None and made.code == "ok") else Manner.CUT

    @property
    def outcome(self) -> str:
        made, error, status = self.exchange.attribution, self.exchange.error, self.exchange.status
        if error is not None:
            what = "our limit" if error.ours else _ENDS.get(error.kind, "ended")
        elif made is not None and made.code == "ok":
            what = "complete"
        elif made is not None and made.code == "client.parser":
            what = "misread" if self.exchange.facts.get("terminal") else "client left"
        elif self.manner is Manner.FAULTY:
            what = "faulty end"
        elif self.in_doubt:
            what = "in doubt"
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


def is_stream(exchange: Exchange) -> bool:
    """By its bytes, which are read as one where one was asked for."""
    return exchange.request.stream is not False and bool(exchange.facts.get("stream"))


def _completion(usage: object) -> int:
    """Tokens that an answer says it is; one where it does not say."""
    names = ("completion_tokens", "output_tokens")
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    return next((n for n in counts if isinstance(n, int) and 0 < n < _COLUMNS), 1)
