"""Did a measured cutoff move, as far as both sides measured it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from probes.model import Finding

_ALIKE = 0.1
"""Of a cutoff, by which another measurement of it may be off."""
_NONE_BELOW = "none below "


def clock_of(finding: Finding) -> str | None:
    """`125.0 s`, or `none below 191.0 s` as long as was held."""
    cutoff, held = finding.figures.get("cutoff"), finding.figures.get("held")
    if cutoff is not None and cutoff.unit == "s":
        return f"{cutoff.value:.1f} s"
    if held is not None and held.unit == "s" and finding.kind == "length":
        return f"{_NONE_BELOW}{held.value:.1f} s"
    return None


def moved(before: Collection[str], after: Collection[str]) -> bool | None:
    """`None` where one side did not hold for as long as it takes to see the other's cutoff."""
    old, new = _cuts(before), _cuts(after)
    if old and new:
        return not any(abs(a - b) <= _ALIKE * max(a, b) for a in old for b in new)
    if not old and not new:
        return False
    held = max(_seconds(value.removeprefix(_NONE_BELOW)) for value in (before if new else after))
    return True if max(old or new) * (1 + _ALIKE) < held else None


def _cuts(values: Collection[str]) -> list[float]:
    return [_seconds(value) for value in values if not value.startswith(_NONE_BELOW)]


def _seconds(value: str) -> float:
    return float(value.removesuffix(" s"))
