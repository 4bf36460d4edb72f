"""What happened when, in characters on one time axis?

A line for each stream, for both sides of a twin, or for the requests that one call became.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from probes.redact import safe_text
from probes.reporters.axes import tracks
from probes.reporters.curve import bars, curve
from probes.reporters.tracks import is_stream, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from probes.model import Finding
    from probes.reporters.tracks import Manner, Seen, Track


class _Glyphs(NamedTuple):
    edge: str
    waiting: str
    opened: str
    tokens: str
    whole: str
    cut: str
    faulty: str
    ours: str
    lag: str

    def end(self, manner: Manner) -> str:
        """Its mark is called as it is."""
        mark: str = getattr(self, manner)
        return mark


_FANCY = _Glyphs("▏", "·", "░", "█", "▏", "✗", "!", "?", "~")
_ASCII = _Glyphs("|", ".", "-", "#", "|", "X", "!", "?", "~")
_MEANING = _Glyphs(
    "", "waiting", "bytes, no token", "tokens", "", "cut", "whole, but faulty end", "our limit", "we ran late"
)
_TIED = "\N{NO-BREAK SPACE}"
"""A mark and its meaning stand in one line."""
_LEAST, _NARROW = 24, 16
"""Columns: of a picture, and of a bar that has its words beside it."""
_APART = 6
"""Columns from one mark of the axis to the next, at the least."""
_SHORTEST, _LONGEST = 1e-3, 1e7
"""Seconds that can be drawn."""


def picture(finding: Finding, seen: Mapping[str, Seen], width: int, *, ascii_only: bool) -> list[str]:
    """Lines of at most `width` columns; none where the finding has nothing to show."""
    if (found := curve(finding)) is not None:
        return bars(found, width, ascii_only=ascii_only)
    return drawing(tracks(finding, seen), width, ascii_only=ascii_only)


def drawing(shown: Sequence[Track], width: int, *, ascii_only: bool) -> list[str]:
    whole = span(shown)
    if not shown or not _SHORTEST < whole < _LONGEST or width < _LEAST:
        return []
    glyphs = _ASCII if ascii_only else _FANCY
    labels = [_plain(track.label, ascii_only=ascii_only) for track in shown]
    label = max(map(len, labels)) + 1
    bar = width - label - 2 - max(len(track.outcome) for track in shown)
    named = list(zip(labels, shown, strict=True))
    if beside := bar >= _NARROW:
        rows = [f"{name:<{label}}{_bar(t, whole, bar, glyphs)} {t.outcome}" for name, t in named]
    else:
        label, bar = 0, width - 2
        rows = [
            row
            for name, t in named
            for row in (*wrap(f"{name}: {t.outcome}", width), _bar(t, whole, bar, glyphs))
        ]
    indent = " " * (label + 1 if beside else 1)
    used = set("".join(_bar(track, whole, bar, glyphs)[1:] for track in shown))
    meant = [f"{g} {said}" for g, said in zip(glyphs, _MEANING, strict=True) if said and g in used]
    legend = wrap("  ".join(each.replace(" ", _TIED) for each in meant), width - len(indent))
    return [*rows, indent + _axis(whole, bar), *(indent + line.replace(_TIED, " ") for line in legend)]


def _plain(label: str, *, ascii_only: bool) -> str:
    text = safe_text(label)
    return text.encode("ascii", "backslashreplace").decode() if ascii_only else text


def _bar(track: Track, whole: float, width: int, glyphs: _Glyphs) -> str:
    """The edge, then a column for each part of the time until the end, which is a mark of its own."""
    part = whole / width
    end = min(int((track.start + track.end) / part), width - 1)
    begin = min(int(track.start / part), end)
    came = track.arrivals if is_stream(track.exchange) else []
    if came and end == begin and end < width - 1:
        end += 1
    silences = [(*gap, track.late(*gap)) for gap in track.silences(2 * part)]
    chunks = sorted(map(track.since, track.exchange.chunk_times))
    cells = [
        _cell(track, column * part - track.start, part, silences, chunks, glyphs)
        for column in range(begin, end)
    ]
    if came and cells and glyphs.tokens not in cells:
        cells[-1] = glyphs.tokens  # all of them came within the last part, where the end stands too
    return glyphs.edge + " " * begin + "".join(cells) + glyphs.end(track.manner)


def _cell(
    track: Track,
    at: float,
    part: float,
    silences: Sequence[tuple[float, float, bool]],
    chunks: Sequence[float],
    glyphs: _Glyphs,
) -> str:
    """What came in the part of the time that begins at `at`, since the request was sent."""
    line = track.exchange.timeline
    if line.first_token is not None and track.since(line.first_token) <= at:
        silent = [late for begin, end, late in silences if begin <= at and at + part <= end]
        if not silent or all(silent):
            return glyphs.lag if silent else glyphs.tokens
        return glyphs.opened if bisect_left(chunks, at) < bisect_left(chunks, at + part) else glyphs.waiting
    if any(at <= begin < at + part for begin, _, _ in silences):
        return glyphs.tokens  # they came and ended within it
    begun = line.first_byte if line.first_byte is not None else line.headers
    return glyphs.opened if begun is not None and track.since(begun) <= at else glyphs.waiting


def _axis(whole: float, width: int) -> str:
    """Round seconds below the columns where they fall."""
    least = whole * max(_APART, width // 8) / width
    unit = 10.0 ** math.floor(math.log10(least))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= least)
    line = ""
    for number in range(int(whole / step) + 1):
        column, said = int(number * step / whole * width), f"{number * step:g}"
        if column + len(said) + 2 > width + 1:
            break
        line = line.ljust(column) + said
    return f"{line} s"
