"""What is a comparison of before and after made of?

Frozen nouns alone, like those of `model`: the two sides, what the edge looks like on each, and what changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from probes.canary import Mark
from probes.model import Figure, Finding, Layer, Verdict


@dataclass(frozen=True, slots=True)
class Side:
    """Runs that count as one state of the service. `label`: as it was asked for (a run's id, a baseline's name, "before
    14:05"). `vantage`: `None` where its runs have several or none.
    """

    label: str
    runs: tuple[str, ...]
    since: datetime
    until: datetime
    target: str
    vantage: str | None = None
    time_scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One value of a trait as `n` answers of one run to one question showed it.

    `value`: of a header "" is its absence. `asked`: the same in every run that asks the same. `layer`, `product`: whose
    doing it is, where the answer tells. `began`, `ended`: of the run.
    """

    value: str
    n: int
    asked: str
    run: str
    began: datetime
    ended: datetime
    layer: Layer = Layer.UNKNOWN
    product: str | None = None
    evidence: tuple[str, ...] = ()
    """Exchange ids, a few."""


@dataclass(frozen=True, slots=True)
class Trait:
    """One thing that can be told of the edge from outside, such as the header `server` of its answers.

    `of`: what it belongs to, such as "header server", "certificate issuer", "measured cutoff". `where`: the client, or
    form of answer, in words; "" for all.
    """

    of: str
    where: str
    route: str
    seen: tuple[Seen, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """Everything that was seen of it, sorted."""
        return tuple(sorted({each.value for each in self.seen}))

    @property
    def n(self) -> int:
        """Answers that it was read from."""
        return sum(each.n for each in self.seen)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table of before and after.

    `what`: "outcome", "TTFT", "TPOT", "total", "cutoff", "cached share", or what a trait is of. `before` and `after`:
    in words with their n. `effect`: of a figure the ratio of after to before with its interval. `smallest`: the ratio
    that this many samples would have shown. `verdict`: `pass · warn · fail · inconclusive`, `why` in words. `better`: of
    a pass, that it is not only as before.
    """

    what: str
    where: str
    before: str
    after: str
    verdict: Verdict
    why: str = ""
    effect: Figure | None = None
    smallest: float | None = None
    better: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """`marks`: those from the end of `before` to the end of `after`. `verdict`: `fail` where something got worse,
    `inconclusive` where that can't be told or there was nothing to compare, else `warn` or `pass`. `left_out`: what
    was not compared, in words.
    """

    before: Side
    after: Side
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    verdict: Verdict
    marks: tuple[Mark, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def note(self) -> str | None:
        """What should be known before it is read."""
        if self.before.since > self.after.since and self.before.until > self.after.until:
            return "the first side is the later one: what became better in time is told as worse"
        return None
