"""Under which conditions were the figures of a finding taken?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.model import Finding

_TAKEN = ("connection", "client", "cache", "concurrency")
_BESIDE = ("order", "warm_up", "tainted", "left_out")


def under(finding: Finding) -> str:
    """The conditions of all its figures in one line; where they are not the same for all, the finding's own word."""
    if not finding.figures:
        return ""
    own = [{**finding.conditions, **figure.conditions} for figure in finding.figures.values()]
    shared = {
        name: value
        for name, value in own[0].items()
        if all(name in each and each[name] == value for each in own)
    }
    return in_words({**finding.conditions, **shared}, finding.route)


def in_words(conditions: Mapping[str, Any], route: str | None) -> str:
    """`connection new, client cold, cache cold, 1 at a time`; what was counted over many kinds of requests says of how many."""
    if not any(name in conditions for name in _TAKEN):
        return (
            ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in conditions.items())
            or "not recorded"
        )
    said = [f"{name} {conditions.get(name) or 'unknown'}" for name in _TAKEN if name != "concurrency"]
    if (together := conditions.get("concurrency")) is not None:
        said.append("1 at a time" if together == 1 else f"{together} at once")
    said += [f"{name.replace('_', ' ')} {conditions[name]}" for name in _BESIDE if conditions.get(name)]
    if route is not None and conditions.get("route", route) != route:
        said.append(f"route {conditions['route']}")
    return ", ".join(said)
