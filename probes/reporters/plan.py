"""What would a run send, and what could it cost at the most?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TextIO

from probes.reporters.words import skips

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Budget, Prices, Skipped, Target

_MILLION = 1_000_000


class Row(NamedTuple):
    """A case: `requests` and `tokens` at the most, `seconds` at the most of a long one, and of others for a server that
    answers at once; `notes`: what else is known of it beforehand.
    """

    case: str
    clients: str
    requests: int
    tokens: int
    seconds: float
    long: bool = False
    notes: tuple[str, ...] = ()


def report(
    rows: Sequence[Row], skipped: Sequence[Skipped], target: Target, price: Prices | None, out: TextIO
) -> None:
    lines = [f"target   {target.name} ({target.api}, {target.model})"]
    for name, route in target.routes.items():
        lines.append(
            f"route    {name:<8} {route.base_url}{f' at {route.connect_to}' if route.connect_to else ''}"
        )
    rows = [_within(row, target.budget) for row in rows]
    width = max((len(row.case) for row in rows), default=7)
    lines += ["", f"{'case':<{width}}  requests    tokens  seconds  clients"]
    for row in rows:
        lines.append(
            f"{row.case:<{width}}  {row.requests:>8}  {row.tokens:>8,}  {row.seconds:>7.0f}  {row.clients}"
        )
    budget = target.budget
    requests = _least(sum(row.requests for row in rows), budget.requests)
    tokens = _least(sum(row.tokens for row in rows), budget.tokens)
    seconds = _seconds(rows, requests, target.limits.per_minute)
    usd = "" if budget.usd is None else f", ${budget.usd:g}"
    lines += [
        f"{'at most':<{width}}  {requests:>8}  {tokens:>8,}  {f'{seconds:>7.0f}' if _bounded(rows) else ''}".rstrip(),
        *(f"note     {row.case}: {note}" for row in rows for note in row.notes),
        f"money    {_money(tokens, price, target)}",
        f"time     {_time(rows, seconds)}",
        f"budget   {_or_none(budget.requests)} requests, {_or_none(budget.tokens)} tokens{usd}",
        *(
            f"skipped  {where}{f' with {client}' if client else ''}: {reason}"
            for where, client, reason in skips(skipped)
        ),
        "nothing was sent",
    ]
    out.write("\n".join(lines) + "\n")


def _within(row: Row, budget: Budget) -> Row:
    """The run keeps to it, whatever its cases could cost."""
    return row._replace(
        requests=_least(row.requests, budget.requests), tokens=_least(row.tokens, budget.tokens)
    )


def _least(many: int, ceiling: int | None) -> int:
    return many if ceiling is None else min(many, ceiling)


def _money(tokens: int, price: Prices | None, target: Target) -> str:
    """Every token at the dearer of the two prices: which of them are input is not known beforehand."""
    if price is None:
        return f"no price of {target.model} is known"
    usd = tokens * max(price.input, price.output) / _MILLION
    if target.budget.usd is not None:
        usd = min(usd, target.budget.usd)
    return f"at most ${usd:.4f} (${price.input:g} input, ${price.output:g} output per million tokens)"


def _seconds(rows: Sequence[Row], requests: int, per_minute: int | None) -> float:
    """Long cases run beside the short ones, which run one after the other."""
    short = sum(row.seconds for row in rows if not row.long)
    together = max([short, *(row.seconds for row in rows if row.long)])
    return together if per_minute is None else max(together, (requests / per_minute - 1) * 60)


def _bounded(rows: Sequence[Row]) -> bool:
    """Of long cases the most that they may take is known; of the others, what they take of a good server."""
    return all(row.long for row in rows)


def _time(rows: Sequence[Row], seconds: float) -> str:
    if _bounded(rows):
        return f"at most {_minutes(seconds)}"
    long = " and what is long takes the most it may" if any(row.long for row in rows) else ""
    return f"about {_minutes(seconds)} where the server answers at once{long}; of a slow one longer"


def _minutes(seconds: float) -> str:
    return f"{max(seconds / 60, 0.1):.1f} minutes"


def _or_none(ceiling: int | None) -> str:
    return "no limit of" if ceiling is None else f"{ceiling:,}"
