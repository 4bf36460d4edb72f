"""A search is asked of a rule that is known, by chance let through."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from probes.kinds.reproduction.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


RIGHT, WRONG = 0.95, 0.01
"""Shares of repetitions: at the least and at the most."""


@dataclass
class Score:
    right: int = 0
    wrong: int = 0
    unsure: int = 0
    unseen: int = 0
    """The rule let the request as told through each time."""
    most: int = 0

    def count(self, outcome: str, asked: int) -> None:
        setattr(self, outcome, getattr(self, outcome) + 1)
        self.most = max(self.most, asked)

    @property
    def seen(self) -> int:
        return self.right + self.wrong + self.unsure


@dataclass
class Wall:
    """Refuses what `rule` is for, but for a share of it. `gone_after` so many requests it refuses nothing."""

    rule: Callable[[Any], bool]
    passes: float
    rng: Random
    gone_after: int | None = None
    distinct: set[Hashable] = field(default_factory=set)
    asked: int = 0

    def __call__(self, question: Any) -> bool:
        self.asked += 1
        self.distinct.add(question)
        if self.gone_after is not None and self.asked > self.gone_after:
            return False
        return self.rule(question) and self.rng.random() >= self.passes


def run(search: Any, wall: Wall) -> Any:
    """What the search returns."""
    try:
        question = next(search)
        while True:
            question = search.send(wall(question))
    except StopIteration as done:
        return done.value


def opened(wall: Wall, failing: Hashable, passing: Hashable, times: int = 5) -> Evidence:
    """What a flow knows before it searches: the failing request and the control, asked in turns."""
    evidence = Evidence()
    for _ in range(times):
        for question in (failing, passing):
            evidence.note(question, wall(question))
            evidence.spent += 1
    return evidence
