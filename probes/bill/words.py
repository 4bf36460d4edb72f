"""How is a bill told?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.bill import NOT_TOLD, bill, savings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.bill import Range, Traffic
    from probes.model import Prices, Target

_CENTS_BELOW = 100
_WRITES = (
    "writing into the cache is counted at the price of input; the list price of it is 1.25 to 2 times that"
)


def told(traffic: Traffic, prices: Prices, target: Target, notes: Sequence[str] = ()) -> list[str]:
    """The bill in lines; `notes` say what the traffic was taken from."""
    month = bill(traffic, prices)
    parts = [
        ("prompt", month.prompt, f"{_tokens(traffic, 'prompt')} that do not come from the cache"),
        ("cached", month.cached, f"{_tokens(traffic, 'cached')} that do"),
        ("output", (month.output, month.output), _tokens(traffic, "output")),
        ("total", month.total, f"without the cache {usd(month.uncached)}"),
    ]
    changes = [(saving.usd, saving.change) for saving in savings(traffic, prices)]
    width = max(
        len(_range(*amount)) for amount in (*(part[1] for part in parts), *(one[0] for one in changes))
    )
    of_whom = "of the target" if target.prices is not None else f"listed for {target.model}"
    each = f"{traffic.prompt:,.0f} prompt tokens ({_share(traffic.cached)} from the cache)"
    rates = f"${prices.input:g} input, {_cached(prices)}, ${prices.output:g} output"
    lines = [
        f"monthly  {traffic.requests:,} requests of {each} and {traffic.output:,.0f} output tokens",
        f"prices   {rates} per million tokens, {of_whom}",
        *(f"note     {note}" for note in (*notes, *_notes(traffic, prices, target))),
        "",
        *(f"{name:<8} {_range(*amount):>{width}}  {of}" for name, amount, of in parts),
        "",
    ]
    for number, (amount, change) in enumerate(changes):
        lines.append(f"{'saves' if number == 0 else '':<8} {_range(*amount):>{width}}  {change}")
    return [*lines, f"{'':<8} {'':>{width}}  each alone, against the total"]


def _notes(traffic: Traffic, prices: Prices, target: Target) -> list[str]:
    found = []
    if not traffic.cached.known:
        found.append(
            "how much comes from the cache is not known, and not taken for nothing: the bill is a range"
        )
    if prices.cached is None and traffic.cached.high > 0:
        found.append("no price of cached tokens is known, so they cost from nothing up to the price of input")
    if target.api == "anthropic" and traffic.cached.low < 1:
        found.append(_WRITES)
    return found


def usd(amount: float) -> str:
    return f"${amount:,.0f}" if amount >= _CENTS_BELOW else f"${amount:,.2f}"


def _range(low: float, high: float) -> str:
    return usd(low) if usd(low) == usd(high) else f"{usd(low)} to {usd(high)}"


def _share(share: Range) -> str:
    if share == NOT_TOLD:
        return "an unknown share"
    low, high = (f"{100 * part:.0f}" for part in share)
    return f"{low} %" if low == high else f"{low} to {high} %"


def _cached(prices: Prices) -> str:
    return "cached unknown" if prices.cached is None else f"${prices.cached:g} cached"


def _tokens(traffic: Traffic, which: str) -> str:
    share = traffic.cached
    each = {
        "prompt": (traffic.prompt * (1 - share.high), traffic.prompt * (1 - share.low)),
        "cached": (traffic.prompt * share.low, traffic.prompt * share.high),
        "output": (traffic.output, traffic.output),
    }[which]
    low, high = (f"{traffic.requests * tokens:,.0f}" for tokens in each)
    return f"{low if low == high else f'{low} to {high}'} tokens"
