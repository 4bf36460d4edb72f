"""Is what says nothing by itself new?

That everybody is refused here, or waits in vain for as long as we wait, says nothing of the service alone: a monitor is
refused more easily than a customer, and some answers take long. Where the same clients were served at the same place
before, something has changed; that the service is down is not said even then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer, is_refusal
from probes.kinds import KINDS
from probes.kinds.conclude import conclude, is_good
from probes.kinds.words import clients_of, listed, shown
from probes.model import Confidence, Observed, Reason, Verdict, WhoActs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from probes.model import Call, Case, Exchange, Finding, Run
    from probes.watch.needs import Memory

_IN_VAIN = frozenset({"deadline", "timeout"})
_EVERYBODY = ("because", "every request of this run was turned away so, whoever asked")
_REFUSED = frozenset({"challenged", "blocked"})
_NEXT = "the same clients from a second vantage, on another network"


def by_history(run: Run, memory: Memory, before: datetime) -> list[Finding]:
    """What memory adds to the findings of a run that began then, by the clock of the memory."""
    block = total_block(run, memory, before)
    return [
        *([block] if block is not None else []),
        *silences(run, memory, before),
        *overload(run, memory, before),
    ]


def total_block(run: Run, memory: Memory, began: datetime) -> Finding | None:
    """What a run in which every client was refused says, where memory knows better times."""
    calls = refused_everywhere(run)
    if not calls:
        return None
    names = clients_of(calls)
    before = memory.passed(run.target.name, run.vantage, names, began)
    known = [name for name in names if name in before]
    if not known:
        return None
    told = [call for call in calls if call.trial.client in known]
    case = _most_asked(run, told)
    last = [call for call in told if call.case == case.id][-1].last
    assert last is not None
    said = _told_of(run, told)
    latest = max(before[name] for name in known)
    new = [name for name in names if name not in before]
    return conclude(
        case,
        "regression.outcome",
        last,
        verdict=Verdict.FAIL,
        client=None,
        observed=Observed(len(told), len(told)),
        title=f"All clients of this vantage are refused since {latest:%Y-%m-%d %H:%M} UTC, when one was last served",
        detail=(
            ("seen", f"{shown(last)} to {listed(known)}, {len(told)} of {len(told)} requests"),
            _served({name: before[name] for name in known}),
            *([("not known", f"{listed(new)} was never served from here")] if new else []),
            *([("because", said.title)] if said is not None else []),
            ("so", "customers elsewhere may be served: whether the service is down cannot be seen from here"),
        ),
        confidence=Confidence.MEDIUM,
        who_acts=WhoActs.OPERATOR,
        **(
            {"advice": f"{said.advice} Before that, try {_NEXT}."} if said is not None and said.advice else {}
        ),
        next_test=_NEXT,
        evidence=tuple(call.last.id for call in told if call.last is not None),
    )


def _most_asked(run: Run, told: Sequence[Call]) -> Case:
    """The case that asked through most of them: asked again at once, it says most."""
    return max(
        (case for case in run.cases if any(call.case == case.id for call in told)),
        key=lambda case: len({call.trial.client for call in told if call.case == case.id}),
    )


def _told_of(run: Run, told: Sequence[Call]) -> Finding | None:
    """What the run itself says of these refusals."""
    refusals = {call.last.id for call in told if call.last is not None}
    mine = [f for f in run.findings if f.code.partition(".")[0] in _REFUSED and refusals & set(f.evidence)]
    return next(iter(mine), None)


def refused_everywhere(run: Run) -> Sequence[Call]:
    """The refused calls of a run in which every client was refused and the API was not heard; none of any other run.

    By an answer: where connections are cut for everybody the run says so itself.
    """
    said = any(f.code == "probe.blocked" or f.reason is Reason.BLOCKED for f in run.findings)
    # One that looks at the list of models alone warns of it, as if somebody else were served.
    blind = said or not any(f.verdict is Verdict.FAIL for f in run.findings)
    kinds = {case.id: KINDS[case.kind] for case in run.cases}
    calls = [c for c in run.calls if c.last is not None and c.case in kinds and kinds[c.case].asks_api]
    heard = any(is_good(call) or (call.last is not None and is_api_answer(call.last)) for call in calls)
    answered = [call for call in calls if call.last is not None and call.last.status is not None]
    refused = [call for call in answered if call.last is not None and is_refusal(call.last)]
    everybody = set(clients_of(calls)) == set(clients_of(refused))
    return refused if blind and everybody and not heard else []


def silences(run: Run, memory: Memory, began: datetime) -> list[Finding]:
    """The time-outs by our own limit of clients that got no answer at all in this run, and were served before."""
    short = {case.id for case in run.cases if KINDS[case.kind].asks_api and not KINDS[case.kind].long}
    late = [
        f for f in run.findings if f.verdict is Verdict.INCONCLUSIVE and f.code.partition(".")[0] == "timeout"
    ]
    calls = [call for call in run.calls if call.case in short and call.last is not None]
    answered = {call.trial.client for call in calls if call.last is not None and call.last.status is not None}
    found: list[Finding] = []
    for finding in late:
        met = [c for c in calls if c.last is not None and c.last.id in finding.evidence and _waited(c.last)]
        names = [name for name in clients_of(met) if name not in answered]
        before = memory.passed(run.target.name, run.vantage, names, began) if names else {}
        if before:
            found.append(
                replace(finding, verdict=Verdict.FAIL, reason=None, detail=(*finding.detail, _served(before)))
            )
    return found


def overload(run: Run, memory: Memory, began: datetime) -> list[Finding]:
    """That the server is overloaded, where it said so to everybody in this run and served them before."""
    kinds = {case.id: KINDS[case.kind] for case in run.cases}
    calls = [c for c in run.calls if c.last is not None and c.case in kinds and kinds[c.case].asks_api]
    busy = {call.last.id for call in calls if call.last is not None and _overloaded(call.last)}
    if not calls or any(call.last is not None and call.last.id not in busy for call in calls):
        return []
    names = clients_of(calls)
    before = memory.passed(run.target.name, run.vantage, names, began)
    found = [f for f in run.findings if f.code == "overloaded" and f.verdict is Verdict.INCONCLUSIVE]
    return [
        replace(f, verdict=Verdict.FAIL, reason=None, detail=(*f.detail, _EVERYBODY, _served(before)))
        for f in found
        if before
    ]


def _overloaded(exchange: Exchange) -> bool:
    return exchange.attribution is not None and exchange.attribution.code == "overloaded"


def _waited(exchange: Exchange) -> bool:
    return exchange.error is not None and exchange.error.kind in _IN_VAIN


def _served(before: Mapping[str, datetime]) -> tuple[str, str]:
    return "before", "; ".join(f"{name} was served at {at:%Y-%m-%d %H:%M} UTC" for name, at in before.items())
