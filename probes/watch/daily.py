"""What may still be spent on a target today?

Days are those of UTC. What was spent before the canary began, and in runs that were cut off, is known from its memory.
"""

from __future__ import annotations

from datetime import UTC, time, timedelta
from typing import TYPE_CHECKING, Literal

from probes.budget import PROMPT_TOKENS
from probes.ledger import Ledger
from probes.model import Budget
from probes.prices import prices

if TYPE_CHECKING:
    from datetime import date, datetime

    from probes.model import Target
    from probes.watch.needs import Daily, Memory

Kind = Literal["requests", "tokens", "usd"]
_LEAST = (1, PROMPT_TOKENS, 1)
"""A short question: where not even that is left, a run would measure nothing."""


class Days:
    """A run belongs to the day on which it begins. `ledger` gives one that all runs of target and day share, under the
    lock of their Pace.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._open: dict[str, tuple[date, Ledger]] = {}

    def ledger(self, target: Target, daily: Daily | None, now: datetime) -> Ledger | None:
        """Of the day of `now`; `None` where the day has no ceilings."""
        if daily is None:
            return None
        today = now.astimezone(UTC).date()
        budget = Budget(daily.requests_per_day, daily.tokens_per_day, daily.usd_per_day)
        day, ledger = self._open.get(target.name, (None, None))
        if ledger is None or day != today:
            spent = self._memory.spent(target.name, _midnight(now))
            ledger = Ledger(budget, prices(target), spent)
            self._open[target.name] = today, ledger
        ledger.budget = budget  # the file may have been changed since
        return ledger


def used_up(target: str, ledger: Ledger, now: datetime) -> str | None:
    """In words, where it bears no question more."""
    if ledger.affords(_LEAST):
        return None
    spend, budget = ledger.spend, ledger.budget
    said = [
        f"{spent:,} of {most:,} {what}"
        for what, spent, most in (
            ("requests", spend.requests, budget.requests),
            ("tokens", spend.input_tokens + spend.output_tokens, budget.tokens),
        )
        if most is not None
    ]
    if budget.usd is not None:
        said.append(
            "money, of which no price is known"
            if spend.usd is None
            else f"${spend.usd:.2f} of ${budget.usd:.2f}"
        )
    until = _midnight(now) + timedelta(days=1)
    return f"the day's budget of {target} is used up: {', '.join(said)}; until {until:%Y-%m-%d %H:%M} UTC"


def left(ledger: Ledger) -> dict[Kind, float]:
    """Of each ceiling that there is; never below 0."""
    spend, budget = ledger.spend, ledger.budget
    rests: dict[Kind, float | None] = {
        "requests": None if budget.requests is None else budget.requests - spend.requests,
        "tokens": None if budget.tokens is None else budget.tokens - spend.input_tokens - spend.output_tokens,
        "usd": None if budget.usd is None else budget.usd - (spend.usd or 0.0),
    }
    return {kind: max(float(rest), 0.0) for kind, rest in rests.items() if rest is not None}


def _midnight(now: datetime) -> datetime:
    return now.astimezone(UTC).combine(now.astimezone(UTC).date(), time(), UTC)
