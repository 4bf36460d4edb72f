"""A bundle's request was asked again: does it still fail, and in the same way?"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from probes.attribution import attribute
from probes.kinds.reproduction.failure import tells
from probes.kinds.reproduction.family import reached
from probes.kinds.reproduction.outcome import CANNOT, NOT_REPRODUCED, REPRODUCED, outcome
from probes.kinds.reproduction.study import TOLD
from probes.kinds.words import listed
from probes.model import Layer, Verdict
from probes.signatures import catalogue
from probes.twins import wilson
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probes.model import Call, Exchange, Run

STILL, FIXED, CHANGED = "STILL", "FIXED", "CHANGED"
_CHANCE = 0.05
"""That what comes and goes stayed away by luck, up to which it is believed to be gone."""
_MOST = 20


class Met(NamedTuple):
    """A failure as it is told apart from others."""

    status: int | None
    code: str
    layer: str
    product: str | None
    vendor_code: str | None

    def __str__(self) -> str:
        by = " ".join(part for part in (self.product, self.vendor_code) if part)
        # Of a refusal the finding says what it is of, which no single answer shows.
        said = str(self.status) if self.status else f"no answer, {self.code}"
        return f"{said} ({self.layer}{f', {by}' if by else ''})"


class Rate(NamedTuple):
    """How often it failed. `way`: the client and the route over which; `None` of a run of suites."""

    k: int
    n: int
    way: tuple[str, str] | None

    def luck(self, passes: int) -> float:
        """Chance that all of so many pass though nothing has changed; of what failed each time one pass tells."""
        return float((1 - wilson(self.k, self.n)[0]) ** passes) if self.k < self.n else float(not passes)


def tries(before: Run) -> int | None:
    """Requests that must pass before what failed now and then may be called fixed; `None` where it failed each time."""
    rate = _rate(before)
    if rate is None or rate.k == rate.n:
        return None
    return min(math.ceil(math.log(_CHANCE) / math.log(rate.luck(1))), _MOST)


def since(before: Run, now: Run) -> str:
    """The word and what it is about, in one line."""
    said = outcome(now.findings)
    if said.startswith(NOT_REPRODUCED):
        return _gone(before, now)
    if not said.startswith(REPRODUCED):
        return said
    then, today = _met(before), _met(now)
    if then is None or today is None:
        return (
            f"{CANNOT}: it fails here, but what it met {'then' if then is None else 'now'} is not in the run"
        )
    if then.layer != Layer.ORIGIN and today.layer == Layer.ORIGIN and today.code == "auth.rejected":
        return _gone(
            before, now, f"what refused it lets it through; the API itself refuses the key ({today})"
        )
    return _there(before, now, f"was {then}; now {today}" if then != today else "", str(today))


def _there(before: Run, now: Run, change: str, today: str) -> str:
    count = outcome(now.findings).removeprefix(REPRODUCED).strip()
    was, other = _cause(before), _cause(now)
    if not change and was and other and was != other:
        change = f"{today} as before, and for another cause: was {was}; now {other}"
    return f"{CHANGED} {count}: {change}" if change else f"{STILL} {count}: {today}"


def _cause(run: Run) -> str | None:
    """What was proven to make the difference, and over which route."""
    rate = _rate(run)
    factor = next((f.factor for f in run.findings if f.verdict is Verdict.FAIL and f.factor), None)
    if factor is None or rate is None or rate.way is None:
        return None
    return f"{factor.replace('_', ' ')}, over the route {rate.way[1]}"


def _gone(before: Run, now: Run, how: str | None = None) -> str:
    """`how`: in which words, where it is not simply good."""
    rate, told = _rate(before), [call for call in _told(now) if how or not _failed(call)]
    when = f"it failed on {before.started:%Y-%m-%d}"
    asked = now.cases[0].params["told"]
    if asked.differs:
        return f"{CANNOT}: {when}, and not with another value of {listed(asked.differs)}; ask with the one that was told"
    if rate is None:
        return f"{FIXED}: {when}, and {how or 'no longer does'}"
    passed = sum(rate.way in {None, _way(call)} for call in told)
    if rate.way is not None and not passed:
        client, route = rate.way
        return f"{CANNOT}: {when} through {client} over the route {route}, and could not be asked so now"
    if rate.luck(passed) > _CHANCE:
        return f"{CANNOT}: {when} {rate.k} of {rate.n} times, and that none of {passed} fails now can be chance; ask again"
    often = f" {rate.k} of {rate.n} times" if rate.k < rate.n else ""
    return f"{FIXED}: {when}{often}, and {how or f'now {passed} of {passed} pass'}"


def _rate(run: Run) -> Rate | None:
    """Of the way to ask as told over which it failed most."""
    told = _told(run)
    failed = Counter(_way(call) for call in told if _failed(call))
    if failed:
        way, k = failed.most_common(1)[0]
        return Rate(k, sum(_way(call) == way for call in told), way)
    seen = [f.observed for f in run.findings if f.verdict is Verdict.FAIL and f.observed is not None]
    return min((Rate(one.k, one.n, None) for one in seen if one.k), key=lambda r: r.k / r.n, default=None)


def _told(run: Run) -> list[Call]:
    """Asked as it was told, whoever sent it; what says nothing left out."""
    return [
        call
        for call in run.calls
        if call.trial.label.partition("/")[0] == TOLD and reached(call) and tells(call)
    ]


def _way(call: Call) -> tuple[str, str]:
    return call.trial.client, call.trial.route


def _failed(call: Call) -> bool:
    return call.last is not None and vocabulary()[_of(call.last).code].verdict is not Verdict.PASS


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
