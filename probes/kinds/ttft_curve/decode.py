"""How fast is the answer written, behind a short prompt and behind a long one, and do both speeds explain the total?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.kinds.ttft_curve.measured import LEAST
from probes.model import Figure
from probes.samples import counted
from probes.sampling import figure, middle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.ttft_curve.fit import Line
    from probes.kinds.ttft_curve.measured import Measured
    from probes.model import Call

_FEW = 4
"""Tokens of an answer, below which it may well come in one piece."""
_MOMENT = 1e-4
"""Seconds a token: faster than any model writes."""


@dataclass(frozen=True, slots=True)
class Decode:
    """`rate`: tokens a second behind the shortest prompt that tells, of `shortest` tokens; `slower`: seconds a token behind
    the longest one by those behind the shortest.
    """

    rate: Figure
    slower: Figure
    shortest: int
    longest: int

    def words(self) -> str:
        low, high = self.slower.low or 0.0, self.slower.high or 0.0
        if low <= 1.0 <= high:
            return f"behind {self.longest:,} no slower as far as these samples show ({low:.2f} to {high:.2f} times)"
        if self.slower.value > 1:
            return f"behind {self.longest:,} it is {self.slower.value:.2f} times slower ({low:.2f} to {high:.2f})"
        faster = 1 / self.slower.value
        return f"behind {self.longest:,} it is {faster:.2f} times faster ({1 / high:.2f} to {1 / low:.2f})"

    def residual(self, seen: Measured, fitted: Line) -> Figure | None:
        """By which share of an answer's total the two speeds miss it."""
        each = 1 / self.rate.value
        off = [
            abs(total - (fitted.at(tokens) + (output - 1) * each)) / total
            for side in seen.sides.values()
            for tokens, output, total in side.wholes
        ]
        return middle(off, "share", self.rate.conditions) if off else None


def decode(seen: Measured) -> Decode | None:
    sides = [(n, side) for n, side in sorted(seen.sides.items()) if len(side.tpot) >= LEAST]
    if len(sides) < 2:
        return None
    (shortest, first), (longest, last) = sides[0], sides[-1]
    short, long = figure(first.tpot), figure(last.tpot)
    if not (short.low and short.high and long.low and long.high):
        return None
    slower = Figure(
        long.value / short.value, "times", min(short.n, long.n), long.low / short.high, long.high / short.low,
        conditions=short.conditions,
    )  # fmt: skip
    rate = Figure(
        1 / short.value, "tokens/s", short.n, 1 / short.high, 1 / short.low, conditions=short.conditions
    )
    return Decode(rate, slower, shortest, longest)


def at_once(calls: Sequence[Call]) -> tuple[int, int]:
    """Answers that came with all of their tokens in one moment, of how many that are long enough to show it."""
    whole = told = 0
    for call in calls:
        if call.last is None:
            continue
        line, tokens = call.last.timeline, counted(call.last)
        if tokens is None or tokens < _FEW or line.first_token is None or line.last_token is None:
            continue
        told += 1
        whole += line.last_token - line.first_token <= _MOMENT * (tokens - 1)
    return whole, told


def unwritten(seen: Measured) -> str:
    """Why there is no speed of writing."""
    outputs = [output for side in seen.sides.values() for _, output, _ in side.wholes]
    if outputs and max(outputs) < _FEW:
        return f"no answer has more than {max(outputs)} output tokens"
    return f"fewer than {LEAST} answers behind each of two lengths tell how long their tokens took"
