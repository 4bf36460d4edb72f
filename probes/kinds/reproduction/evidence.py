"""How sure is what was seen so far, and what may still be asked?

A rule that lets some of its requests through makes a failure proof, and a pass not: how many passes count as one is
read from all questions that are known to fail, and it does not matter when the asking of each stopped.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from dataclasses import dataclass, field
from typing import TypeVar

SURE, LIKELY = 0.001, 0.1
"""Chance of a failing request to pass as often as it did: of what is claimed, and of what only leads the search."""
BUDGET, WIDE = 60, 150
"""Requests: while everything answers alike each time, and once something did not."""
SPARED = 0.3
"""Share of its requests that a rule that lets some through is taken to let through at the least."""
REPEATS = 3
"""How often what is claimed is shown to fail."""
SILENT = 3
"""Answers in a row that say nothing, after which a question is given up."""

T = TypeVar("T")
Asking = Generator[Hashable, bool | None, T]
"""Yields a question, is sent whether it failed (`None`: the answer says nothing)."""


class Halted(Exception):  # noqa: N818 - not an error: the search ends where it stands
    """No more can be asked, or what failed does so no more (`drift`). `reached`: where a search for a threshold stood: what passed, and what is known to fail."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.reached: tuple[int, int] | None = None


@dataclass
class Tally:
    """`k` failures of `n` answers that say something."""

    k: int = 0
    n: int = 0
    silent: int = 0


@dataclass
class Evidence:
    """Every question with what came of it. `budget` in requests, `wide` where answers differ from time to time."""

    budget: int = BUDGET
    wide: int = WIDE
    spent: int = 0
    tallies: dict[Hashable, Tally] = field(default_factory=dict)
    implied: set[Hashable] = field(default_factory=set)
    """Questions that must fail, since less than they ask fails."""

    def of(self, question: Hashable) -> Tally:
        return self.tallies.setdefault(question, Tally())

    @property
    def intermittent(self) -> bool:
        """Something that fails has passed."""
        return any(tally.k < tally.n for tally in self._failing)

    @property
    def left(self) -> int:
        return (self.wide if self.intermittent else self.budget) - self.spent

    @property
    def _failing(self) -> list[Tally]:
        return [tally for question, tally in self.tallies.items() if tally.k or question in self.implied]

    @property
    def matched(self) -> Tally:
        """Of all questions that are known to fail."""
        failing = self._failing
        return Tally(sum(tally.k for tally in failing), sum(tally.n for tally in failing))

    @property
    def luck(self) -> float:
        """The chance of a pass for what leads the search; where nothing has passed by luck, that it may is a suspicion."""
        seen = self.matched
        return LIKELY * chance(seen, 1) if seen.k == seen.n else (seen.n - seen.k + 1) / (seen.n + 2)

    def enough(self, at_most: float) -> int:
        """Passes after which a question counts as passing."""
        seen = self.matched
        wanted = (passes for passes in range(1, self.wide) if chance(seen, passes) <= at_most)
        return next(wanted, self.wide)

    def fails(self, question: Hashable) -> Asking[bool]:
        """What leads the search: one failure is proof, and one pass is believed while all has been alike so far, later as
        many as chance is unlikely to give. Raises Halted.
        """
        tally = self.of(question)
        while not tally.k:
            if tally.n >= (self.enough(LIKELY) if self.intermittent else 1):
                return False
            yield from self.ask(question)
        return True

    def surely_passes(self, question: Hashable) -> Asking[bool]:
        """What is claimed: so many passes more that chance explains them no longer. Those that came before don't count,
        for the search was led here by them. Raises Halted.
        """
        if self.of(question).k:
            return False
        return not (yield from self.still_fails(question))

    def still_fails(self, question: Hashable, at_most: float = SURE) -> Asking[bool]:
        """Now, whatever it did before. Raises Halted."""
        for _ in range(self.enough(at_most)):
            if (yield from self.fails_now(question)):
                return True
        return False

    def fails_now(self, question: Hashable) -> Asking[bool]:
        """Asked once more. Raises Halted."""
        tally = self.of(question)
        k, n = tally.k, tally.n
        while tally.n == n:
            yield from self.ask(question)
        return tally.k > k

    def unchanged(self, question: Hashable, *, fails: bool) -> Asking[None]:
        """Raises Halted, also where it is not so any more."""
        if (yield from self.still_fails(question)) is not fails:
            raise Halted("drift")

    def shown(self, question: Hashable) -> Asking[Tally]:
        """What is claimed to fail: several times, and once after all that passed beside it, which else may have passed
        for the failing being over. Raises Halted.
        """
        yield from self.unchanged(question, fails=True)
        return (yield from self.measure(question, REPEATS))

    def holds(self, control: Hashable) -> Asking[bool]:
        """Whether what passes passes still once it was asked so often that luck explains it no longer: where answers
        differ from time to time they may differ for everybody. Raises Halted.
        """
        while not self.held(control):
            yield from self.ask(control)
        return not self.of(control).k

    def held(self, control: Hashable) -> bool:
        """It failed, or was asked often enough; the first pass, for which it was chosen, doesn't count."""
        tally = self.of(control)
        return bool(tally.k) or not self.intermittent or tally.n > self.enough(SURE)

    def measure(self, question: Hashable, times: int) -> Asking[Tally]:
        """Asked until it has so many answers, whatever they are."""
        tally = self.of(question)
        while tally.n < times:
            yield from self.ask(question)
        return tally

    def ask(self, question: Hashable) -> Asking[None]:
        if self.left <= 0:
            raise Halted("budget")
        tally = self.of(question)
        if tally.silent >= SILENT:
            raise Halted("silent")
        failed = yield question
        self.spent += 1
        self.note(question, failed)

    def note(self, question: Hashable, failed: bool | None) -> None:
        tally = self.of(question)
        if failed is None:
            tally.silent += 1
            return
        tally.silent = 0
        tally.n += 1
        tally.k += failed


def chance(seen: Tally, passes: int) -> float:
    """That a request which the rule is for passes so many times running. `seen`: of all that are known to fail.

    While nothing that fails has passed: whatever share the rule lets through, of showing none of it in all failures so
    far and then so many. Later by what was seen, and no less than of a rule that lets many through.
    """
    if seen.k == seen.n:
        share = passes / (seen.n + passes)
        return float((1 - share) ** seen.n * share**passes)
    likely = 1.0
    for more in range(passes):
        likely *= (seen.n - seen.k + 1 + more) / (seen.n + 2 + more)
    return max(likely, SPARED**passes)
