"""How is a shift of a time said?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.change.part import times

if TYPE_CHECKING:
    from probes.change.statistics import Effect


def in_words(seen: Effect) -> str:
    """`+24% (+11% to +39%)`."""
    if seen.high == float("inf"):
        return f"{percent(seen.ratio)}, without bounds"
    return f"{percent(seen.ratio)} ({percent(seen.low)} to {percent(seen.high)})"


def percent(ratio: float) -> str:
    """Of a ratio, as what it adds."""
    more = round((ratio - 1) * 100, 1) + 0.0  # never -0.0
    return f"{ratio:.1f} times" if ratio >= 3 else f"{more:+.1f}%" if abs(more) < 2 else f"{more:+.0f}%"


def able(n: int, smallest: float | None) -> str:
    said = f"{times(n, 'sample')} a side"
    return (
        f"{said} are too few to be sure of any"
        if smallest is None
        else f"{said} would show {percent(smallest)}"
    )
