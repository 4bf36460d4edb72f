"""How did the bytes of a stream come: as they were made, in steps, or all at once?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate, pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from probes.model import BODY_HEAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Exchange

FEWEST = 16
"""Events with text, below which nothing is said."""
TEXT = frozenset("vrk")
"""Letters of `event_kinds` for what a model made: shown, reasoned, a call of a tool."""
RESOLUTION = 0.01
"""Seconds, where a call does not say how fine its times are."""
_LAST = 0.05
"""Of the time from the request to the last byte: what comes in it comes at the end."""
_AT_THE_END, _TENTH = 0.95, 0.1
"""Of the bytes; and of the time: what was held for long leaves at once, and may still take a while on a slow way."""
_PAUSE = 3.0
"""Times the mean interval of events; even where intervals vary as chance has it, such gaps are a fifth of the time."""
_STANDING = 0.8
"""Of the time between the first token and the last, in which nothing comes."""
_SPAN = 10.0
"""Times the resolution, below which the order of arrivals is no evidence."""
_ALIKE = 0.1
_EACH = 0.5
"""Reads an event, from which on events came by themselves."""
_SEVERED = 0.1
"""Of the reads, up to which one that ends within an event is a network's doing."""
_FEW = 4
"""Events with text, below which no order of theirs says anything."""
MOMENT = 0.25
"""Seconds: less is no hold that a reader would see."""
FLUENT = 0.15
"""Seconds between goes, up to which they seem to follow each other at once (0.1 by Nielsen); a socket that is corked, as
HAProxy's without http-no-delay, keeps what it has for 0.2 (tcp(7), TCP_CORK).
"""
SEVERED = 2
_SPOILT = 0.5
"""Of the time: where this process was late for more of it, and not by little each time, what it saw is no evidence."""


class How(StrEnum):
    """`WHOLE`: at the end, all at once, which a fast model shows as well as a buffer does. `UNTOLD`: too little came, or
    too fast.
    """

    FLOWS = "flows"
    STEPS = "steps"
    WHOLE = "whole"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True)
class Group:
    """Bytes that came together; `whole` is whether the last event among them is: `None` where that can't be seen."""

    at: float
    until: float
    size: int
    whole: bool | None


@dataclass(frozen=True, slots=True)
class Arrivals:
    """`waited`: seconds from the request to the first token; `span`: from there to the last byte; `late`: share of the
    bytes in the last 5 % of the time; `tokens`: events with text. `why`: of `UNTOLD`, in words; `ours`: since this process
    itself ran late. `apart`: of what is `WHOLE` or `UNTOLD`, that its events came one by one for long enough to see.
    `opening`: of what `FLOWS`, events that came at once with the first, after a wait in which they can have been made.
    """

    how: How
    waited: float = 0.0
    span: float = 0.0
    late: float = 0.0
    tokens: int = 0
    groups: tuple[Group, ...] = ()
    why: str = ""
    ours: bool = False
    apart: bool = False
    opening: int = 0

    @property
    def ended(self) -> float:
        """Seconds from the request to the last byte."""
        return self.waited + self.span

    @property
    def step_bytes(self) -> float | None:
        """Where the steps are of one size but for the first, which may hold headers, and the last."""
        return _alike([group.size for group in self.groups[1:-1]])

    @property
    def step_seconds(self) -> float | None:
        """Where the steps come at one interval."""
        return _alike([after.until - before.until for before, after in pairwise(self.groups[:-1])])

    @property
    def pause(self) -> float:
        """Seconds that nothing comes between two steps, as a rule."""
        return median([after.at - before.until for before, after in pairwise(self.groups)] or [0.0])

    @property
    def severed(self) -> int:
        """Groups that end in the middle of an event, which nobody does who writes events."""
        return sum(group.whole is False for group in self.groups[:-1])

    @property
    def by_bytes(self) -> bool:
        """A buffer of bytes was full: its goes end within events and are of one size, or too far apart for a network to
        have parted them, or this machine.
        """
        apart = self.pause > FLUENT or self.step_bytes is not None
        return self.how is How.STEPS and self.severed >= SEVERED and apart

    @property
    def fluent(self) -> bool:
        """In goes that a reader takes for one flow, and that no buffer is known to have made."""
        return self.how is How.STEPS and self.pause <= FLUENT and not self.by_bytes


def arrivals(exchange: Exchange, resolution: float = RESOLUTION) -> Arrivals:
    """By the chunks as they came, content coding still on: what a compressor gave out first may be its header alone."""
    times, line, facts = exchange.chunk_times, exchange.timeline, exchange.facts
    tokens = int(facts.get("tokens") or 0)
    if not facts.get("stream") or not times or line.first_token is None:
        return Arrivals(How.UNTOLD, tokens=tokens, why="no text came in a stream")
    sent, first, end = line.upload_end or 0.0, line.first_token, times[-1]
    late = _late(times, exchange.chunk_sizes, sent, end)
    seen = Arrivals(How.UNTOLD, max(first - sent, 0.0), max(end - first, 0.0), late, tokens)
    if _stalled(exchange, sent, end) > _SPOILT * (end - sent) and _stall_max(exchange) * _SPAN > seen.span:
        return _as(seen, How.UNTOLD, why="this process itself ran late for most of the time", ours=True)
    if tokens < FEWEST:
        apart = _apart(exchange, seen, resolution)
        return _as(seen, How.UNTOLD, why=f"only {tokens} events with text came", apart=apart)
    if late >= _AT_THE_END or seen.span <= _TENTH * (end - sent):
        apart = _apart(exchange, seen, resolution)
        return _as(seen, How.WHOLE, _grouped(exchange, first, seen.span), apart=apart)
    if seen.span < _SPAN * resolution:
        return _as(seen, How.UNTOLD, why=f"{tokens} events came within {seen.span * 1000:.0f} ms")
    return _in_time(exchange, seen, resolution)


def _in_time(exchange: Exchange, seen: Arrivals, resolution: float) -> Arrivals:
    """Of what came over a time that is long enough to look into."""
    tokens, first = seen.tokens, exchange.timeline.first_token or 0.0
    groups = _grouped(exchange, first, max(_PAUSE * seen.span / tokens, 2 * resolution))
    seconds = seen.span - _stalled(exchange, first, first + seen.span)
    standing = sum(
        after.at - before.until - _stalled(exchange, before.until, after.at)
        for before, after in pairwise(groups)
    )
    if standing < _STANDING * seconds:
        return _as(seen, How.FLOWS, groups, opening=_opening(exchange, seen, resolution))
    if len(groups) < 3:
        return _as(seen, How.UNTOLD, groups, f"{tokens} events came in {len(groups)} goes")
    steps = _as(seen, How.STEPS, groups)
    went = median([group.until - group.at for group in groups[:-1]])
    for_long = went >= max(_SPAN * resolution, _TENTH * (went + steps.pause))
    if for_long and _event_by_event(exchange, tokens):
        return _as(seen, How.FLOWS, groups)  # whoever makes it stands still now and then
    return steps


def _apart(exchange: Exchange, seen: Arrivals, resolution: float) -> bool:
    """What a buffer lets go of leaves in portions of the network's size, which end anywhere; these are events."""
    if seen.tokens < _FEW or seen.span < _SPAN * resolution:
        return False
    return _event_by_event(exchange, seen.tokens) and _in_time(exchange, seen, resolution).how is How.FLOWS


def _event_by_event(exchange: Exchange, tokens: int) -> bool:
    first, reads = exchange.timeline.first_token or 0.0, 0
    severed = 0
    for at, end in zip(exchange.chunk_times, accumulate(exchange.chunk_sizes), strict=True):
        if at >= first:
            reads += 1
            severed += _ends_an_event(exchange, end) is False
    return reads >= _EACH * tokens and severed <= _SEVERED * reads


def _opening(exchange: Exchange, seen: Arrivals, resolution: float) -> int:
    """Events of the first moment, where at the pace of the others they took a while to make, and no longer than the wait."""
    first = exchange.timeline.first_token or 0.0
    times = [at for at, kind in zip(exchange.event_times, exchange.event_kinds, strict=False) if kind in TEXT]
    together = sum(at <= first + 2 * resolution for at in times)
    others = times[together:]
    if together < FEWEST or len(others) < FEWEST:
        return 0
    took = (together - 1) * (others[-1] - others[0]) / (len(others) - 1)
    unseen = _stalled(exchange, first - took, first)
    return together if took - unseen >= MOMENT and took <= seen.waited else 0


def made(exchange: Exchange) -> tuple[str, float, float] | None:
    """By which of the server's own stamps, and how many seconds at least and at most it took to make the events.

    Between two times of day the wait for the first token may lie, which is no hold: there what one event was later than
    another is the least.
    """
    stamps: Any = exchange.facts.get("made")
    if not isinstance(stamps, dict):
        return None
    seconds, late = float(stamps["seconds"]), stamps.get("late")
    least = seconds if late is None else float(late)
    return str(stamps["by"]), least, seconds + float(stamps["resolution"])


def _as(seen: Arrivals, how: How, groups: tuple[Group, ...] = (), why: str = "", **more: Any) -> Arrivals:
    return replace(seen, how=how, groups=groups, why=why, **more)


def _stalled(exchange: Exchange, since: float, until: float) -> float:
    """Seconds between the two in which this process itself ran late, so that nothing could be seen to come."""
    stalls: Sequence[tuple[float, float]] = exchange.conditions.get("stalls") or ()
    return sum(max(min(end, until) - max(start, since), 0.0) for start, end in stalls)


def _stall_max(exchange: Exchange) -> float:
    """Seconds: who reads late reads all that has come meanwhile, so nothing is stamped later than by the longest."""
    return max((until - since for since, until in exchange.conditions.get("stalls") or ()), default=0.0)


def _late(times: Sequence[float], sizes: Sequence[int], sent: float, end: float) -> float:
    since = end - _LAST * (end - sent)
    return sum(size for at, size in zip(times, sizes, strict=True) if at >= since) / (sum(sizes) or 1)


def _grouped(exchange: Exchange, first: float, pause: float) -> tuple[Group, ...]:
    """From the first token on, parted where nothing came for longer than `pause` while we looked."""
    ends = list(accumulate(exchange.chunk_sizes))
    found: list[Group] = []
    for at, size, end in zip(exchange.chunk_times, exchange.chunk_sizes, ends, strict=True):
        if at < first:
            continue
        whole = _ends_an_event(exchange, end)
        if found and at - found[-1].until - _stalled(exchange, found[-1].until, at) <= pause:
            found[-1] = Group(found[-1].at, at, found[-1].size + size, whole)
        else:
            found.append(Group(at, at, size, whole))
    return tuple(found)


def _ends_an_event(exchange: Exchange, end: int) -> bool | None:
    """Not known of a body that is coded, or that something was taken out of, or beyond the part that is kept."""
    kept, coding = exchange.body_head, (exchange.body_encoding or "identity")
    if coding != "identity" or len(kept) != min(exchange.body_bytes, BODY_HEAD) or end > len(kept):
        return None
    return kept[:end].endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))


def _alike(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    middle = median(values)
    return middle if max(values) - min(values) <= _ALIKE * middle else None
