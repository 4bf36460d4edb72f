"""For how long does what was written stay in the cache?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.model import Figure
from probes.twins import unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from probes.kinds.prompt_cache.search import Place
    from probes.kinds.prompt_cache.trials import Asked, Trials
    from probes.model import Call, Trial

EACH = 3
"""Prompts an age: each is read once, since a read makes it live longer."""


def aged(
    trials: Trials, place: Place, ages: Sequence[float]
) -> Generator[Sequence[Trial], list[Call], dict[float, list[Asked]]]:
    """Reads by the age of what they ask for; empty where a request was not sent."""
    prefixes = [(age, trials.prefix(place.tokens)) for age in ages for _ in range(EACH)]
    for age, prefix in prefixes:
        write = yield from trials.ask(trials.long(f"age={age:g}/write", prefix, "cold"))
        if write.call.not_sent is not None:
            return {}
    calls = yield [
        replace(trials.long(f"age={age:g}/read", prefix, "primed"), start=age) for age, prefix in prefixes
    ]
    reads = [trials.note(call) for call in calls]
    if unsent(calls) is not None:
        return {}
    found: dict[float, list[Asked]] = {}
    for (age, _), read in zip(prefixes, reads, strict=True):
        found.setdefault(age, []).append(read)
    return found


def rows(reads: Mapping[float, Sequence[Asked]]) -> list[tuple[str, str]]:
    said = [
        f"after {age:g} s {sum(bool(each.hit) for each in these)} of {len(these)} hit"
        for age, these in reads.items()
    ]
    return [("lives", "; ".join(said))] if said else []


def figures(reads: Mapping[float, Sequence[Asked]]) -> dict[str, Figure]:
    """`lives`: the greatest age at which all hit, up to the least of the greater ones at which one did not."""
    good = [age for age, these in reads.items() if these and all(each.hit for each in these)]
    lost = [age for age, these in reads.items() if not all(each.hit for each in these)]
    borne = max((age for age in good if age < min(lost, default=float("inf"))), default=0.0)
    if not reads or not (borne or lost):
        return {}
    return {"lives": Figure(borne, "s", EACH, borne, min(lost, default=None))}
