"""Does a gateway say that it asked the model more than once for one request?

From outside such repeats are seen only where the gateway tells of them; a time-out at T alone proves none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from probes.kinds.conclude import conclude
from probes.kinds.words import shown
from probes.model import Confidence, Figure, Layer, Observed, WhoActs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Case, Exchange, Finding


class _Said(NamedTuple):
    """A response header; `first`: what it says when there was no repeat."""

    header: str
    product: str
    first: int


_SAID = (
    _Said("x-litellm-attempted-retries", "LiteLLM", 0),  # https://docs.litellm.ai/docs/proxy/response_headers
    # https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/router_filter#x-envoy-attempt-count
    _Said("x-envoy-attempt-count", "Envoy", 1),
)
_MOST = 1000
"""A greater number is no count of attempts."""
_DO = (
    "Let the gateway not repeat requests that take long (its number of retries for this route), or only those that fail "
    "before they reach the model: each repeat is computed and paid in full, and nobody reads it."
)


def repeated_upstream(case: Case, client: str, exchanges: Sequence[Exchange]) -> list[Finding]:
    """At most one finding, of the exchange that was repeated the most."""
    told = [
        (times, said, exchange) for exchange in exchanges for said, times in _attempts(exchange) if times > 1
    ]
    if not told:
        return []
    times, said, exchange = max(told, key=lambda each: each[0])
    return [
        conclude(
            case,
            "retry.amplified",
            exchange,
            layer=Layer.GATEWAY,
            product=said.product,
            vendor_code=None,
            client=client,
            observed=Observed(len({id(each[2]) for each in told}), len(exchanges)),
            title=f"{said.product} asks {times} times for one request of its client",
            detail=(
                ("seen", f"{shown(exchange)}, with {said.header}: {exchange.header(said.header)}"),
                (
                    "because",
                    "the gateway says so itself; whether each of these reached the model, its own log tells",
                ),
            ),
            figures={"attempts": Figure(times, "requests", 1)},
            conditions={**exchange.conditions, "client": "cold", "cache": "unknown"},
            confidence=Confidence.MEDIUM,
            who_acts=WhoActs.OPERATOR,
            retryable=False,
            next_test="the same request straight to the origin, and its arrivals counted there",
            advice=_DO,
        )
    ]


def _attempts(exchange: Exchange) -> list[tuple[_Said, int]]:
    found = []
    for said in _SAID:
        value = exchange.header(said.header) or ""
        if value.isascii() and value.isdigit() and int(value) <= _MOST:
            found.append((said, int(value) - said.first + 1))
    return found
