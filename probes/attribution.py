"""Who made this response?

Each response on its own evidence: the transport first, then the signatures, then the stream's facts, then what kind of
wrong a 200 is; else unknown, with the next discriminating test.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes import wait_hints
from probes.api_paths import endpoint
from probes.endings import ended
from probes.model import Attribution, Confidence, Layer, WhoActs
from probes.response import ABSENT, Response
from probes.shared_cache import is_private, kept_by
from probes.signatures import Catalogue, Signature
from probes.signatures import catalogue as bundled_catalogue
from probes.streams import is_whole, judge
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from probes.model import Exchange

_CONFIDENCE = {"exclusive": Confidence.HIGH, "strong": Confidence.MEDIUM, "supporting": Confidence.LOW}
_SUCCESS, _CLIENT_ERROR = range(200, 300), range(400, 500)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CUTS = frozenset({"reset", "closed", "protocol", "lost"})
_API = frozenset({Layer.ORIGIN, Layer.GATEWAY})
_REFUSALS = frozenset(
    {"blocked", "blocked.client", "blocked.content", "blocked.size", "blocked.source", "challenged"}
)
_ORIGIN_TOO = "the same request straight to the origin"
_NO_PROXY = "the same request without the proxy: what answers in clear through one may be the proxy itself"


def attribute(exchange: Exchange, catalogue: Catalogue) -> Attribution:
    """Who answered, with what finding code, and on what evidence; never raises.

    `confidence` is about who: an unknown layer is always low. `transit` leaves out the product that generated.
    """
    seen = Response.of(exchange)
    found = catalogue.matching(seen)
    path = catalogue.transit(seen)
    known = found[0] if found else None
    streamed = exchange.facts.get("stream") and seen.status in _SUCCESS and not _refuses(known)
    if streamed and (exchange.error is None or exchange.facts.get("errors") or _broke_behind(exchange)):
        return _finished(judge(exchange, _expected(exchange)), path)
    if (exchange.error or exchange.status is None) and not (known and _stands_though_cut(known, exchange)):
        return _finished(ended(exchange), path)
    if known is None:
        made = _mislabelled(exchange, seen) or _unrecognised(seen)
    elif known.row.code == "ok" and (wrong := _not_what_was_asked(known, exchange, seen)):
        made = wrong
    else:
        made = _recognised(known, found, seen)
    if _in_clear_by_proxy(exchange):
        made = _by_our_proxy(made, known)
    elif (mark := kept_by(exchange)) and known and known.layer in _API and made.code != "ok":
        made = _anothers(made, mark) if is_private(exchange) else made
    return _finished(made, path)


def is_api_answer(exchange: Exchange) -> bool:
    """The API itself answered, with what was asked or an error in its own form; 429, 5xx and redirects don't count."""
    found = _attribution(exchange)
    status = exchange.status
    return (
        (status in _SUCCESS or status in _CLIENT_ERROR)
        and status != HTTPStatus.TOO_MANY_REQUESTS
        and found.layer in _API
        and not _turned_away(found)
    )


def is_refusal(exchange: Exchange) -> bool:
    """Turned away before the API: a 403 that is not the API's own, a challenge or block page under any status, or a
    reset or close before any byte of a response. 429, 5xx, time-outs and redirects are not refusals.
    """
    error = exchange.error
    if exchange.status is None:
        return error is not None and error.kind in {"reset", "closed"} and error.phase != "body"
    if _turned_away(_attribution(exchange)):
        return True
    return exchange.status == HTTPStatus.FORBIDDEN and not is_api_answer(exchange)


def _attribution(exchange: Exchange) -> Attribution:
    return exchange.attribution or attribute(exchange, bundled_catalogue())


def _turned_away(found: Attribution) -> bool:
    """Before the API: a provider's own policy on content is the API's answer."""
    return found.code in _REFUSALS and found.layer is not Layer.ORIGIN


def _refuses(known: Signature | None) -> bool:
    return known is not None and known.row.code in _REFUSALS


def _recognised(known: Signature, found: list[Signature], seen: Response) -> Attribution:
    row, extracted = known.row, known.read(seen)
    other = next((o for o in found if (o.product, o.row.code) != (known.product, row.code)), None)
    unknown = known.layer is Layer.UNKNOWN
    return Attribution(
        layer=known.layer,
        code=wait_hints.code(row.code, seen),
        product=known.product,
        vendor_code=extracted.pop("vendor_code", None) or row.vendor_code,
        signature=known.id,
        confidence=Confidence.LOW if unknown else _CONFIDENCE[row.strength],
        runner_up=None if other is None else other.id,
        next_test=wait_hints.next_test(row.next_test, row.code, seen),
        who_acts=row.who_acts or wait_hints.who_acts(row.code, seen),
        retryable=row.retryable,
        extracted=extracted,
        advice=row.advice,
    )


def _in_clear_by_proxy(exchange: Exchange) -> bool:
    """Without TLS end to end, a proxy of our own side can answer in the service's place."""
    return bool(exchange.conditions.get("proxy")) and exchange.request.url.startswith("http:")


def _by_our_proxy(made: Attribution, known: Signature | None) -> Attribution:
    """A page of a product that serves clients as a proxy is that proxy's; any other that nobody signed may be."""
    if known is not None and known.forward and made.code != "ok":
        return replace(
            made,
            layer=Layer.PROXY,
            code="unreachable.connect",
            confidence=Confidence.MEDIUM,
            next_test=_NO_PROXY,
            who_acts=WhoActs.CUSTOMER,
            advice=None,
        )
    return replace(made, next_test=_NO_PROXY) if made.layer is Layer.UNKNOWN else made


def _anothers(made: Attribution, mark: str) -> Attribution:
    """The API's words, but not to this request: an error that an earlier one met, or an answer to another question."""
    return Attribution(
        Layer.EDGE,
        "cached.private",
        confidence=Confidence.MEDIUM,
        runner_up=made.signature,
        next_test=_ORIGIN_TOO,
        extracted={**made.extracted, "cache": mark},
    )


def _broke_behind(exchange: Exchange) -> bool:
    """All of the answer had come when its connection ended."""
    return exchange.error is not None and exchange.error.kind in _CUTS and is_whole(exchange.facts)


def _stands_though_cut(known: Signature, exchange: Exchange) -> bool:
    """What a broken body still proves: an error or block page by its own marks, not a good answer and not a status."""
    return exchange.status is not None and known.row.code != "ok" and known.row.strength != "supporting"


def _expected(exchange: Exchange) -> str | None:
    """The dialect that the request's path wants; None where the URL is not known or not the API's."""
    found = endpoint(exchange.request.url)
    return found.dialect if found is not None else None


def _not_what_was_asked(known: Signature, exchange: Exchange, seen: Response) -> Attribution | None:
    """A good answer to another question: another dialect, or one document where a stream was asked for."""
    expected = _expected(exchange)
    streamed = exchange.request.stream and known.row.dialect != "models"
    if streamed or (expected is not None and known.row.dialect != expected):
        return Attribution(Layer.UNKNOWN, "body.shape", next_test=_ORIGIN_TOO, extracted=known.read(seen))
    if not seen.decodable:
        return Attribution(Layer.UNKNOWN, "body.encoding", next_test=_ORIGIN_TOO)
    return None


def _mislabelled(exchange: Exchange, seen: Response) -> Attribution | None:
    """An event stream by its first bytes, though its content type says otherwise: proxies then hold it back."""
    if exchange.request.stream and seen.status in _SUCCESS and seen.events:
        return Attribution(
            Layer.UNKNOWN, "stream.content_type", next_test=_ORIGIN_TOO, extracted={"type": seen.media_type}
        )
    return None


def _unrecognised(seen: Response) -> Attribution:
    status = seen.status or 0
    if status in _REDIRECTS:
        to = next(iter(seen.headers.get("location", ())), "")[:200]
        return Attribution(
            Layer.UNKNOWN,
            "redirected",
            next_test="the same request at the final URL",
            extracted={"location": to},
        )
    if seen.empty:
        code = "body.empty"
    elif seen.html:
        code = "body.html"
    elif seen.document is ABSENT:
        code = "body.not_json" if seen.decodable else "body.encoding"
    else:
        code = "body.shape"
    return Attribution(Layer.UNKNOWN, code, next_test=_ORIGIN_TOO)


def _finished(found: Attribution, path: tuple[tuple[str, Layer], ...]) -> Attribution:
    """With the transit chain and what the finding code says by default.

    An API's shape is anybody's; whose it is, the headers of the one model API on the way say.
    """
    row = vocabulary()[found.code]
    apis = [product for product, layer in path if layer is Layer.ORIGIN]
    product = found.product
    if product is None and found.layer is Layer.ORIGIN and len(apis) == 1:
        product = apis[0]
    return replace(
        found,
        product=product,
        transit=tuple(name for name, _ in path if name != product),
        who_acts=found.who_acts or row.who_acts,
        retryable=row.retryable if found.retryable is None else found.retryable,
    )
