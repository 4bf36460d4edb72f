"""What does a month of an API cost, and what would each change alone save of it?

What is not known makes a range of it: a cached share that no usage told, a price of cached tokens that nobody gave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from probes.model import Prices, Target

_MILLION = 1_000_000
STEP = 0.1
"""Of each change, so that they can be held against each other."""


class Range(NamedTuple):
    """`low == high` where it is known."""

    low: float
    high: float

    @property
    def known(self) -> bool:
        return self.low == self.high


NOT_TOLD = Range(0.0, 1.0)
"""The cached share where no usage tells of a cache: absent is not zero."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """A month: `prompt` and `output` tokens of a request on the average, `cached` the share of all prompt tokens that come
    from the cache.
    """

    requests: int
    prompt: float
    output: float
    cached: Range = NOT_TOLD


@dataclass(frozen=True, slots=True)
class Bill:
    """US dollars a month: `prompt` for the tokens that do not come from the cache."""

    prompt: Range
    cached: Range
    output: float
    total: Range
    uncached: float
    """The total if no token came from the cache."""


class Saving(NamedTuple):
    """`name`: of what is changed, for programs."""

    name: str
    change: str
    usd: Range


@dataclass(frozen=True, slots=True)
class Month:
    """Whose requests at whose prices; `notes` say what the traffic was taken from."""

    traffic: Traffic
    prices: Prices
    target: Target
    notes: tuple[str, ...] = ()


def bill(traffic: Traffic, prices: Prices) -> Bill:
    prompt = traffic.requests * traffic.prompt * prices.input / _MILLION
    output = traffic.requests * traffic.output * prices.output / _MILLION
    share, price = traffic.cached, _cached_price(prices)
    per_share = traffic.requests * traffic.prompt / _MILLION
    return Bill(
        prompt=Range(prompt * (1 - share.high), prompt * (1 - share.low)),
        cached=Range(per_share * share.low * price.low, per_share * share.high * price.high),
        output=output,
        total=_of(_total, traffic, prices),
        uncached=prompt + output,
    )


def savings(traffic: Traffic, prices: Prices) -> list[Saving]:
    """What each change alone saves, the largest first; a shorter prompt keeps its cached share."""

    def hits(then: Traffic) -> Traffic:
        more = min(then.cached.low + STEP, 1.0)
        return replace(then, cached=Range(more, more))

    step, points = f"{STEP:.0%}".replace("%", " %"), f"{100 * min(STEP, 1 - traffic.cached.low):.3g} points"
    changes: list[tuple[str, str, Callable[[Traffic], Traffic]]] = [
        ("cached_share", f"{points} more of the prompt from the cache{_from_to(traffic.cached)}", hits),
        (
            "prompt_tokens",
            f"a prompt {step} shorter, the same share of it cached",
            lambda then: replace(then, prompt=then.prompt * (1 - STEP)),
        ),
        (
            "output_tokens",
            f"an answer {step} shorter",
            lambda then: replace(then, output=then.output * (1 - STEP)),
        ),
    ]
    found = [Saving(name, said, _of(_saved_by(change), traffic, prices)) for name, said, change in changes]
    return sorted(found, key=lambda saving: -sum(saving.usd))


def _from_to(share: Range) -> str:
    if not share.known:
        return ""
    return f" ({100 * share.low:.0f} → {100 * min(share.low + STEP, 1.0):.0f} %)"


def _saved_by(change: Callable[[Traffic], Traffic]) -> Callable[[Traffic, float, Prices], float]:
    return lambda traffic, price, prices: (
        _total(traffic, price, prices) - _total(change(traffic), price, prices)
    )


def _of(figure: Callable[[Traffic, float, Prices], float], traffic: Traffic, prices: Prices) -> Range:
    """Its least and most over what is not known: it is linear between the corners, so they have them."""
    shares, cached_prices = set(traffic.cached), set(_cached_price(prices))
    if traffic.cached.low < 1 - STEP < traffic.cached.high:
        shares.add(1 - STEP)  # a corner, too: above it no whole step of the share can be had
    found = [
        figure(replace(traffic, cached=Range(share, share)), price, prices)
        for share, price in product(shares, cached_prices)
    ]
    return Range(min(found), max(found))


def _total(traffic: Traffic, cached_price: float, prices: Prices) -> float:
    share = traffic.cached.low
    each = (
        traffic.prompt * ((1 - share) * prices.input + share * cached_price) + traffic.output * prices.output
    )
    return traffic.requests * each / _MILLION


def _cached_price(prices: Prices) -> Range:
    """A cached token costs no more than another one."""
    return Range(0.0, prices.input) if prices.cached is None else Range(prices.cached, prices.cached)
