"""Does an answer fail as the first one did, or does it pass?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer
from probes.kinds.by_us import by_us
from probes.kinds.conclude import is_good, outcome_code
from probes.model import Layer
from probes.redirects import unending
from probes.samples import stalled

if TYPE_CHECKING:
    from probes.model import Call, Exchange

_REDIRECTS = range(300, 400)


@dataclass(frozen=True, slots=True)
class Failure:
    """How a request failed here when it was asked as told. `before_api`: it did not get to the API, so that any answer of
    the API's own is one that passes.
    """

    status: int | None
    error: tuple[str, str] | None
    code: str
    layer: Layer
    product: str | None
    vendor_code: str | None
    before_api: bool

    @classmethod
    def of(cls, exchange: Exchange) -> Failure:
        made, error = exchange.attribution, exchange.error
        # How much of a request had been written when it was ended is chance.
        phase = "headers" if error is not None and error.phase == "upload" else error.phase if error else ""
        return cls(
            exchange.status,
            (error.kind, phase) if error is not None else None,
            outcome_code(exchange),
            made.layer if made is not None else Layer.UNKNOWN,
            made.product if made is not None else None,
            made.vendor_code if made is not None else None,
            not is_api_answer(exchange),
        )

    def says(self, call: Call) -> bool | None:
        """Whether it failed as told; `None` of an answer that says nothing of that, such as another error."""
        exchange = call.last
        if exchange is None or not tells(call):
            return None
        if Failure.of(exchange) == self:
            return True
        if by_us(exchange) or exchange.status == HTTPStatus.TOO_MANY_REQUESTS:
            return None
        return False if is_good(call) or (self.before_api and is_api_answer(exchange)) else None


def failure(call: Call, seen: str | None) -> Failure | None:
    """What failed here of a request as it was told; `None` where nothing did. `seen`: what its sender got.

    Where they got one status and we got another one from the API itself, ours got through.
    """
    exchange = call.last
    if exchange is None or is_good(call) or not tells(call):
        return None
    told = re.match(r"\D{0,12}([1-5]\d\d)\b", seen or "")
    if told and exchange.status != int(told[1]) and is_api_answer(exchange):
        return None
    return Failure.of(exchange)


def late(exchange: Exchange) -> bool:
    """Whether a bound of ours ended it while this process itself was held up: what it waited for may have been there."""
    return by_us(exchange) and stalled(exchange, exchange.timeline.end or 0.0) is not None


def tells(call: Call) -> bool:
    """Whether anything is known of it: not where it was not sent, or the probe itself ended it."""
    if call.not_sent is not None or call.last is None or late(call.last):
        return False
    return outcome_code(call.last) != "not_measured" or unending(call)


def redirects(exchange: Exchange) -> bool:
    return (exchange.status or 0) in _REDIRECTS and exchange.header("location") is not None
