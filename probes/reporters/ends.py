"""How did an exchange end, in words for somebody who has never seen one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.model import Exchange
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
    "openai.chat": ("[DONE]",),
    "openai.responses": ("response.completed", "response.incomplete", "response.failed"),
    "anthropic.messages": ("message_stop",),
}
"""The usual one first."""
_NO_END = "stream.no_end"
_SAID = 120


def ended(track: Track) -> Iterator[str]:
    """What ended it, and whether that is how a whole answer ends."""
    seen, facts = track.exchange, track.exchange.facts
    if errors := facts.get("errors"):
        yield f"the stream says that it failed: {_said(errors[0])}"
    if seen.error is not None:
        yield f"at {duration(track.end)} {broken(seen)}"
    if seen.error is not None and seen.error.ours:
        return
    yield from _damage(track)
    usual = _MARKERS.get(str(facts.get("dialect")), ("end marker",))[0]
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
    if _foreign(facts):
        return f"{whole}, but it ends with {marker}, where {usual} ends an answer of this API"
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
    if _foreign(facts):
        return f"it ends with {marker}, where {usual} ends an answer of this API"
    return f"{tidy}, but its finish reason is {reason}, so the answer is not whole"


def _foreign(facts: Mapping[str, Any]) -> bool:
    """Another API's end marker."""
    known = _MARKERS.get(str(facts.get("dialect")))
    return known is not None and facts.get("terminal") not in known


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
    elif _code(seen) == "stream.corrupted" and facts.get("repeats"):
        yield f"its chunks come twice: {facts['repeats']} of {facts.get('tokens')} repeat the one before"


def _said(error: object) -> str:
    words = error.get("message") or error.get("type") if isinstance(error, dict) else error
    return f"“{str(words or error)[:_SAID].rstrip('.')}”"


def broken(seen: Exchange) -> str:
    """What came before a broken framing was HTTP."""
    if seen.error is None:
        return "it ended"
    if seen.error.kind == "protocol" and seen.status is not None:
        return "its framing broke"
    if seen.error.kind == "closed" and seen.facts.get("terminal"):
        return "the connection was closed before its framing was over"
    return _BROKEN.get(seen.error.kind, "it ended")
