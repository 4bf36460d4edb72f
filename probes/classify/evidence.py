"""Who made an answer of which only a part is known?

What people paste is less than a response: a body without headers, a page without markup, an exception's text. The
catalogue decides as always, but a condition on what is not known does not hold, and nothing is of high confidence.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from probes import attribution, statuses
from probes.model import Attribution, Confidence, Layer, WhoActs
from probes.response import ABSENT, Path, Response, at
from probes.signatures import STRENGTHS, Catalogue, catalogue
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from probes.model import Exchange
    from probes.signature_rows import Match
    from probes.signatures import Signature

LACKS: Final = "lacks"
"""Condition of an exchange: what of it is not known, of `status`, `headers`, `body`, `markup`, `end`."""

_NO_STATUS = 0
_OWN_NETWORK = (
    "whether the client's own network sends its requests through a proxy: the same request from another network; if a "
    "proxy of the service's answers there, too, it is the edge"
)
_ASK_FIRST = (
    "Find out first whether the network of the client sends its requests through a proxy of this kind, whose refusal or "
    "failure this then is; only where it doesn't, is it the operator's to look at."
)
_MORE = "the whole response: status line, headers and body, as `curl -sS -i` prints them"
_NEXT = {
    "timeout": "how long the call took, against the client's own time limit (600 s in the OpenAI and Anthropic SDKs "
    "unless set) and the edge's timers; then the same prompt with stream on",
    "unread": "the answer itself, by `curl -sS -i` at the very URL that the client calls: the client was given a page or "
    "text in place of JSON, as by a base URL without /v1, or with it where it must not be, or by a login or block page",
    "unsaid": "the exception's cause, which says whether name, connection, TLS or proxy failed (Python: "
    "`repr(error.__cause__)`, Node: `error.cause`)",
}
_TITLE = re.compile(
    r"<title>\s*(?:[^<|]{1,255} \| )?([45]\d\d)\b|<h1>\s*(?:Error )?([45]\d\d)\b|^error code: ([45]\d\d)\s*$"
    r"|(?m:^status: ([45]\d\d)$)|\A(?:Error )?([45]\d\d)(?::| [A-Z])"
)
_UNSEEN = re.compile(
    r"<(title|script|style|noscript)\b[^>]{0,2000}>.{0,20000}?</\1>", re.DOTALL | re.IGNORECASE
)
_NEW_LINE = re.compile(r"<(?:/?(?:p|h\d|hr|center|div|pre|li|td|tr)|br)\b[^>]{0,500}>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]{1,2000}>")
_SAYS_STATUS = (("status",), ("statusCode",), ("error", "status"))
_MAY_SAY_STATUS = (("error", "code"), ("code",))
_SAYS_WORD = (("error", "code"), ("error", "type"), ("code",), ("type",))
_ANY_WORD = statuses.OF_ANTHROPIC | statuses.OF_OPENAI | statuses.OFTEN


class Judge:
    """`whole`: the catalogue; `as_text`: the copied forms of what stands in it."""

    def __init__(self, whole: Catalogue, as_text: Catalogue) -> None:
        self._whole = whole
        self._as_text = as_text
        bodies = tuple(one for one in whole.signatures if not one.by_headers)
        self._without_headers = Catalogue(bodies, whole.marks)
        self._by_headers = tuple(one for one in whole.signatures if one.by_headers)
        self._own = {one.id for one in whole.signatures} - {one.id for one in catalogue().signatures}
        self._rank = {one.id: STRENGTHS.index(one.row.strength) for one in whole.signatures}
        self._movers = {one.id: one.row.who_acts for one in whole.signatures}
        self._by_one_status = frozenset(
            one.id for one in whole.signatures if one.statuses and one.row.strength != "exclusive"
        )
        self._forward = frozenset(one.id for one in whole.signatures if one.forward)

    def attribute(self, exchange: Exchange) -> Attribution:
        """As `attribution.attribute`, for exchanges whose conditions say what they lack."""
        found = self._attributed(exchange)
        # A product that also serves as a proxy of a company is the edge only where curl shows that there was no proxy.
        on_the_way = found.signature in self._forward and found.layer is not Layer.PROXY
        if not on_the_way or exchange.conditions.get("proxy") is False:
            return found
        return replace(
            found,
            layer=Layer.UNKNOWN,
            confidence=Confidence.LOW,
            next_test=_OWN_NETWORK,
            who_acts=WhoActs.CUSTOMER,
            advice=_ASK_FIRST,
        )

    def _attributed(self, exchange: Exchange) -> Attribution:
        lacks = exchange.conditions.get(LACKS, ())
        if exchange.error is not None:
            return self._ended(exchange)
        if "end" in lacks or ("body" in lacks and exchange.status in range(200, 300)):
            return self._not_told(exchange)
        if "headers" not in lacks:
            found = attribution.attribute(exchange, self._whole)
            return self._by_status(found, exchange) if "body" in lacks else found
        stated, guessed = (exchange.status, False) if exchange.status else _stated(Response.of(exchange))
        seen = replace(exchange, status=stated or _NO_STATUS)
        found = attribution.attribute(seen, self._without_headers)
        if found.signature is None or found.layer is Layer.UNKNOWN:
            copied = attribution.attribute(_as_copied(seen), self._as_text)
            found = copied if copied.signature else found
        if found.signature is None and stated is None:
            found, seen = self._by_its_marks(seen) or (found, seen)
        if found.signature is None and stated is None:
            return self._not_told(exchange)
        return self._no_surer(found, seen, guessed=guessed)

    def _by_status(self, found: Attribution, exchange: Exchange) -> Attribution:
        """A status that one product alone uses says so with headers, too, unless they name another server."""
        if found.layer is not Layer.UNKNOWN:
            return found
        alone = attribution.attribute(exchange, self._as_text)
        product = (alone.product or "").lower()
        servers = [value.lower() for value in exchange.headers.get("server", ())]
        fits = alone.signature and all(name and product.startswith(name) for name in servers)
        return replace(alone, transit=found.transit) if fits else found

    def _by_its_marks(self, exchange: Exchange) -> tuple[Attribution, Exchange] | None:
        """What a body by itself proves that no status came with.

        Of several the one that asks most of the body counts: one of few statuses may lean on those.
        """
        response = Response.of(exchange)
        every = [one for one in self._without_headers.signatures if self._stands_alone(one)]
        fits = [one for one in every if one.statuses and one.may_match(response, any_status=True)]
        own = {one.row.code for one in fits if one.id in self._own}
        if len({one.product for one in fits}) != 1 or len(own) > 1:
            return None
        best = max(fits, key=lambda one: (_asks(one.row.match), len(one.statuses)))
        seen = replace(exchange, status=min(best.statuses))
        found = attribution.attribute(seen, self._without_headers)
        others = [
            one.id
            for one in fits
            if one.row.code != found.code and _asks(one.row.match) == _asks(best.row.match)
        ]
        if others:
            found = replace(found, confidence=Confidence.LOW, runner_up=others[0])
        return found, seen

    def _stands_alone(self, one: Signature) -> bool:
        """Its body is proof without a status; a page of one's own zone was held against what the zone answers otherwise."""
        own = one.id in self._own and one.row.strength == "strong"
        return one.row.strength == "exclusive" or own

    def _no_surer(self, found: Attribution, seen: Exchange, *, guessed: bool) -> Attribution:
        """Never high without headers, and low where they might have shown that another layer made the same body, or
        where the status that it was known by was `guessed`.
        """
        if found.code == "ratelimited.no_hint":  # the hint is a header's
            mover = self._movers.get(str(found.signature)) or vocabulary()["ratelimited"].who_acts
            found = replace(found, code="ratelimited", who_acts=mover)
        if found.confidence is Confidence.LOW:
            return replace(found, next_test=found.next_test or _MORE)
        if guessed and found.signature in self._by_one_status:
            return replace(found, confidence=Confidence.LOW, next_test=_MORE)
        response = Response.of(seen)
        at_least = self._rank.get(str(found.signature), 0)
        others = (
            one.id
            for one in self._by_headers
            if self._rank[one.id] <= at_least
            and (
                one.layer is not found.layer or (one.product == found.product and one.row.code != found.code)
            )
            and one.may_match(response)
        )
        if (other := next(others, None)) is not None:
            return replace(found, confidence=Confidence.LOW, runner_up=other, next_test=_MORE)
        return replace(found, confidence=Confidence.MEDIUM)

    def _ended(self, exchange: Exchange) -> Attribution:
        error = exchange.error
        if error is None or error.kind == "unsaid":
            return replace(self._not_told(exchange), next_test=_NEXT["unsaid"])
        if error.kind == "unread":
            return replace(self._not_told(exchange), next_test=_NEXT["unread"])
        if error.kind == "guard":
            row = vocabulary()["client.guard"]
            return Attribution(
                Layer.CLIENT, "client.guard", confidence=Confidence.MEDIUM, retryable=row.retryable
            )
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


def _as_copied(seen: Exchange) -> Exchange:
    """A page whose beginning was left out is still known by what a browser shows of it."""
    text = seen.body_head.decode("utf-8", "replace")
    if not text.lstrip().startswith("<"):
        return seen
    shown = _TAG.sub("", _NEW_LINE.sub("\n", _UNSEEN.sub("", text)))
    lines = (" ".join(line.split()) for line in shown.splitlines())
    body = "\n".join(line for line in lines if line).encode()
    return replace(seen, body_head=body, body_tail=b"", body_bytes=len(body))


def _asks(match: Match) -> int:
    """How many things of a body."""
    return len(match.json) + len(match.body)


def _stated(seen: Response) -> tuple[int | None, bool]:
    """The status that a body itself names, or that its maker documents for the error it names; and whether that is a
    guess: a number under `code` need not be the status, and a word may be another's, or stand for several.
    """
    if seen.document is ABSENT:
        match = _TITLE.search(seen.text[:4000])
        return (int(match[match.lastindex or 0]) if match else None), False
    if (number := _number(seen.document, _SAYS_STATUS)) is not None:
        return number, False
    anthropic = at(seen.document, ("type",)) == "error"
    own = statuses.OF_ANTHROPIC if anthropic else statuses.OF_OPENAI
    words = [word for path in _SAYS_WORD if isinstance(word := at(seen.document, path), str)]
    if (known := next((own[word] for word in words if word in own), None)) is not None:
        return known, False
    if (number := _number(seen.document, _MAY_SAY_STATUS)) is not None:
        return number, True
    often = next((_ANY_WORD[word] for word in words if word in _ANY_WORD), None)
    return often or (200 if _is_answer(seen.document) else None), True


def _number(document: Any, paths: tuple[Path, ...]) -> int | None:
    for path in paths:
        value = at(document, path)
        if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value, re.ASCII):
            value = int(value)
        if type(value) is int and value in range(400, 600):
            return value
    return None


def _is_answer(document: Any) -> bool:
    answer = isinstance(document, dict) and not document.get("error")
    return answer and bool(document.get("choices") or document.get("type") == "message")
