"""How often did each client fail in each case, and with what?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from probes.change.answers import by_where, failed, plain
from probes.model import Layer, Reason, Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.change.answers import Where
    from probes.model import Call, Finding, Run

_WORST_FIRST = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS)
_TOLD = frozenset({Verdict.FAIL, Verdict.WARN, Verdict.PASS})


class What(NamedTuple):
    """What a client met: of a failure, or of a warning."""

    code: str
    layer: Layer
    product: str | None
    vendor_code: str | None

    def __str__(self) -> str:
        made = " ".join(part for part in (self.product, self.vendor_code) if part)
        return " · ".join(part for part in (self.code, str(self.layer), made) if part)


@dataclass(slots=True)
class Tally:
    """`k` failures of `n` requests, or of runs where the case says it as a whole. `silent`: why some did not conclude, of
    `unsaid` requests; those do not count.
    """

    k: int = 0
    n: int = 0
    met: Counter[What] = field(default_factory=Counter)
    warned: Counter[What] = field(default_factory=Counter)
    evidence: list[str] = field(default_factory=list)
    advice: str = ""
    silent: str = ""
    unsaid: int = 0

    @property
    def what(self) -> What | None:
        return self.met.most_common(1)[0][0] if self.met else None

    @property
    def by_rule(self) -> bool:
        """What it met is decided anew by the same rule each time, not by chance."""
        return self.what is not None and vocabulary()[self.what.code].retryable is False

    @property
    def untold(self) -> float:
        """The share of which nothing is known."""
        return self.unsaid / (self.n + self.unsaid) if self.unsaid else 0.0

    @property
    def never(self) -> bool:
        return self.n > 0 and self.k == 0

    @property
    def always(self) -> bool:
        return 0 < self.n == self.k

    def __str__(self) -> str:
        if not self.k:
            return f"{self.n} of {self.n} good"
        return f"{self.k} of {self.n} failed{f': {self.what}' if self.what else ''}"


def tallies(runs: Sequence[Run]) -> dict[Where, Tally]:
    found: dict[Where, Tally] = {}
    for where, told, calls in by_where(runs):
        said = [one for one in told if _of(one, where[1], calls)]
        _count(found.setdefault(where, Tally()), said, calls)
    return {where: tally for where, tally in found.items() if tally.n or tally.silent}


def _of(finding: Finding, client: str, calls: Sequence[Call]) -> bool:
    """A finding without a client is of those whose exchanges are its evidence; without evidence, of all."""
    if finding.client is not None:
        return finding.client == client
    return not finding.evidence or any(e.id in finding.evidence for call in calls for e in call.exchanges)


def _count(tally: Tally, said: Sequence[Finding], calls: Sequence[Call]) -> None:
    """What the case concluded says whether it failed, its requests how often."""
    if not (said or calls):
        return
    told = [(_worth(one), one) for one in said]
    verdict = min((one for one, _ in told), key=_WORST_FIRST.index, default=None)
    marks = [mark for call in calls if (mark := failed(call)) is not None]
    if verdict is None:  # what was found is of others: its own answers say it
        own = [mark for call in calls if plain(call) and (mark := failed(call)) is not None]
        if own and not any(own):
            tally.n += len(own)
        return
    if verdict not in _TOLD:
        first = next(f for one, f in told if one is verdict)
        tally.silent = first.reason.replace("_", " ") if first.reason else first.code
        tally.unsaid += sum(call.not_sent is None for call in calls)
        return
    first = next(f for one, f in told if one is verdict)
    what = What(first.code, first.layer, first.product, first.vendor_code)
    if verdict is Verdict.FAIL:
        k, n = _how_often(first, marks)
        tally.k, tally.n = tally.k + k, tally.n + n
        tally.met[what] += k
        tally.advice = first.advice
        tally.evidence += first.evidence[:3]
    else:
        tally.n += max(len(marks), 1)
        if verdict is Verdict.WARN:
            tally.warned[what] += 1


def _worth(finding: Finding) -> Verdict:
    """That everybody is refused here proves nothing by itself, and beside a state in which they were not, a change."""
    if finding.accepted and finding.verdict is Verdict.FAIL:
        return Verdict.WARN
    return Verdict.FAIL if finding.reason is Reason.BLOCKED else finding.verdict


def _how_often(first: Finding, marks: Sequence[bool]) -> tuple[int, int]:
    if any(marks):
        return sum(marks), len(marks)
    seen = first.observed
    return (seen.k, seen.n) if seen is not None and seen.k else (1, 1)
