"""What came of a case for each of its clients?"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from statistics import median
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer
from probes.kinds.conclude import is_good
from probes.model import Ask, Layer, Verdict
from probes.runner import worst
from probes.samples import sample
from probes.sampling import conditions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from probes.model import Call, Case, Finding, Run, Target


NO_CLIENT = ""
"""Of what was found of a run as a whole."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`ttft`, `tpot` and `total` are medians of the good answers, in seconds; `None` where there was none to time."""

    run: str
    at: datetime
    case: str
    client: str
    route: str
    code: str
    verdict: Verdict
    layer: Layer
    product: str | None = None
    vendor_code: str | None = None
    ttft: float | None = None
    tpot: float | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True)
class Clocks:
    ttft: float | None = None
    tpot: float | None = None
    total: float | None = None


def asks(call: Call) -> bool:
    """It asked the API as customers do, and a good answer was due: neither refused on purpose nor edited."""
    request = call.trial.request
    as_a_customer = (
        isinstance(request, Ask)
        and request.recipe != "invalid"
        and request.key == "target"
        and not (request.edits or request.gzipped or request.model)
    )
    return as_a_customer and call.not_sent is None


def counts(call: Call, target: Target) -> bool:
    """It asks, and says something of the service: a good answer, or none."""
    return asks(call) and not call.cut_short(target.limits.deadline)


def let_in(call: Call) -> bool:
    """It asked as itself for what is to be turned down, and the API did so: nothing before it kept the client out. A 403
    is no proof, as a WAF can write the API's JSON, too.
    """
    request, last = call.trial.request, call.last
    knocks = isinstance(request, Ask) and (request.recipe == "invalid" or request.key != "target")
    as_itself = isinstance(request, Ask) and not (request.edits or request.gzipped or request.filler)
    heard = last is not None and last.status != HTTPStatus.FORBIDDEN and is_api_answer(last)
    return knocks and as_itself and heard


def limited(call: Call) -> bool:
    """Held back on our own key: that is no outage of the service."""
    made = call.last.attribution if call.last is not None else None
    return made is not None and made.code.partition(".")[0] in {"ratelimited", "quota"}


def clocks(call: Call) -> Clocks:
    """Of a good answer, as a comparison counts them: without those that the probe itself stamped late, or that were not asked
    for under the conditions that all figures over time have.
    """
    last = call.last
    if last is None or not is_good(call) or not usual(call):
        return Clocks()
    line, seen = last.timeline, sample(last)
    return Clocks(
        None if seen.ttft is None else line.first_token, seen.tpot, None if seen.total is None else line.end
    )


def usual(call: Call) -> bool:
    """A short prompt, no arm of an experiment with the cache, on a connection of its own. That of older runs may not be
    recorded.
    """
    ask, way = call.trial.request, conditions_of(call)
    short = isinstance(ask, Ask) and not ask.prompt_tokens and ask.arm is None
    return short and way.connection != "reused" and way.client != "warm"


def outcomes(run: Run, at: datetime) -> Iterator[Outcome]:
    """One for each case and client that was asked with, or that something was found of, then of the run as a whole. Where a run was judged, what it
    cut short itself, and says nothing of, came to nothing.
    """
    patience = run.target.limits.deadline
    for case in run.cases:
        calls = [call for call in run.calls if call.case == case.id]
        findings = [finding for finding in run.findings if finding.case == case.id]
        for client in case.clients:
            own = [call for call in calls if call.trial.client == client.name]
            said = [finding for finding in findings if _of(finding, client.name, own)]
            if said or (own and not (run.findings and all(call.cut_short(patience) for call in own))):
                yield _outcome(run, at, case, client.name, own, said)
    yield from _of_the_run(run, at)


def _of_the_run(run: Run, at: datetime) -> Iterator[Outcome]:
    """What was found of it as a whole, and of no case: beside its baseline, or of how its answers were spread."""
    cases = {case.id for case in run.cases}
    for name in dict.fromkeys(one.case for one in run.findings if one.case not in cases):
        said = [one for one in run.findings if one.case == name]
        verdict = worst(said)
        found = next((one for one in said if one.verdict is verdict and not one.accepted), said[0])
        yield Outcome(
            run.id,
            at,
            name,
            NO_CLIENT,
            found.route or "",
            found.code,
            verdict,
            found.layer,
            found.product,
            found.vendor_code,
        )


def _of(finding: Finding, client: str, own: Sequence[Call]) -> bool:
    """A finding without a client is of those whose exchanges are its evidence; without evidence, of all."""
    if finding.client is not None:
        return finding.client == client
    return not finding.evidence or any(e.id in finding.evidence for call in own for e in call.exchanges)


def _outcome(
    run: Run, at: datetime, case: Case, client: str, calls: Sequence[Call], said: Sequence[Finding]
) -> Outcome:
    verdict = worst(said)
    found = next((one for one in said if one.verdict is verdict and not one.accepted), None)
    asked = [call for call in calls if counts(call, run.target)]
    times = [clocks(call) for call in asked]
    code, layer = "not_measured", Layer.PROBE
    if found is not None:
        code, layer = found.code, found.layer
    elif asked and all(map(is_good, asked)):  # what was found is of others: its own answers say it
        code, layer, verdict = "ok", Layer.UNKNOWN, Verdict.PASS
    return Outcome(
        run=run.id,
        at=at,
        case=case.id,
        client=client,
        route=case.route,
        code=code,
        verdict=verdict,
        layer=layer,
        product=found.product if found else None,
        vendor_code=found.vendor_code if found else None,
        ttft=_middle([one.ttft for one in times]),
        tpot=_middle([one.tpot for one in times]),
        total=_middle([one.total for one in times]),
    )


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
