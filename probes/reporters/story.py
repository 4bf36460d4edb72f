"""What does the picture of one exchange show, in a sentence for somebody who has never seen one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.reporters.portions import portions
from probes.reporters.tracks import LONG, OURS, is_stream
from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.model import Exchange
    from probes.reporters.portions import Portions
    from probes.reporters.tracks import Track

_BROKEN = {
    "reset": "the connection was reset",
    "closed": "the connection was closed before the answer was over",
    "timeout": "the client gave up",
    "lost": "the connection was lost",
    "deadline": "the probe gave up at its own deadline",
    "limit": "the probe stopped at its own limit",
    "interrupted": "the run was interrupted",
    "dns": "the name was not found",
    "connect": "no connection came about",
    "tls": "no TLS came about",
    "proxy": "the proxy refused",
    "protocol": "what came was no HTTP",
    "oversize": "its headers were more than the client takes",
}
_MARKERS = {
    "openai.chat": "[DONE]",
    "openai.responses": "response.completed",
    "anthropic.messages": "message_stop",
}
_NO_END = "stream.no_end"
_OTHERS = frozenset({"response.incomplete", "response.failed"})
_MOMENT = 1e-3
_TAIL = 1.0
"""Seconds after the last token that are worth a word where the answer is whole."""
_SAID = 120
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
        yield f"no answer: after {duration(track.end)} {_broken(seen)}"
    elif seen.status >= 300:
        yield f"{seen.status} came after {waited}, instead of an answer"
    elif seen.error is not None:
        yield f"an answer began after {waited}"
        yield f"after {duration(track.end)} {_broken(seen)}"
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
    yield from _end(track)
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
    """No silence stands out; pauses that a person sees are no flow for that."""
    came = track.arrivals
    first, last = came[0][0], came[-1][0]
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
    coding = (track.exchange.body_encoding or "identity")[:_SAID]
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


def _end(track: Track) -> Iterator[str]:
    """What ended it, and whether that is how a whole answer ends."""
    seen, facts = track.exchange, track.exchange.facts
    if errors := facts.get("errors"):
        yield f"the stream says that it failed: {_said(errors[0])}"
    if seen.error is not None:
        yield f"at {duration(track.end)} {_broken(seen)}"
    if seen.error is not None and seen.error.kind in OURS:
        return
    yield from _damage(track)
    usual = _MARKERS.get(str(facts.get("dialect")), "end marker")
    if _code(seen) == _NO_END:
        yield _faulty(track, usual)
    elif facts.get("terminal") is not None:
        yield _marked(track, usual)
    elif seen.error is None and facts.get("complete") is None:
        yield from _left(track)
    else:
        if seen.error is None:
            yield f"at {duration(track.end)} it just ends"
        yield _unmarked(seen, usual)


def _faulty(track: Track, usual: str) -> str:
    """All of the answer came, and behind it not what ends a stream."""
    seen, facts = track.exchange, track.exchange.facts
    marker, reason = str(facts.get("terminal") or "")[:_SAID], str(facts.get("finish_reason") or "")[:_SAID]
    over = (
        f"whole after {duration(track.end)}"
        if seen.error is None
        else "all of the answer had come before that"
    )
    whole = f"{over}, with its finish reason ({reason})"
    if not marker:
        return f"{whole}, and no {usual} after it"
    if marker not in {usual, *_OTHERS}:
        return f"{whole}, but it ends with {_foreign(marker, usual)}"
    return f"{whole} and {marker}" + ("" if seen.error else ", but without the end of its framing")


def _left(track: Track) -> Iterator[str]:
    """Its client closed: that says nothing of what was still to come."""
    if _code(track.exchange) == "client.parser":
        yield "nothing is wrong with what came"
    yield f"at {duration(track.end)} its client stops reading, so what was still to come is not known"


def _unmarked(seen: Exchange, usual: str) -> str:
    if reason := str(seen.facts.get("finish_reason") or "")[:_SAID]:
        return f"its finish reason ({reason}) came, and no {usual} after it"
    return f"neither a finish reason nor {_a(usual)} came, so the answer is not whole"


def _a(marker: str) -> str:
    return f"an {marker}" if marker == "end marker" else marker


def _marked(track: Track, usual: str) -> str:
    """Of a stream that ends with a marker, which proves nothing by itself."""
    seen, facts, code = track.exchange, track.exchange.facts, _code(track.exchange)
    marker, reason = str(facts["terminal"])[:_SAID], str(facts.get("finish_reason") or "")[:_SAID]
    good = code in {None, "ok", "client.parser"} and not facts.get("errors")
    tidy = f"it ends with {marker} as if all were well"
    if not reason and good and code:
        return f"{_over(track, code)}, with {marker} and, as always from this endpoint, no finish reason"
    if not reason or facts.get("errors"):
        return (
            f"{tidy}, with a finish reason ({reason})"
            if reason
            else f"{tidy}, but without a finish reason before it"
        )
    if code == "stream.masked":
        return _masked(facts, tidy, usual)
    if seen.error is not None:
        return f"its finish reason ({reason}) and {marker} had come before that"
    lost = "; its client did not hand over all of it" if code == "client.parser" else ""
    return f"{_over(track, code)}, with its finish reason ({reason}) and {marker}{lost}"


def _masked(facts: Mapping[str, Any], tidy: str, usual: str) -> str:
    marker, reason = str(facts["terminal"])[:_SAID], str(facts["finish_reason"])[:_SAID]
    if (facts.get("tool_calls") or {}).get("cut"):
        return f"{tidy}, but in the middle of a tool call"
    if marker not in {usual, *_OTHERS}:
        return f"it ends with {_foreign(marker, usual)}"
    return f"{tidy}, but its finish reason is {reason}, so the answer is not whole"


def _foreign(marker: str, usual: str) -> str:
    return f"{marker}, where {usual} ends an answer of this API"


def _over(track: Track, code: str | None) -> str:
    """`whole` is said of nothing that a finding calls broken."""
    return f"{'whole' if code in {None, 'ok', 'client.parser'} or track.in_doubt else 'over'} after {duration(track.end)}"


def _code(seen: Exchange) -> str | None:
    return seen.attribution.code if seen.attribution is not None else None


def _damage(track: Track) -> Iterator[str]:
    """What is wrong with a stream's bytes, whatever its end."""
    seen = track.exchange
    facts, kind = seen.facts, seen.header("content-type")
    if facts.get("sniffed"):
        said = f"its content type says {kind[:_SAID]}" if kind else "it has no content type"
        yield f"{said}, though it is a stream of events"
    if facts.get("decoded") is False:
        yield f"its bytes are not in the coding that it declares ({(seen.header('content-encoding') or '')[:_SAID]})"
    if line := facts.get("malformed"):
        yield f"among its events is one that is none of its dialect: {_said(line)}"
    if track.in_doubt:
        yield "a character of its text is in doubt: it may be lost, or the model's own"
    elif (facts.get("replacement_chars") or facts.get("invalid_utf8")) and _code(seen) != "ok":
        yield "characters of its text are damaged"


def _said(error: object) -> str:
    words = error.get("message") or error.get("type") if isinstance(error, dict) else error
    return f"“{str(words or error)[:_SAID].rstrip('.')}”"


def _broken(seen: Exchange) -> str:
    """What came before a broken framing was HTTP."""
    if seen.error is None:
        return "it ended"
    if seen.error.kind == "protocol" and seen.status is not None:
        return "its framing broke"
    if seen.error.kind == "closed" and seen.facts.get("terminal"):
        return "the connection was closed before its framing was over"
    return _BROKEN.get(seen.error.kind, "it ended")
