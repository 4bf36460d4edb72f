"""How long must a prompt be to be cached, and how soon can it be read?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.kinds.conclude import is_good
from probes.kinds.prompt_cache.trials import SIZES, SOON

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.prompt_cache.trials import Asked, Prefix, Trials
    from probes.model import Call, Trial

_AGAIN = 3
"""Reads of the smallest, where usage counts none: another replica may have taken it."""
SEARCH = 3 * (len(SIZES) + 1) + _AGAIN - 1
"""Requests at the most."""
_SOONER = 0.6
"""TTFT of a read by that of its write, from which on one pair is taken for a hit; it decides how long is waited, and
nothing else.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """`tokens` asked for of a prefix; `settle` seconds from a write to its read. `read`: usage told of a hit; `at_once`: a
    read right after the write hit, by usage or by its time. `broken`: a call was not good, so there is nothing to go on with.
    `refused`: tokens of a prompt that the API does not take.
    """

    tokens: int
    settle: float = SOON
    read: bool = False
    at_once: bool = False
    broken: bool = False
    refused: int = 0


def search(trials: Trials) -> Generator[Sequence[Trial], list[Call], Place]:
    """Raised until usage tells of a write or a hit; then, or at the largest that the API takes, waited for once."""
    most = int(trials.case.params["prompt_tokens"])
    sizes = [*(size for size in SIZES if size < most), most]
    wrote: list[tuple[Prefix, Asked]] = []
    before, refused = Place(sizes[0]), 0
    for size in sizes:
        place = yield from _at(trials, size, wrote, times=_AGAIN if size == sizes[0] else 1)
        if place.refused and len(wrote) > 1:
            refused = size
            trials.asked.remove(wrote.pop()[1])  # no failure: it was ours to ask too much
            if before.at_once:
                return replace(before, refused=refused)
            break
        if place.read or place.broken or (place.at_once and size == sizes[-1]):
            return place
        if wrote[-1][1].written:
            break
        before = place
    late = yield from _late(trials, [prefix for prefix, _ in wrote], written=wrote[-1][1].written)
    return replace(late, refused=refused)


def _at(
    trials: Trials, size: int, wrote: list[tuple[Prefix, Asked]], times: int
) -> Generator[Sequence[Trial], list[Call], Place]:
    prefix = trials.prefix(size)
    write = yield from trials.ask(trials.long(f"find/{size}/write", prefix, "cold"))
    wrote.append((prefix, write))
    if not is_good(write.call):
        return Place(size, broken=True, refused=size if write.refused else 0)
    for _ in range(times):
        read = yield from _read(trials, prefix, SOON, "read")
        if not is_good(read.call):
            return Place(size, broken=True)
        if read.hit is not False:
            break
    return Place(size, SOON, read=bool(read.hit), at_once=bool(read.hit) or _faster(write, read))


def _late(
    trials: Trials, prefixes: Sequence[Prefix], *, written: bool
) -> Generator[Sequence[Trial], list[Call], Place]:
    settle = float(trials.case.params["settle"])
    for n, prefix in enumerate(prefixes):
        late = yield from _read(trials, prefix, 0.0 if n else settle, "late")
        if not is_good(late.call):
            return Place(prefix.tokens, broken=True)
        if late.hit:
            return Place(prefix.tokens, settle, read=True)
    # Of usage that is silent nobody knows whether a read came too soon.
    return Place(prefixes[-1].tokens, settle if late.share is None or written else SOON)


def _read(
    trials: Trials, prefix: Prefix, after: float, what: str
) -> Generator[Sequence[Trial], list[Call], Asked]:
    trial = trials.long(f"find/{prefix.tokens}/{what}", prefix, "primed")
    return (yield from trials.ask(replace(trial, start=after)))


def _faster(write: Asked, read: Asked) -> bool:
    before, after = write.ttft, read.ttft
    return before is not None and after is not None and after.value < _SOONER * before.value
