"""For how long does what was written stay in the cache?"""

from __future__ import annotations

from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class Aged:
    """A read, `after` seconds from the start of its write to its own."""

    after: float
    read: Asked


def aged(
    trials: Trials, place: Place, ages: Sequence[float]
) -> Generator[Sequence[Trial], list[Call], dict[float, list[Aged]]]:
    """Reads by the age that was asked for; empty where a request was not sent. What is to get oldest is written first, so that
    the time that the writes take counts for little.
    """
    prefixes = [(age, trials.prefix(place.tokens)) for age in sorted(ages, reverse=True) for _ in range(EACH)]
    took: list[float] = []
    for age, prefix in prefixes:
        write = yield from trials.ask(trials.long(f"age={age:g}/write", prefix, "cold"))
        if write.call.not_sent is not None:
            return {}
        took.append((write.call.last.timeline.end if write.call.last is not None else None) or 0.0)
    calls = yield [
        replace(trials.long(f"age={age:g}/read", prefix, "primed"), start=age) for age, prefix in prefixes
    ]
    if unsent(calls) is not None:
        return {}
    found: dict[float, list[Aged]] = {}
    for number, ((age, _), call) in enumerate(zip(prefixes, calls, strict=True)):
        after = age + sum(took[number:]) + (call.own_lag or 0.0)
        found.setdefault(age, []).append(Aged(after, trials.note(call)))
    return dict(sorted(found.items()))


def rows(reads: Mapping[float, Sequence[Aged]]) -> list[tuple[str, str]]:
    said = [
        f"after {_between(these)} {sum(bool(each.read.hit) for each in these)} of {len(these)} hit"
        for these in reads.values()
    ]
    return [("lives", "; ".join(said))] if said else []


def _between(these: Sequence[Aged]) -> str:
    low, high = (f"{end(each.after for each in these):.0f}" for end in (min, max))
    return f"{low} s" if low == high else f"{low} to {high} s"


def figures(reads: Mapping[float, Sequence[Aged]]) -> dict[str, Figure]:
    """`lives`: the greatest age at which all hit, up to the least of the greater ones at which one did not."""
    good = [min(_ages(these)) for these in reads.values() if all(each.read.hit for each in these)]
    lost = [max(_ages(these)) for these in reads.values() if not all(each.read.hit for each in these)]
    borne = max((age for age in good if age < min(lost, default=float("inf"))), default=0.0)
    if not reads or not (borne or lost):
        return {}
    under = {"connection": _connection(reads), "cache": "by age", "concurrency": _together(reads)}
    return {"lives": Figure(borne, "s", EACH, borne, min(lost, default=None), conditions=under)}


def at_once(reads: Mapping[float, Sequence[Aged]]) -> str:
    """How the reads by age came, beside the arms."""
    together = _together(reads)
    return f"; the reads by age up to {together} at once" if together > 1 else ""


def _together(reads: Mapping[float, Sequence[Aged]]) -> int:
    """Requests under way at once, at the most."""
    taken = [each.read.call for these in reads.values() for each in these]
    return max((int(call.conditions.get("concurrency") or 1) for call in taken), default=1)


def _connection(reads: Mapping[float, Sequence[Aged]]) -> str | None:
    """Where all had the same."""
    taken = [each.read.call.last for these in reads.values() for each in these]
    ways = {last.conditions.get("connection") for last in taken if last is not None}
    return next(iter(ways)) if len(ways) == 1 else None


def _ages(these: Sequence[Aged]) -> list[float]:
    return [each.after for each in these]
