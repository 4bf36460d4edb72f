"""In which order are the arms asked?

Every prompt is written once and read once, so that each read finds what one write left behind; a read again would find what
the read before it left, too. Between them stands a short control, always alike, that shows whether the server itself got faster or slower.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.kinds.conclude import is_good
from probes.kinds.prompt_cache.trials import kept
from probes.twins import unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.prompt_cache.search import Place
    from probes.kinds.prompt_cache.trials import Trials
    from probes.model import Call, Trial

MOST_BAD = 3
"""Calls that may fail before the rest is not asked."""
FURTHER = 3
"""Pairs of an arm that is asked beside the others."""


def rounds(
    trials: Trials, place: Place, repeats: int, *, lines: bool, keyed: bool = False
) -> Generator[Sequence[Trial], list[Call], bool]:
    """All arms, so many times; whether it is worth going on. `lines`: those with a line that changes, too."""
    for _ in range(repeats):
        writes, reads, others = _round(trials, place, lines=lines, keyed=keyed)
        for part in (writes, reads, others):
            trials.rng.shuffle(part)
        if not (yield from one_by_one(trials, [*writes, *_after(reads, place.settle), *others])):
            return False
    return True


def _round(
    trials: Trials, place: Place, *, lines: bool, keyed: bool
) -> tuple[list[Trial], list[Trial], list[Trial]]:
    one, other = trials.prefix(place.tokens), trials.prefix(place.tokens)
    writes = [
        trials.control(),
        trials.long("cold", one, "cold"),
        kept(trials.long("kept/cold", other, "cold")),
    ]
    reads = [trials.long("warm", one, "primed"), kept(trials.long("kept/warm", other, "primed"))]
    others = [trials.control()]
    if lines:
        others += [trials.long("broken", one, "broken"), trials.long("moved", one, "moved")]
    if keyed:
        prefix = trials.prefix(place.tokens)
        writes.append(trials.keyed("key/cold", prefix, "cold"))
        reads.append(trials.keyed("key/warm", prefix, "primed"))
    return writes, reads, others


def whole(trials: Trials, place: Place) -> Generator[Sequence[Trial], list[Call], bool]:
    """The same without streaming."""
    prefixes = [trials.prefix(place.tokens) for _ in range(FURTHER)]
    writes = [trials.long("whole/cold", prefix, "cold", stream=False) for prefix in prefixes]
    reads = [trials.long("whole/warm", prefix, "primed", stream=False) for prefix in prefixes]
    return (yield from one_by_one(trials, [*writes, *_after(reads, place.settle)]))


def by_route(trials: Trials, place: Place, route: str) -> Generator[Sequence[Trial], list[Call], bool]:
    """The same bytes on both routes; only the second time on the other one is a read of it."""
    prefixes = [trials.prefix(place.tokens) for _ in range(FURTHER)]
    fronted = [trials.long("fronted", prefix, "cold") for prefix in prefixes]
    writes = [replace(trials.long(f"{route}/cold", p, "cold"), route=route) for p in prefixes]
    reads = [replace(trials.long(f"{route}/warm", p, "primed"), route=route) for p in prefixes]
    return (yield from one_by_one(trials, [*fronted, *writes, *_after(reads, place.settle)]))


def moved_by_route(trials: Trials, place: Place, route: str) -> Generator[Sequence[Trial], list[Call], bool]:
    """A line that changes behind the same bytes, on the other route alone."""
    prefixes = [trials.prefix(place.tokens) for _ in range(FURTHER)]
    writes = [replace(trials.long(f"{route}/cold", p, "cold"), route=route) for p in prefixes]
    reads = [replace(trials.long(f"{route}/moved", p, "moved"), route=route) for p in prefixes]
    return (yield from one_by_one(trials, [*writes, *_after(reads, place.settle)]))


def one_by_one(trials: Trials, planned: Sequence[Trial]) -> Generator[Sequence[Trial], list[Call], bool]:
    for trial in planned:
        asked = yield from trials.ask(trial)
        if asked.call.not_sent is not None:
            return False
        if sum(not is_good(each.call) for each in trials.asked) >= MOST_BAD:
            return False
    return unsent([asked.call for asked in trials.asked]) is None


def _after(reads: Sequence[Trial], settle: float) -> list[Trial]:
    """The first of them waits until all that was written can be read."""
    return [replace(trial, start=0.0 if n else settle) for n, trial in enumerate(reads)]
