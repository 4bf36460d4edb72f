"""How did an event stream end: whole, cut, cut behind a tidy end, with an error, or unreadable?

Judged from the facts that the recorder computed while the bytes passed; the middle of a long stream is gone by now.
What an SDK made of it plays no part: many raise nothing where half an answer is missing.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from probes.model import Attribution, Confidence, Layer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.model import Exchange

CAPPED = frozenset({"length", "max_tokens", "max_output_tokens", "incomplete"})
"""Words of the dialects for an answer that ended at its cap."""
_ENDS = {
    "openai.chat": frozenset({"[DONE]"}),
    "openai.responses": frozenset({"response.completed", "response.incomplete", "response.failed"}),
    "anthropic.messages": frozenset({"message_stop"}),
}
_NO_REASON = frozenset({"abort", "error"})
"""Finish reasons that say that the model did not get to its end (SGLang's `abort`, OpenRouter's `error`)."""
_MARKERS_CUT = (
    "[DONE]",
    "data:[DONE]",
    "event:message_stop",
    '{"type":"message_stop"}',
    'data:{"type":"message_stop"}',
)
"""Without blanks: an end marker that no blank line follows is the beginning of one of them."""
_MAY_CUT_CALLS = CAPPED | {"content_filter", "refusal", "model_context_window_exceeded"}
_STATUS_OF = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_error": 500,
    "timeout_error": 504,
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
"""https://docs.claude.com/en/api/errors, and the codes of OpenAI's `response.error`."""

_ORIGIN_TOO = "the same stream straight to the origin"
_READ_ON = f"the same stream by plain httpx or curl, which read on and show whether a tidy end follows; {_ORIGIN_TOO}"
_TIMERS = "the same stream straight to the origin; compare the time of the cut and the last silence with known timers"
_COMMENTS = "Make the layer that rewrites events send comments on as comments: lines that begin with a colon, without data: before it."
_PLAIN = "the same stream by plain httpx or curl, which read whatever comes"


def is_whole(facts: Mapping[str, Any]) -> bool:
    """The model gave the reason of its end and nothing is missing but a formality: the end marker of its dialect, or the
    end of the body's framing behind it or behind the usage, which comes last.
    """
    reason, terminal = facts.get("finish_reason"), facts.get("terminal")
    if (
        facts.get("dialect") is None
        or not reason
        or reason in _NO_REASON
        or facts.get("errors")
        or facts.get("decoded") is False
    ):
        return False
    if (facts.get("tool_calls") or {}).get("cut") or facts.get("after_end") or terminal == "response.failed":
        return False
    if terminal is not None:
        return True
    cut = "".join(str(facts.get("unfinished") or "").split())
    if not any(marker.startswith(cut) for marker in _MARKERS_CUT):
        return False
    return facts.get("complete") is True or bool(facts.get("usage"))


def judge(exchange: Exchange, expected: str | None) -> Attribution:
    """The stream of a success status; `expected` is the dialect that the request's path wants.

    `complete` in the facts: True when the body's framing said it was whole, False when it said not, None when the
    client closed first, which is in order after the end marker.
    """
    made = _judged(exchange, expected)
    if exchange.facts.get("sniffed") and made.code in {"ok", "body.shape"}:
        kind = (exchange.header("content-type") or "").partition(";")[0].strip()
        return _unknown("stream.content_type", _ORIGIN_TOO, type=kind)
    return made


def _judged(exchange: Exchange, expected: str | None) -> Attribution:
    facts = exchange.facts
    if errors := facts.get("errors") or ():
        return _error(facts, errors[0])
    if facts.get("decoded") is False:
        coding = exchange.header("content-encoding") or ""
        return _unknown("body.encoding", _ORIGIN_TOO, encoding=coding[:100])
    if facts.get("complete") is False or not facts.get("terminal"):
        return _lacking(facts)
    if facts.get("malformed"):
        return _malformed(facts)
    wrong = facts.get("dialect") is None or (expected is not None and facts["dialect"] != expected)
    if wrong or exchange.request.stream is False:
        nothing = facts.get("dialect") is None and not facts.get("tokens")
        return _unknown("body.empty" if nothing else "body.shape", _ORIGIN_TOO)
    return _corrupted(facts) or _ended(facts)


def _lacking(facts: Mapping[str, Any]) -> Attribution:
    """The end marker or the end of the framing: of an answer that is whole all the same, that is a formality."""
    if facts.get("complete") is None or facts.get("malformed") or not is_whole(facts):
        return _unended(facts)
    return _corrupted(facts) or _no_end(facts)


def logical_status(error: object) -> int | None:
    """The HTTP status that an error inside a stream stands for; `None` where it does not say."""
    words = error if isinstance(error, dict) else {}
    for said in (words.get("status"), words.get("status_code"), words.get("code"), words.get("type")):
        number = int(said) if isinstance(said, str) and said.isdigit() else said
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600:
            return number
        if isinstance(said, str) and said in _STATUS_OF:
            return _STATUS_OF[said]
    return None


def _ended(facts: Mapping[str, Any]) -> Attribution:
    """The end marker came; a model's own end gives a reason before it, and leaves no call of a tool half said."""
    terminal, reason = str(facts["terminal"]), facts.get("finish_reason")
    if terminal == "response.failed":
        return _error(facts, None)
    cut_calls = (facts.get("tool_calls") or {}).get("cut")
    if not reason or _foreign(facts):
        return _no_end(facts) if is_whole(facts) else _unknown("stream.masked", _ORIGIN_TOO)
    if reason in _NO_REASON:
        return _unknown("stream.masked", _ORIGIN_TOO, finish_reason=str(reason))
    if cut_calls and reason not in _MAY_CUT_CALLS:
        return _unknown("stream.masked", _ORIGIN_TOO, finish_reason=str(reason), cut_calls=str(cut_calls))
    if facts.get("after_end"):
        return _unknown("stream.malformed", _ORIGIN_TOO, after_end=str(facts["after_end"]))
    words = {"terminal": terminal, "finish_reason": str(reason)}
    return Attribution(Layer.ORIGIN, "ok", confidence=Confidence.MEDIUM, extracted=words)


def _unended(facts: Mapping[str, Any]) -> Attribution:
    """No end marker, or the framing broke: an empty body and a body that was never the dialect's are no cut, and a client
    that closed before the end was not cut off.
    """
    said = facts.get("dialect") or facts.get("malformed") or facts.get("tokens") or facts.get("unfinished")
    left = facts.get("complete") is None
    if (facts.get("complete") or left) and facts.get("malformed"):
        return _malformed(facts)
    if left and (damaged := _corrupted(facts)):
        return damaged
    if left:
        return _left(facts)
    if facts.get("complete") and not said:
        events = sum(event["n"] for event in (facts.get("events") or {}).values())
        return _unknown("body.shape" if events else "body.empty", _ORIGIN_TOO)
    cut_calls = (facts.get("tool_calls") or {}).get("cut")
    return _unknown("stream.truncated", _TIMERS, **({"cut_calls": str(cut_calls)} if cut_calls else {}))


def _no_end(facts: Mapping[str, Any]) -> Attribution:
    """All of the answer came; what its reader waits for behind it did not."""
    what = "the end of its framing" if facts.get("terminal") else "its end marker"
    if _foreign(facts):
        what = f"the end marker of its dialect ({facts['terminal']} is none of it)"
    return _unknown("stream.no_end", _ORIGIN_TOO, lacks=what, finish_reason=str(facts["finish_reason"]))


def _foreign(facts: Mapping[str, Any]) -> bool:
    """Its end marker is another API's."""
    terminal = facts.get("terminal")
    return terminal is not None and terminal not in _ENDS.get(str(facts.get("dialect")), {terminal})


def _left(facts: Mapping[str, Any]) -> Attribution:
    """Nothing is wrong with what came, and its client read no further; `line` is what it may have stumbled over."""
    form = next((f["line"] for f in (facts.get("forms") or {}).values()), "")
    return Attribution(
        Layer.CLIENT,
        "client.parser",
        confidence=Confidence.MEDIUM if facts.get("events") else Confidence.LOW,
        next_test=_PLAIN,
        extracted={"line": str(form)[:200]},
    )


def _corrupted(facts: Mapping[str, Any]) -> Attribution | None:
    """A character that merely came in two fragments is whole by now; these are not. A model that is stopped at its cap
    within a character ends in one, and one alone may be the model's own.
    """
    replaced, invalid = facts.get("replacement_chars") or 0, facts.get("invalid_utf8") or 0
    final = replaced == facts.get("replacement_tail")
    if not (replaced or invalid) or (not invalid and final and facts.get("finish_reason") in CAPPED):
        return None
    if not invalid and (final or replaced == 1):
        return _unknown(
            "stream.corrupted", _ORIGIN_TOO, damage="U+FFFD", n=str(replaced), maybe="the model's own"
        )
    how = "bytes that are no UTF-8" if invalid else "U+FFFD in place of characters"
    return _unknown("stream.corrupted", _ORIGIN_TOO, damage=how, n=str(replaced or invalid))


def _error(facts: Mapping[str, Any], error: object) -> Attribution:
    """Anybody on the way can write an error event. A tidy end after one hides it from clients that only look for the
    marker; a client that closed at the error can't know whether one followed.
    """
    words = error if isinstance(error, dict) else {}
    vendor_code = next((str(words[key])[:200] for key in ("code", "type") if words.get(key)), None)
    masked = facts.get("terminal") not in {None, "response.failed"} and not facts.get("finish_reason")
    unread = facts.get("complete") is None and not facts.get("terminal")
    status = logical_status(error)
    told = {"message": str(words.get("message") or words.get("detail") or error or "")[:200]}
    return Attribution(
        Layer.UNKNOWN,
        "stream.masked" if masked else "stream.error_event",
        vendor_code=vendor_code,
        next_test=_READ_ON if unread else _ORIGIN_TOO,
        retryable=None if status is None else _worth_retrying(status) and not facts.get("tokens"),
        extracted={**told, **({"logical_status": str(status)} if status is not None else {})},
    )


def _worth_retrying(status: int) -> bool:
    passing = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS}
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in passing


def _malformed(facts: Mapping[str, Any]) -> Attribution:
    line = str(facts["malformed"])[:200]
    made = _unknown("stream.malformed", _ORIGIN_TOO, line=line)
    return replace(made, advice=_COMMENTS) if line.startswith(":") else made


def _unknown(code: str, next_test: str, **extracted: str) -> Attribution:
    return Attribution(Layer.UNKNOWN, code, next_test=next_test, extracted=extracted)
