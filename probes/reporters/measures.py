"""Which figures has a finding, each with its n, spread, interval and conditions?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from probes.reporters.taken import in_words
from probes.reporters.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Figure, Finding

_SECONDS = {"s": "", "s/token": " a token"}
_SHARES = frozenset({"share", "of prompt tokens", "probability"})
HEADS = ("figure", "value", "n", "quartiles apart", "interval", "taken under")


class Measure(NamedTuple):
    """One figure in words, in the order of `HEADS`; a cell is empty where there is no such thing."""

    name: str
    value: str
    n: str
    spread: str
    interval: str
    under: str


def measures(finding: Finding) -> Iterator[Measure]:
    for name, figure in finding.figures.items():
        low, high = (None if end is None else _said(figure, end) for end in (figure.low, figure.high))
        bounds = (
            f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}" if high else ""
        )
        yield Measure(
            name.replace("_", " ").replace("@", " at "),
            _said(figure, figure.value),
            f"{figure.n:,}",
            "" if figure.spread is None else _said(figure, figure.spread),
            bounds if figure.n > 1 or low != high else "",
            in_words({**finding.conditions, **figure.conditions}, finding.route),
        )


def _said(figure: Figure, value: float) -> str:
    if figure.unit in _SECONDS:
        return f"{duration(value)}{_SECONDS[figure.unit]}"
    if figure.unit in _SHARES:
        return f"{100 * value:.3g} %"
    number = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{number} {figure.unit}"
