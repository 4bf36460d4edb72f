"""How is a bill told?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.bill import NOT_TOLD, bill, savings

if TYPE_CHECKING:
    from probes.bill import Month, Range, Traffic
    from probes.model import Prices, Target

_CENTS_BELOW = 100
_WRITES = (
    "writing into the cache is counted at the price of input; the list price of it is 1.25 to 2 times that"
)


def rows(month: Month) -> list[tuple[str, str, str]]:
    """(What, US dollars or nothing, in words)."""
    traffic, prices = month.traffic, month.prices
    cost = bill(traffic, prices)
    of_whom = "of the target" if month.target.prices is not None else f"listed for {month.target.model}"
    each = f"{traffic.prompt:,.0f} prompt tokens ({_share(traffic.cached)} from the cache)"
    rates = f"${prices.input:g} input, {_cached(prices)}, ${prices.output:g} output"
    changes = [("saves", _range(*saving.usd), saving.change) for saving in savings(traffic, prices)]
    return [
        ("monthly", "", f"{traffic.requests:,} requests of {each} and {traffic.output:,.0f} output tokens"),
        ("prices", "", f"{rates} per million tokens, {of_whom}"),
        *(("note", "", note) for note in notes(month)),
        ("prompt", _range(*cost.prompt), f"{_tokens(traffic, 'prompt')} that do not come from the cache"),
        ("cached", _range(*cost.cached), f"{_tokens(traffic, 'cached')} that do"),
        ("output", usd(cost.output), _tokens(traffic, "output")),
        ("total", _range(*cost.total), f"without the cache {usd(cost.uncached)}"),
        *changes,
    ]


def told(month: Month) -> list[str]:
    """The bill in lines."""
    said = rows(month)
    width = max(len(amount) for _, amount, _ in said)
    lines, before = [], ""
    for what, amount, words in said:
        if amount and what in {"prompt", "saves"} and what != before:
            lines.append("")
        name = "" if what == before == "saves" else what
        lines.append(f"{name:<8} {amount:>{width}}  {words}" if amount else f"{what:<8} {words}")
        before = what
    return [*lines, f"{'':<8} {'':>{width}}  each alone, against the total"]


def notes(month: Month) -> list[str]:
    return [*month.notes, *_notes(month.traffic, month.prices, month.target)]


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
    low, high = (f"{100 * part:.3g}" for part in share)
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
