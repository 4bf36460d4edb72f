"""Who made an answer of which only a part is known?

What people paste is less than a response: a body without headers, a page without markup, an exception's text. The
catalogue decides as always, but a condition on what is not known does not hold, and nothing is of high confidence.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from probes import attribution
from probes.model import Attribution, Confidence, Layer
from probes.response import ABSENT, Response, at
from probes.signatures import STRENGTHS, Catalogue
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from probes.model import Exchange
    from probes.signature_rows import Match

LACKS: Final = "lacks"
"""Condition of an exchange: what of it is not known, of `status`, `headers`, `body`, `markup`, `end`."""

_NO_STATUS = 0
_MORE = "the whole response: status line, headers and body, as `curl -sS -i` prints them"
_NEXT = {
    "timeout": "how long the call took, against the client's own time limit (600 s in the OpenAI and Anthropic SDKs "
    "unless set) and the edge's timers; then the same prompt with stream on",
    "unsaid": "the exception's cause, which says whether name, connection, TLS or proxy failed (Python: "
    "`repr(error.__cause__)`, Node: `error.cause`)",
}
_TITLE = re.compile(
    r"<title>\s*(?:[^<|]{1,255} \| )?([45]\d\d)\b|<h1>\s*(?:Error )?([45]\d\d)\b|^error code: ([45]\d\d)\s*$"
    r"|(?m:^status: ([45]\d\d)$)|\A(?:Error )?([45]\d\d)(?::| [A-Z])"
)
# https://platform.claude.com/docs/en/api/errors, https://platform.openai.com/docs/guides/error-codes
_STATUS_OF = {
    "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
    "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
    "invalid_api_key": 401, "model_not_found": 404, "rate_limit_exceeded": 429, "insufficient_quota": 429,
    "context_length_exceeded": 400, "server_error": 500, "invalid_request_error": 400,
}  # fmt: skip
_SAYS_STATUS = (("status",), ("statusCode",), ("error", "status"), ("error", "code"), ("code",))
_SAYS_WORD = (("error", "code"), ("error", "type"), ("code",), ("type",))


class Judge:
    """`whole`: the catalogue; `as_text`: the copied forms of what stands in it."""

    def __init__(self, whole: Catalogue, as_text: Catalogue) -> None:
        self._whole = whole
        self._as_text = as_text
        bodies = tuple(one for one in whole.signatures if not one.by_headers)
        self._without_headers = Catalogue(bodies, whole.marks)
        self._by_headers = tuple(one for one in whole.signatures if one.by_headers)
        self._rank = {one.id: STRENGTHS.index(one.row.strength) for one in whole.signatures}
        self._movers = {one.id: one.row.who_acts for one in whole.signatures}

    def attribute(self, exchange: Exchange) -> Attribution:
        """As `attribution.attribute`, for exchanges whose conditions say what they lack."""
        lacks = exchange.conditions.get(LACKS, ())
        if exchange.error is not None:
            return self._ended(exchange)
        if "end" in lacks or ("body" in lacks and exchange.status in range(200, 300)):
            return self._not_told(exchange)
        if "headers" not in lacks:
            return attribution.attribute(exchange, self._whole)
        stated = exchange.status or _stated(Response.of(exchange))
        seen = replace(exchange, status=stated or _NO_STATUS)
        found = attribution.attribute(seen, self._without_headers)
        if found.signature is None or found.layer is Layer.UNKNOWN:
            copied = attribution.attribute(seen, self._as_text)
            found = copied if copied.signature else found
        if found.signature is None and stated is None:
            found, seen = self._by_its_marks(seen) or (found, seen)
        if found.signature is None and stated is None:
            return self._not_told(exchange)
        return self._no_surer(found, seen)

    def _by_its_marks(self, exchange: Exchange) -> tuple[Attribution, Exchange] | None:
        """What a body by itself proves that no status came with.

        Of several the one that asks most of the body counts: one of few statuses may lean on those.
        """
        response = Response.of(exchange)
        every = [one for one in self._without_headers.signatures if one.row.strength == "exclusive"]
        fits = [one for one in every if one.statuses and one.may_match(response, any_status=True)]
        if len({one.product for one in fits}) != 1:
            return None
        best = max(fits, key=lambda one: (_asks(one.row.match), len(one.statuses)))
        seen = replace(exchange, status=min(best.statuses))
        return attribution.attribute(seen, self._without_headers), seen

    def _no_surer(self, found: Attribution, seen: Exchange) -> Attribution:
        """Never high without headers, and low where they might have shown that another layer made the same body."""
        if found.code == "ratelimited.no_hint":  # the hint is a header's
            mover = self._movers.get(str(found.signature)) or vocabulary()["ratelimited"].who_acts
            found = replace(found, code="ratelimited", who_acts=mover)
        if found.confidence is Confidence.LOW:
            return replace(found, next_test=found.next_test or _MORE)
        response = Response.of(seen)
        at_least = self._rank.get(str(found.signature), 0)
        others = (
            one.id
            for one in self._by_headers
            if self._rank[one.id] <= at_least and one.layer is not found.layer and one.may_match(response)
        )
        if (other := next(others, None)) is not None:
            return replace(found, confidence=Confidence.LOW, runner_up=other, next_test=_MORE)
        return replace(found, confidence=Confidence.MEDIUM)

    def _ended(self, exchange: Exchange) -> Attribution:
        error = exchange.error
        if error is None or error.kind == "unsaid":
            return replace(self._not_told(exchange), next_test=_NEXT["unsaid"])
        found = attribution.attribute(exchange, self._whole)
        if found.confidence is Confidence.HIGH:
            found = replace(found, confidence=Confidence.MEDIUM)  # a client's word, and not what it met
        return found if error.phase else replace(found, next_test=_NEXT.get(error.kind, found.next_test))

    def _not_told(self, exchange: Exchange) -> Attribution:
        row = vocabulary()["not_told"]
        path = self._whole.transit(Response.of(exchange))
        return Attribution(
            Layer.UNKNOWN,
            "not_told",
            next_test=_MORE,
            transit=tuple(name for name, _ in path),
            who_acts=row.who_acts,
            retryable=row.retryable,
        )


def _asks(match: Match) -> int:
    """How many things of a body."""
    return len(match.json) + len(match.body)


def _stated(seen: Response) -> int | None:
    """The status that a body itself names, or that its maker documents for the error it names."""
    if seen.document is ABSENT:
        match = _TITLE.search(seen.text[:4000])
        return int(match[match.lastindex or 0]) if match else None
    for path in _SAYS_STATUS:
        value = at(seen.document, path)
        number = (
            int(value) if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value, re.ASCII) else value
        )
        if type(number) is int and number in range(400, 600):
            return number
    words = (at(seen.document, path) for path in _SAYS_WORD)
    stated = next((_STATUS_OF[word] for word in words if isinstance(word, str) and word in _STATUS_OF), None)
    return stated or (200 if _is_answer(seen.document) else None)


def _is_answer(document: Any) -> bool:
    answer = isinstance(document, dict) and not document.get("error")
    return answer and bool(document.get("choices") or document.get("type") == "message")
