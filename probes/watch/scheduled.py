"""What do the turns of a day ask, and does the day's budget bear it?"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from probes.clock import Clock
from probes.conduct import Order, plan
from probes.credentials import Secrets
from probes.errors import ConfigError
from probes.kinds import KINDS
from probes.strict_yaml import key_path
from probes.watch.times import times_a_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from probes.model import Budget, Target
    from probes.watch.config import Entry
    from probes.watch.needs import Entry as Turned
    from probes.watch.watched import Watched


def order_of(entry: Turned, target: Target, clock: Clock) -> Order:
    """Of one turn."""
    return Order(
        (entry.suite,),
        target,
        only=tuple(entry.clients) or None,
        overrides=entry.overrides or None,
        clock=clock,
    )


@dataclass(frozen=True, slots=True)
class _Day:
    """Of one entry: how often, and what a run of it may cost at the most."""

    entry: str
    turns: int
    each: Mapping[str, int]


def overdrawn(watched: Watched) -> Iterator[str]:
    """A note for each ceiling of a day that the schedule may exceed, as `path:line: key: …`; nothing is refused.

    By the most that a run may ask, as `plan` says it: what a day without failures takes is not known beforehand, and a
    budget that ends in an outage ends it unseen.
    """
    for name, daily in watched.canary.budgets.items():
        target = watched.targets[name]
        days = [_day(entry, target) for entry in watched.canary.entries if entry.target == name]
        for what in ("requests", "tokens"):
            key = f"{what}_per_day"
            ceiling: int | None = getattr(daily, key)
            if ceiling is not None and (said := _said(days, what, ceiling)) is not None:
                at = ("budgets", name, key)
                yield str(ConfigError(said, path=watched.path, line=watched.lines.get(at), key=key_path(at)))


def _day(entry: Entry, target: Target) -> _Day:
    sampled = entry.sample if entry.tier == "expensive" else 1.0
    bounds = [
        KINDS[case.kind].bound(case) for case in plan(order_of(entry, target, Clock()), Secrets()).cases
    ]
    requests, tokens = sum(bound[0] for bound in bounds), sum(bound[1] for bound in bounds)
    budget: Budget = target.budget
    each = {"requests": _least(requests, budget.requests), "tokens": _least(tokens, budget.tokens)}
    return _Day(entry.name, ceil(times_a_day(entry) * sampled), each)


def _least(many: int, ceiling: int | None) -> int:
    return many if ceiling is None else min(many, ceiling)


def _said(days: Sequence[_Day], what: str, ceiling: int) -> str | None:
    most, turns = sum(day.turns * day.each[what] for day in days), sum(day.turns for day in days)
    if most <= ceiling:
        return None
    each = ", ".join(f"{day.turns:,} x {day.each[what]:,} of {day.entry}" for day in days)
    return (
        f"{ceiling:,} may be used up after about {ceiling * turns // most:,} of the day's {turns:,} turns, and then nothing "
        f"is seen until 00:00 UTC; the most that the schedule asks is {most:,} {what} ({each}), and more where it asks "
        "again what failed"
    )
