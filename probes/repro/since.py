"""A bundle's request was asked again: does it still fail, and in the same way?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from probes.attribution import attribute
from probes.kinds.reproduction.outcome import CANNOT, NOT_REPRODUCED, REPRODUCED, outcome
from probes.kinds.reproduction.study import TOLD
from probes.model import Verdict
from probes.signatures import catalogue
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probes.model import Exchange, Run

STILL, FIXED, CHANGED = "STILL", "FIXED", "CHANGED"


class Met(NamedTuple):
    """A failure as it is told apart from others."""

    status: int | None
    code: str
    layer: str
    product: str | None
    vendor_code: str | None

    def __str__(self) -> str:
        by = " ".join(part for part in (self.product, self.vendor_code) if part)
        return f"{self.status or 'no answer'} {self.code} ({self.layer}{f', {by}' if by else ''})"


def since(before: Run, now: Run) -> str:
    """The word and what it is about, in one line."""
    said = outcome(now.findings)
    if said.startswith(NOT_REPRODUCED):
        return f"{FIXED}: it failed on {before.started:%Y-%m-%d}, and no longer does"
    if not said.startswith(REPRODUCED):
        return said
    then, today = _met(before), _met(now)
    if then is None or today is None:
        return (
            f"{CANNOT}: it fails here, but what it met {'then' if then is None else 'now'} is not in the run"
        )
    count = said.removeprefix(REPRODUCED).strip()
    if then == today:
        return f"{STILL} {count}: {today}"
    return f"{CHANGED} {count}: was {then}; now {today}"


def _met(run: Run) -> Met | None:
    """How the request as told failed, or, of a run of suites, what its first failure was."""
    told = [call.last for call in run.calls if call.trial.label == TOLD and call.last is not None]
    failed = [one for one in map(_of, told) if vocabulary()[one.code].verdict is not Verdict.PASS]
    if failed:
        return Counter(failed).most_common(1)[0][0]
    by_id = {exchange.id: exchange for call in run.calls for exchange in call.exchanges}
    return next((_of(by_id[name]) for name in _evidence(run) if name in by_id), None)


def _evidence(run: Run) -> Iterable[str]:
    for finding in run.findings:
        if finding.verdict is Verdict.FAIL:
            yield from ([finding.variant] if finding.variant is not None else [])
            yield from finding.evidence


def _of(exchange: Exchange) -> Met:
    """By today's signatures on both sides: better ones are no change of the service."""
    made = attribute(exchange, catalogue())
    return Met(exchange.status, made.code, made.layer, made.product, made.vendor_code)
