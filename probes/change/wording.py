"""How is a change of one trait put into words, and which is told first?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.change.traits import CLIENT, CUTOFF, DELIVERY, ENCODING, HEADER, ISSUER, TO_CLIENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from probes.change.differences import Change
    from probes.comparison import Trait

_FIRST = (CLIENT, ISSUER, DELIVERY, CUTOFF, "error shape", ENCODING, "HTTP version", "TLS version", "products on the way",
          "cache status", "framing", f"{HEADER}server")  # fmt: skip
"""What leads the title, since customers feel it the most."""
_WHERES, _VALUES = 3, 4


def rank(change: Change) -> tuple[int, str, str, str]:
    place = _FIRST.index(change.of) if change.of in _FIRST else len(_FIRST)
    return place, change.of, change.where, change.route


def alike(changed: Sequence[Change]) -> list[list[Change]]:
    """The same change of the same trait in several forms of answer is told once."""
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[Change]] = {}
    for change in sorted(changed, key=rank):
        groups.setdefault((change.of, change.before.values, change.after.values), []).append(change)
    return list(groups.values())


def where_of(group: Sequence[Change]) -> str:
    wheres = list(dict.fromkeys(change.where for change in group if change.where))
    more = f" and {len(wheres) - _WHERES} more" if len(wheres) > _WHERES else ""
    routes = sorted({change.route for change in group if change.route})
    return "; ".join(
        [f"{', '.join(wheres[:_WHERES])}{more}", *([f"route {', '.join(routes)}"] if len(routes) > 1 else [])]
    )


def side_by_side(group: Sequence[Change]) -> str:
    first, where = group[0], where_of(group)
    return f"{first.of}{f' ({where})' if where else ''}: {_valued(first.before)} → {_valued(first.after)}"


def _valued(trait: Trait) -> str:
    values = [value or "absent" for value in trait.values]
    return " or ".join(values[:_VALUES]) + (" …" if len(values) > _VALUES else "")


def counted(sides: Sequence[Trait]) -> str:
    """Of one group the side before, or after: the same values in all."""
    return f"{_valued(sides[0])} ({sum(side.n for side in sides)})"


def in_words(group: Sequence[Change]) -> str:
    """The change as a title."""
    change = group[0]
    old, new = _valued(change.before), _valued(change.after)
    if (say := _SAID.get(change.of)) is not None:
        return say(group, old, new)
    if change.of.startswith(HEADER):
        name = change.of.removeprefix(HEADER)
        if change.before.values == ("",):
            return f"The header {name} is new"
        if change.after.values == ("",):
            return f"The header {name} is gone"
        return f"The header {name} went from {old} to {new}"
    return f"The {change.of} went from {old} to {new}"


def _passes(group: Sequence[Change], _: str, new: str) -> str:
    names = sorted({change.where for change in group})
    shown = ", ".join(names[:_WHERES]) + (f" and {len(names) - _WHERES} more" if len(names) > _WHERES else "")
    return f"{shown} {'is' if len(names) == 1 else 'are'} {new}"


def _encoded(group: Sequence[Change], _: str, new: str) -> str:
    form = group[0].where.partition(TO_CLIENTS)[0]
    how = "without compression" if new == "none" else f"compressed with {new}"
    return f"{form[:1].upper()}{form[1:]} come {how}"


def _delivered(_: Sequence[Change], __: str, new: str) -> str:
    return "Streams are held back" if new == "held back" else "Streams come as they are made again"


_SAID: dict[str, Callable[[Sequence[Change], str, str], str]] = {
    CLIENT: _passes,
    ISSUER: lambda _, old, new: f"The certificate comes from {new}, no longer from {old}",
    CUTOFF: lambda _, old, new: f"The cutoff of long answers went from {old} to {new}",
    DELIVERY: _delivered,
    ENCODING: _encoded,
}
