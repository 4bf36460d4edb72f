"""What does the picture of one exchange show, in a sentence for somebody who has never seen one?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.reporters.ends import broken, ended
from probes.reporters.portions import portions
from probes.reporters.tracks import LONG, is_stream
from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.reporters.portions import Portions
    from probes.reporters.tracks import Track

_MOMENT = 1e-3
_TAIL = 1.0
"""Seconds after the last token that are worth a word where the answer is whole."""
_CODING = 120
_EVEN = 2.0
"""Times the mean pace: what comes within is no pause."""


def story(track: Track) -> str:
    """From the request on its way to the last byte, or to what ended it."""
    parts = list(_stream(track) if is_stream(track.exchange) else _answer(track))
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper()}{text[1:]}."


def _answer(track: Track) -> Iterator[str]:
    """One that comes in one piece, or not at all."""
    seen = track.exchange
    waited = duration(track.since(seen.timeline.headers))
    if not seen.request.method and seen.error is None:
        yield f"a connection, opened within {duration(track.end)}, and nothing asked"
    elif seen.status is None:
        yield f"no answer: after {duration(track.end)} {broken(seen)}"
    elif seen.status >= 300:
        yield f"{seen.status} came after {waited}, instead of an answer"
    elif seen.error is not None:
        yield f"an answer began after {waited}"
        yield f"after {duration(track.end)} {broken(seen)}"
    else:
        yield f"nothing for {waited}, then the answer, {seen.body_bytes:,} bytes; over after {duration(track.end)}"


def _stream(track: Track) -> Iterator[str]:
    arrivals = track.arrivals
    if not arrivals:
        beats = f", only {_beats(len(track.beats))}" if track.beats else ""
        yield f"no token came in {duration(track.end)}{beats}"
    else:
        yield from _tokens(track, arrivals)
        yield _late(track)
    yield from ended(track)
    if track.capped:
        yield "it goes on beyond what was kept of its times"


def _tokens(track: Track, arrivals: list[tuple[float, int]]) -> Iterator[str]:
    first, last = arrivals[0][0], arrivals[-1][0]
    n, early = sum(tokens for _, tokens in arrivals), sum(at < first for at in track.beats)
    if track.at_once:
        alive = f" but {_beats(early)}" if early else ""
        within = f", within {duration(last - first)}" if last - first >= _MOMENT else ""
        yield f"nothing{alive} for {duration(first)}, then all {n:,} parts of the answer at once{within}"
        yield _compressed(track)
    else:
        alive = f", behind {_beats(early)}" if early else ""
        yield f"first token after {duration(first)}{alive}"
        yield _hidden(track, first)
        inside = [gap for gap in track.gaps() if gap[1] <= last]
        if came := portions(track):
            yield _in_portions(came)
            yield _compressed(track)
        elif inside:
            begin, end = max(inside, key=lambda gap: gap[1] - gap[0])
            more = f" (the longest of {len(inside)})" if len(inside) > 1 else ""
            yield f"then {_silence(track, begin, end)} from {duration(begin)} on{more}"
        elif last > first:
            yield _flowing(track)
    least = _TAIL if track.exchange.facts.get("finish_reason") else 0.0
    if tail := [gap for gap in track.gaps() if gap[0] >= last and gap[1] - gap[0] >= least]:
        yield f"after the last token {_silence(track, *tail[0])}"


def _flowing(track: Track) -> str:
    """No silence stands out; pauses that a person sees are no flow for that, and what we hardly looked at is not known."""
    came = track.arrivals
    first, last = came[0][0], came[-1][0]
    ours = sum(max(min(end, last) - max(begin, first), 0.0) for begin, end in track.lags)
    if ours > (last - first) / 2:
        return f"then tokens for {duration(last - first)}"
    longest = max((b - a for a, b in track.silences(0.0) if b <= last and not track.late(a, b)), default=0.0)
    each = (last - first) / (sum(n for _, n in came) - 1)
    if longest < max(LONG, _EVEN * each):
        return f"then tokens without a break for {duration(last - first)}"
    return f"then tokens for {duration(last - first)}, never more than {duration(longest)} apart"


def _in_portions(came: Portions) -> str:
    """Who made them is the finding's to say: a server may write so, too."""
    size = f" of about {came.size / 1024:.1f} KiB each" if came.size else ""
    often = f"one every {duration(came.apart)}" if came.even else f"about {duration(came.apart)} apart"
    return f"then the tokens come in {came.n} portions{size}, {often}, and nothing between them"


def _compressed(track: Track) -> str:
    coding = (track.exchange.body_encoding or "identity")[:_CODING]
    if coding == "identity":
        return ""
    return f"it came compressed ({coding}), and a compressor may keep what it gets until it has enough"


def _hidden(track: Track, first: float) -> str:
    """Reasoning and tool calls are tokens that a user may see nothing of."""
    kinds, first_content = track.exchange.event_kinds, track.exchange.timeline.first_content
    if kinds and "v" not in kinds:
        return "a tool call, no visible text" if "k" in kinds else "no visible text at all"
    visible = track.since(first_content)
    return f"first visible text after {duration(visible)}" if visible > first else ""


def _silence(track: Track, begin: float, end: float) -> str:
    beats = sum(begin < at < end for at in track.beats)
    alive = f" but for {_beats(beats)}" if beats else ""
    return f"{duration(end - begin)} of silence{alive}"


def _late(track: Track) -> str:
    """Of our own lag what may have made a silence."""
    came = [at for at, _ in track.arrivals]
    lags = [(a, b) for a, b in track.lags if b - a >= LONG and any(a <= at <= b for at in came)]
    if not lags:
        return ""
    lasted = duration(sum(end - begin for begin, end in lags))
    return f"in {lasted} of this the probe itself ran late, so what came then may have come sooner"


def _beats(n: int) -> str:
    return f"{n:,} heartbeat{'' if n == 1 else 's'}"
