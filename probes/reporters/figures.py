"""How does a page show one call, for eyes, fingers and screen readers alike?"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from probes.redact import safe_text
from probes.reporters.picture import drawing
from probes.reporters.story import story
from probes.reporters.tracks import Track, is_stream, span
from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from probes.model import Exchange

_PHASES = (
    ("dns", "name look-up"),
    ("connect", "connect"),
    ("tls", "TLS"),
    ("upload_end", "request sent"),
    ("headers", "wait for headers"),
    ("first_byte", "to the first byte"),
    ("first_event", "to the first event"),
    ("first_token", "to the first token"),
    ("first_content", "to visible text"),
    ("last_token", "tokens"),
    ("last_byte", "rest of the body"),
)
_NEXT = {"dns": "name look-up", "connect": "connect", "tls": "TLS", "upload": "sending"}
_ROWS, _WIDTH = 10, 100
_LAST, _LINES = 800, 12
"""Characters, and lines with something in them, that came last and are shown as they are."""


class Phase(NamedTuple):
    """Seconds from the start of the exchange."""

    name: str
    begin: float
    end: float
    cut: bool = False


def text(words: str) -> str:
    """Of a stranger, as text of the page."""
    return escape(safe_text(words))


def lines(words: str) -> str:
    """A line end in it stays one."""
    return "\n".join(map(text, words.split("\n")))


def phases(exchange: Exchange) -> list[Phase]:
    """One after the other, of those whose end is known; what the exchange ended in is cut where it was no end."""
    found, before, line = [], 0.0, exchange.timeline
    for mark, name in _PHASES:
        at = getattr(line, mark)
        if at is None:
            continue
        if mark == "upload_end" and line.upload_start is not None:
            before = max(before, min(line.upload_start, at))
        if at > before or mark not in {"first_content", "last_token"}:
            found.append(Phase(name, before, max(at, before)))
        before = max(before, at)
    if exchange.error is not None and line.end is not None and line.end > before:
        found.append(Phase(f"silence, {_waiting(exchange)}", before, line.end, cut=True))
    return found


def _waiting(exchange: Exchange) -> str:
    """For what, in vain."""
    if exchange.error is not None and exchange.error.phase in _NEXT:
        return f"{_NEXT[exchange.error.phase]} in vain"
    return "then cut" if exchange.timeline.headers is not None else "no headers"


def waterfall(exchange: Exchange) -> Iterator[str]:
    """A table, whose middle column is drawn."""
    found = phases(exchange)
    whole = max((phase.end for phase in found), default=0.0)
    if not found or whole <= 0:
        return
    yield '<table class="phases">'
    yield f"<caption>Where {duration(whole)} went</caption>"
    yield '<thead><tr><th scope="col">phase</th><th scope="col"><span class="unseen">when</span></th><th scope="col">took</th></tr></thead>'
    yield "<tbody>"
    for phase in found:
        left, wide = 100 * phase.begin / whole, 100 * (phase.end - phase.begin) / whole
        kind = "cut" if phase.cut else "spent"
        bar = f'<rect class="{kind}" x="{min(left, 99.4):.2f}%" y="0" width="{max(wide, 0.6):.2f}%" height="100%"/>'
        yield (
            f'<tr><th scope="row">{phase.name}</th><td class="bar"><svg aria-hidden="true">{bar}</svg></td>'
            f"<td>{duration(phase.end - phase.begin)}</td></tr>"
        )
    yield "</tbody>"
    yield "</table>"


def group(tracks: Sequence[Track], numbers: Mapping[str, int], place: str) -> Iterator[str]:
    """Each track above the next, on one axis; `numbers` are those of the page's columns. Where no script runs, there is
    the picture in characters.
    """
    whole = span(tracks)
    if not tracks:
        return
    request = "first request" if any(track.start for track in tracks) else "request"
    top = max((sum(n for _, n in t.arrivals) for t in tracks if is_stream(t.exchange)), default=0)
    yield f'<div class="tracks" id="{place}">'
    if drawn := drawing(tracks, _WIDTH, ascii_only=False):
        yield f'<pre class="wide fallback" aria-hidden="true">{lines(chr(10).join(drawn))}</pre>'
    for track in tracks:
        label = text(track.label)
        yield "<figure>"
        begun = f", begun {duration(track.start)} after the first" if track.start else ""
        yield f"<figcaption><strong>{label}</strong>{begun}: {text(story(track))}</figcaption>"
        number = numbers.get(track.exchange.id)
        if number is not None and whole > 0:
            yield (
                f'<div class="plot" data-columns="{number}" data-start="{track.start:.6f}" data-span="{whole:.6f}" {_height(track, top)} '
                f'data-end="{track.manner}" data-label="{label}"></div>'
            )
            unit = "parts" if is_stream(track.exchange) else "tokens"
            rest = f"{unit} of the answer that had come, by the seconds since the {request}"
            yield f'<p class="readout" data-rest="{rest}">{rest}</p>'
        yield "</figure>"
    yield "</div>"


def _height(track: Track, top: int) -> str:
    """Streams share their scale, in parts, which need not be tokens; what came in one piece is as many as its usage says."""
    if is_stream(track.exchange):
        return f'data-top="{top}" data-unit="part"'
    return f'data-top="{sum(n for _, n in track.arrivals)}" data-unit="token"'


def arrivals(track: Track) -> Iterator[str]:
    """The plot in numbers: parts with tokens, heartbeats and the longest silence in each tenth of the time."""
    came, beats, part = track.arrivals, track.beats, track.end / _ROWS
    if not came or part <= 0:
        return
    gaps = [gap for gap in ((0.0, came[0][0]), *track.silences(0.0)) if not track.late(*gap)]
    yield "<details>"
    yield "<summary>The plot as a table</summary>"
    yield '<table class="numbers">'
    heads = "".join(
        f'<th scope="col">{head}</th>' for head in ("time", "parts", "heartbeats", "longest silence")
    )
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for row in range(_ROWS):
        begin, end = row * part, (row + 1) * part if row < _ROWS - 1 else float("inf")
        tokens = sum(n for at, n in came if begin <= at < end)
        alive = sum(begin <= at < end for at in beats)
        silent = max((min(b, end) - max(a, begin) for a, b in gaps if a < end and b > begin), default=0.0)
        cells = (
            f"{duration(begin)} to {duration(min(end, track.end))}",
            f"{tokens:,}",
            f"{alive:,}",
            duration(silent),
        )
        first, *more = cells
        yield f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in more)}</tr>'
    yield "</tbody>"
    yield "</table>"
    yield "</details>"


def last_words(exchange: Exchange) -> Iterator[str]:
    """How the body ended, as it came."""
    kept = (exchange.body_tail or exchange.body_head)[-_LAST:].decode("utf-8", "replace")
    last = [line for line in kept.splitlines() if line.strip()][-_LINES:]
    if not last:
        return
    more = "… " if exchange.body_bytes > len("\n".join(last).encode()) else ""
    yield "<details>"
    yield "<summary>What came last, as it came</summary>"
    yield f"<pre>{more}{lines(chr(10).join(last))}</pre>"
    yield "</details>"


def plotted(exchange: Exchange) -> bool:
    """Whether there is something to plot."""
    return is_stream(exchange) and bool(exchange.event_times)
