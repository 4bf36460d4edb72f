"""Where is the wait of a long request: for the headers, for a first byte, or for the first token?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.length.spans import waited
from probes.kinds.words import duration, listed
from probes.model import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.kinds.length.pair import Pair
    from probes.kinds.length.side import Side

_MARKS = ("headers", "first_byte", "first_token")


def waits(pair: Pair) -> tuple[tuple[str, str], ...]:
    """Of both sides; a byte before the first token may be a blank or a comment, which is no answer."""
    said = [f"{side.name}: {_said(side)}" for side in pair.sides if side.last is not None]
    return (("waits", "; ".join(said)),)


def _said(side: Side) -> str:
    marks = [f"{name.replace('_', ' ')} {duration(at)}" for name, at in _marks(side).items()]
    if not side.streamed and side.good and side.answered is not None:
        marks.append(f"whole {duration(side.answered)}")
    return ", ".join(marks) or "nothing came"


def way(pair: Pair) -> tuple[tuple[str, str], ...]:
    """The products that the answers passed on their way, who made them apart; none of them need have ended anything."""
    made = [side.sent.attribution for side in pair.sides if side.last is not None]
    makers = {each.product for each in made if each is not None}
    passed = dict.fromkeys(name for each in made if each is not None for name in each.transit)
    names = [name for name in passed if name not in makers]
    return (("through", f"{listed(names)}, as the headers show"),) if names else ()


def figures(pair: Pair) -> dict[str, Figure]:
    """Seconds since the request was sent whole, each of its side: `streamed_headers`, `plain_first_byte` …"""
    found = {}
    for name, side in (("streamed", pair.stream), ("plain", pair.plain)):
        for mark, at in _marks(side).items():
            found[f"{name}_{mark}"] = Figure(at, "s", 1)
    return found


def _marks(side: Side) -> Mapping[str, float]:
    """A plain answer's tokens come together, so it has no first one."""
    if side.last is None:
        return {}
    line = side.sent.timeline
    names = _MARKS if side.streamed else _MARKS[:2]
    marks = {name: waited(side.sent, getattr(line, name)) for name in names}
    return {name: at for name, at in marks.items() if at is not None}
