"""Whose words is the answer to a request that must fail: the API's own, or another's in its place?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer
from probes.model import Layer, Verdict
from probes.response import Response

if TYPE_CHECKING:
    from probes.model import Exchange

_ID = re.compile(r"\b(?=\w*\d)[\w-]{8,}")
_COMPARED = 4096


def in_its_place(exchange: Exchange) -> Verdict | None:
    """How a client error counts that is not in the API's own form; `None` for one that is.

    An edge that signed it, or a page for people, stands in the API's place. Of any other nobody knows: gateways and
    frameworks write `{"message": "Unauthorized"}`, a line of text or nothing, and may well be the API.
    """
    if is_api_answer(exchange):
        return None
    made = exchange.attribution
    signed = made is not None and made.layer is Layer.EDGE
    return Verdict.FAIL if signed or Response.of(exchange).html else Verdict.WARN


def same_words(one: Exchange, other: Exchange) -> bool:
    """The same status and text but for ids and times: the answer does not depend on what was asked."""
    return _words(one) == _words(other)


def _words(exchange: Exchange) -> tuple[int | None, str]:
    return exchange.status, _ID.sub("#", Response.of(exchange).text[:_COMPARED])
