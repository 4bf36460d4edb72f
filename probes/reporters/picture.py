"""What happened when, side by side on one time axis?

Drawn from the exchanges that a finding names: the two sides of a twin, or the requests that one call became.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from probes.model import Factor, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from probes.model import Exchange, Finding, Run


class _Glyphs(NamedTuple):
    edge: str
    waiting: str
    opened: str
    tokens: str
    whole: str
    cut: str
    ours: str


_FANCY = _Glyphs("▏", "·", "░", "█", "▏", "✗", "?")
_ASCII = _Glyphs("|", ".", "-", "#", "|", "X", "?")
_MEANING = _Glyphs("", "waiting", "bytes, no token", "tokens", "", "cut", "our limit")
_LEAST, _NARROW = 24, 16
"""Columns: of a picture, and of a bar that has its words beside it."""
_APART = 6
"""Columns from one mark of the axis to the next, at the least."""
_SHORTEST, _LONGEST = 1e-3, 1e7
"""Seconds that can be drawn."""
_OURS = frozenset({"deadline", "limit", "interrupted"})
_ENDS = {"reset": "reset", "closed": "closed", "timeout": "given up", "lost": "lost", "protocol": "broken"}
_TWINS = {Factor.STREAM: ("streamed", "not streamed"), Factor.LENGTH: ("shorter", "longer")}


@dataclass(frozen=True, slots=True)
class _Track:
    """One exchange; `start` is where it begins on the axis, its own times count from there."""

    label: str
    start: float
    exchange: Exchange

    @property
    def end(self) -> float:
        """When the error came or the last byte was there, since the request was sent whole."""
        line = self.exchange.timeline
        if self.exchange.error is not None:
            return self.since(line.end)
        failed = (self.exchange.status or 0) >= 400
        return self.since(line.headers if failed else line.last_byte or line.end)

    def since(self, at: float | None) -> float:
        seconds = (at or 0.0) - (self.exchange.timeline.upload_end or 0.0)
        return max(seconds, 0.0) if math.isfinite(seconds) else 0.0

    def silences(self, least: float) -> list[tuple[float, float]]:
        """(begin, end) of each that lasts so long, from the first chunk to the end, as far as their times were kept."""
        times = [self.since(at) for at in self.exchange.chunk_times]
        if times and not self.exchange.facts.get("columns_capped"):
            times.append(self.end)
        return [(before, after) for before, after in pairwise(times) if after - before >= least]

    @property
    def outcome(self) -> str:
        made, error, status = self.exchange.attribution, self.exchange.error, self.exchange.status
        if error is not None:
            what = "our limit" if error.kind in _OURS else _ENDS.get(error.kind, "ended")
        elif made is not None and made.code == "ok":
            what = "complete"
        else:
            what = (
                str(status)
                if status is not None and status >= 400
                else made.code
                if made is not None
                else "ended"
            )
        return f"{what} after {self.end:.1f} s"


def by_id(run: Run) -> dict[str, Exchange]:
    return {exchange.id: exchange for call in run.calls for exchange in call.exchanges}


def picture(
    finding: Finding, exchanges: Mapping[str, Exchange], width: int, *, ascii_only: bool
) -> list[str]:
    """Lines of at most `width` columns; none where the finding has no two exchanges to show."""
    tracks = _tracks(finding, exchanges)
    span = max((track.start + track.end for track in tracks), default=0.0)
    if len(tracks) < 2 or not _SHORTEST < span < _LONGEST or width < _LEAST:
        return []
    glyphs = _ASCII if ascii_only else _FANCY
    label = max(len(track.label) for track in tracks) + 1
    bar = width - label - 2 - max(len(track.outcome) for track in tracks)
    if beside := bar >= _NARROW:
        rows = [f"{t.label:<{label}}{_bar(t, span, bar, glyphs)} {t.outcome}" for t in tracks]
    else:
        label, bar = 0, width - 2
        rows = [
            row
            for t in tracks
            for row in (*wrap(f"{t.label}: {t.outcome}", width), _bar(t, span, bar, glyphs))
        ]
    indent = " " * (label + 1 if beside else 1)
    used = set("".join(_bar(track, span, bar, glyphs)[1:] for track in tracks))
    legend = "  ".join(f"{g} {said}" for g, said in zip(glyphs, _MEANING, strict=True) if said and g in used)
    return [*rows, indent + _axis(span, bar), *wrap(legend, width, initial_indent=indent if beside else "")]


def _tracks(finding: Finding, exchanges: Mapping[str, Exchange]) -> list[_Track]:
    seen = [exchanges[name] for name in finding.evidence if name in exchanges]
    if finding.verdict is Verdict.PASS:
        return []
    if finding.code == "retry.amplified":
        return list(_one_after_the_other(seen))
    if finding.factor in _TWINS:
        sides = [exchanges.get(finding.control or ""), exchanges.get(finding.variant or "")]
        labels = _TWINS[finding.factor]
        return [
            _Track(label, 0.0, side) for label, side in zip(labels, sides, strict=True) if side is not None
        ]
    if finding.kind != "length":
        return []
    streamed = [e for e in seen if e.request.stream][-1:]
    whole = [e for e in seen if e.request.stream is False][-1:]
    names = _TWINS[Factor.STREAM]
    return [_Track(names[not side.request.stream], 0.0, side) for side in (*streamed, *whole)]


def _one_after_the_other(exchanges: Sequence[Exchange]) -> Iterator[_Track]:
    start = 0.0
    for number, exchange in enumerate(exchanges, 1):
        paused = exchange.conditions.get("paused")
        start += paused if isinstance(paused, int | float) and math.isfinite(paused) else 0.0
        track = _Track(f"request {number}", start, exchange)
        yield track
        start += track.end


def _bar(track: _Track, span: float, width: int, glyphs: _Glyphs) -> str:
    """The edge, then a column for each part of the time until the end, which is a mark of its own."""
    part = span / width
    end = min(int((track.start + track.end) / part), width - 1)
    begin = min(int(track.start / part), end)
    silences = track.silences(2 * part)
    cells = [
        _cell(track, column * part - track.start, part, silences, glyphs) for column in range(begin, end)
    ]
    return glyphs.edge + " " * begin + "".join(cells) + _end(track.exchange, glyphs)


def _cell(
    track: _Track, at: float, part: float, silences: Sequence[tuple[float, float]], glyphs: _Glyphs
) -> str:
    """What came in the part of the time that begins at `at`, since the request was sent."""
    line = track.exchange.timeline
    if line.first_token is not None and track.since(line.first_token) <= at:
        silent = any(begin <= at and at + part <= end for begin, end in silences)
        return glyphs.waiting if silent else glyphs.tokens
    begun = line.first_byte if line.first_byte is not None else line.headers
    return glyphs.opened if begun is not None and track.since(begun) <= at else glyphs.waiting


def _end(exchange: Exchange, glyphs: _Glyphs) -> str:
    if exchange.error is not None and exchange.error.kind in _OURS:
        return glyphs.ours
    return (
        glyphs.whole if exchange.attribution is not None and exchange.attribution.code == "ok" else glyphs.cut
    )


def _axis(span: float, width: int) -> str:
    """Round seconds below the columns where they fall."""
    least = span * max(_APART, width // 8) / width
    unit = 10.0 ** math.floor(math.log10(least))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= least)
    line = ""
    for number in range(int(span / step) + 1):
        column, said = int(number * step / span * width), f"{number * step:g}"
        if column + len(said) + 2 > width + 1:
            break
        line = line.ljust(column) + said
    return f"{line} s"
