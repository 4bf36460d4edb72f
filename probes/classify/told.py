"""What is told to a person of an answer that was pasted?"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.classify.evidence import LACKS
from probes.model import Confidence, Exchange, Layer
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.classify import Answer

_QUOTED = 120
_RETRY = {True: "yes", False: "no: the same request meets the same answer", None: "depends"}
# https://developers.cloudflare.com/waf/analytics/security-events/ says that events are sampled; a mismatch of Host and
# TLS name is refused before anything is logged (its page of error 403).
_WHERE = {
    "ray": "in the zone's Security Events and Logpush, by these 16 digits; events are sampled, so none found proves nothing",
    "request id": "in the log of the API or of its gateway",
}


def tag(answer: Answer) -> str:
    """`blocked.client · edge · Cloudflare 1010`."""
    found = answer.attribution
    made = " ".join(part for part in (found.product, found.vendor_code) if part)
    return " · ".join(part for part in (found.code, str(found.layer), made) if part)


def rows(answer: Answer) -> Iterator[tuple[str, str]]:
    """(label, text) in the order a person asks: seen, means, do, look up, next."""
    found = answer.attribution
    yield "pasted", _pasted(answer)
    location = found.extracted.get("location")
    yield "seen", f"{_seen(answer.exchange)}{f', which leads to {location}' if location else ''}"
    by_status = found.layer is Layer.UNKNOWN and found.code != "not_told" and "body" in answer.lacks
    yield (
        "means",
        f"{'if it is what its status says: ' if by_status else ''}{vocabulary()[found.code].meaning.strip()}",
    )
    if found.transit:
        yield "passed", f"{', '.join(found.transit)}, {_made(answer)}"
    yield "sure", _sure(answer)
    if found.code == "ok":
        yield "do", answer.advice
    else:
        yield "do", f"{answer.who_acts}: {answer.advice}"
        yield "retry", _retry(answer)
    if by := [_where_found(name, value) for name, value in answer.looked_up]:
        yield "look up", "\n".join(by)
    if answer.next_test is not None:
        yield "next", answer.next_test.words


def _pasted(answer: Answer) -> str:
    lacks = answer.lacks
    if answer.exchange.error is not None:
        return f"{answer.form}: no answer of a server in it"
    return f"{answer.form}{f'; not in it: {_listed(lacks)}' if lacks else ''}"


def _seen(exchange: Exchange) -> str:
    asked = exchange.request
    try:
        host = urlsplit(asked.url)._replace(query="", fragment="").geturl()
    except ValueError:
        host = ""
    to = f", to {asked.method} {host}" if asked.method and host else ""
    after = exchange.timeline.headers if exchange.timeline.headers is not None else exchange.timeline.end
    if exchange.error is not None:
        return f"{exchange.error.text}{to}"
    said = " ".join(exchange.body_head[:2000].decode("utf-8", "replace").split())
    quoted = f": {said[:_QUOTED]}{'…' if len(said) > _QUOTED else ''}" if said else ""
    status = f"{exchange.status}" if exchange.status is not None else "status not known"
    if exchange.status is None and "body" in exchange.conditions.get(LACKS, ()):
        return "a ray id, and no answer"
    return f"{status}{quoted}{f' after {after:.1f} s' if after is not None else ''}{to}"


def _made(answer: Answer) -> str:
    if answer.attribution.layer is not Layer.UNKNOWN:
        return "which did not make it"
    told = answer.attribution.code != "not_told"
    return "which may have made it as well" if told else "and nothing is known of what came back"


def _sure(answer: Answer) -> str:
    found = answer.attribution
    by = f" ({found.signature})" if found.signature else ""
    other = (
        f"; it may also be {found.runner_up}"
        if found.runner_up and found.confidence is Confidence.LOW
        else ""
    )
    lacks = [name for name in answer.lacks if name != "status" or not answer.exchange.status]
    wants = lacks and found.confidence is not Confidence.HIGH and answer.exchange.error is None
    less = f", for want of {_listed(lacks)}" if wants else ""
    return f"{found.confidence}{by}{less}{other}"


def _retry(answer: Answer) -> str:
    after = answer.attribution.extracted.get("retry_after")
    said = _RETRY[answer.retryable]
    if answer.retryable is False and answer.attribution.layer is Layer.UNKNOWN:
        said = "probably not"
    return f"{said}, after {after} s" if after and after.isdecimal() and answer.retryable else said


def _where_found(name: str, value: str) -> str:
    return f"{name} {value}{f' ({_WHERE[name]})' if name in _WHERE else ''}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
