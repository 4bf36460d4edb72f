"""What is a comparison of before and after made of?

Frozen nouns alone, like those of `model`: the two sides, what the edge looks like on each, and what changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from probes.canary import Mark
from probes.model import Figure, Finding, Verdict


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


@dataclass(frozen=True, slots=True)
class Trait:
    """One thing that can be told of the edge from outside, such as the header `server` of its answers.

    `of`: what it belongs to, such as "server header", "certificate issuer", "measured cutoff". `where`: the route,
    client, or form of answer, in words; "" for all. `values`: everything that was seen of it, sorted; of a header "" is
    its absence. `n`: answers that it was read from.
    """

    of: str
    where: str
    values: tuple[str, ...]
    n: int
    evidence: tuple[str, ...] = ()
    """Exchange ids, a few."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table of before and after.

    `what`: "outcome", "TTFT", "TPOT", "total", "cutoff", "cached share", or what a trait is of. `before` and `after`:
    in words with their n. `effect`: of a figure the ratio of after to before with its interval. `smallest`: the ratio
    that this many samples would have shown. `verdict`: `pass · warn · fail · inconclusive`, `why` in words.
    """

    what: str
    where: str
    before: str
    after: str
    verdict: Verdict
    why: str = ""
    effect: Figure | None = None
    smallest: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`marks`: those from the end of `before` to the end of `after`. `verdict`: `fail` where something got worse,
    `inconclusive` where that can't be told or there was nothing to compare, else `warn` or `pass`.
    """

    before: Side
    after: Side
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    verdict: Verdict
    marks: tuple[Mark, ...] = ()
