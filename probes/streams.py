"""How did an event stream end: whole, cut, cut behind a tidy end, with an error, or unreadable?

Judged from the facts that the recorder computed while the bytes passed; the middle of a long stream is gone by now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.model import Attribution, Confidence, Layer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.model import Exchange

_ORIGIN_TOO = "the same stream straight to the origin"
_READ_ON = f"the same stream by plain httpx or curl, which read on and show whether a tidy end follows; {_ORIGIN_TOO}"
_TIMERS = "the same stream straight to the origin; compare the time of the cut and the last silence with known timers"


def judge(exchange: Exchange, expected: str | None) -> Attribution:
    """The stream of a success status; `expected` is the dialect that the request's path wants.

    `complete` in the facts: True when the body's framing said it was whole, False when it said not, None when the
    client closed first, which is in order after the end marker.
    """
    facts = exchange.facts
    if errors := facts.get("errors") or ():
        return _error(facts, errors[0])
    if facts.get("complete") is False or not facts.get("terminal"):
        return _unended(facts)
    if facts.get("malformed"):
        return _malformed(facts)
    wrong = facts.get("dialect") is None or (expected is not None and facts["dialect"] != expected)
    if wrong or exchange.request.stream is False:
        return _unknown("body.shape", _ORIGIN_TOO)
    return _ended(facts)


def _ended(facts: Mapping[str, Any]) -> Attribution:
    """The end marker came; a model's own end gives a reason before it."""
    if facts["terminal"] == "response.failed":
        return _error(facts, None)
    if not facts.get("finish_reason"):
        return _unknown("stream.masked", _ORIGIN_TOO)
    words = {"terminal": str(facts["terminal"]), "finish_reason": str(facts["finish_reason"])}
    return Attribution(Layer.ORIGIN, "ok", confidence=Confidence.MEDIUM, extracted=words)


def _unended(facts: Mapping[str, Any]) -> Attribution:
    """No end marker, or the framing broke: an empty body and a body that was never the dialect's are no cut."""
    said = facts.get("dialect") or facts.get("malformed") or facts.get("tokens") or facts.get("unfinished")
    if facts.get("complete") and facts.get("malformed"):
        return _malformed(facts)
    if facts.get("complete") and not said:
        events = sum(event["n"] for event in (facts.get("events") or {}).values())
        return _unknown("body.shape" if events else "body.empty", _ORIGIN_TOO)
    return _unknown("stream.truncated", _TIMERS)


def _error(facts: Mapping[str, Any], error: object) -> Attribution:
    """Anybody on the way can write an error event. A tidy end after one hides it from clients that only look for the
    marker; a client that closed at the error can't know whether one followed.
    """
    words = error if isinstance(error, dict) else {}
    vendor_code = next((str(words[key])[:200] for key in ("code", "type") if words.get(key)), None)
    masked = facts.get("terminal") not in {None, "response.failed"} and not facts.get("finish_reason")
    unread = facts.get("complete") is None and not facts.get("terminal")
    return Attribution(
        Layer.UNKNOWN,
        "stream.masked" if masked else "stream.error_event",
        vendor_code=vendor_code,
        next_test=_READ_ON if unread else _ORIGIN_TOO,
        extracted={"message": str(words.get("message") or error or "")[:200]},
    )


def _malformed(facts: Mapping[str, Any]) -> Attribution:
    return _unknown("stream.malformed", _ORIGIN_TOO, line=str(facts["malformed"])[:200])


def _unknown(code: str, next_test: str, **extracted: str) -> Attribution:
    return Attribution(Layer.UNKNOWN, code, next_test=next_test, extracted=extracted)
