"""What was spent of a budget, and what does it still bear?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.model import Spend
from probes.prices import cost

if TYPE_CHECKING:
    from probes.model import Budget, Prices

Cost = tuple[int, int, int]
"""Requests, input tokens, output tokens."""


class Ledger:
    """`budget` may be replaced. Not for several threads at once: whoever shares one has a lock for it."""

    def __init__(self, budget: Budget, price: Prices | None, spent: Spend | None = None) -> None:
        self.budget = budget
        self._price = price
        self._requests = spent.requests if spent else 0
        self._input = spent.input_tokens if spent else 0
        self._output = spent.output_tokens if spent else 0

    @property
    def spend(self) -> Spend:
        usd = self._usd(self._input, self._output)
        return Spend(self._requests, self._input, self._output, None if usd is None else round(usd, 9))

    def book(self, spent: Cost, sign: int = 1) -> None:
        self._requests += sign * spent[0]
        self._input += sign * spent[1]
        self._output += sign * spent[2]

    def affords(self, more: Cost) -> bool:
        """Every ceiling holds with it."""
        input_tokens, output_tokens = self._input + more[1], self._output + more[2]
        spent = (
            self._requests + more[0],
            input_tokens + output_tokens,
            self._usd(input_tokens, output_tokens),
        )
        ceilings = (self.budget.requests, self.budget.tokens, self.budget.usd)
        # Money that cannot be counted is not spent.
        return all(c is None or (s is not None and s <= c) for s, c in zip(spent, ceilings, strict=True))

    def affords_request(self) -> bool:
        """One more, of which what it may cost in tokens is booked already."""
        return self.budget.requests is None or self._requests < self.budget.requests

    def _usd(self, input_tokens: int, output_tokens: int) -> float | None:
        return None if self._price is None else cost(self._price, input_tokens, output_tokens)
