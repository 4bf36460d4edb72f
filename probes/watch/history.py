"""Is what says nothing by itself new?

That everybody is refused here, or waits in vain for as long as we wait, says nothing of the service alone: a monitor is
refused more easily than a customer, and some answers take long. Where the same clients were served at the same place
before, something has changed; that the service is down is not said even then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.kinds import KINDS
from probes.kinds.conclude import conclude
from probes.kinds.words import clients_of, duration, in_title, listed, named, shown
from probes.model import Confidence, Observed, Reason, Verdict, WhoActs
from probes.refusals import must_pass
from probes.vocabulary import vocabulary
from probes.watch.unheard import is_limited_by_edge, is_refused, of_our_doing, unheard, waited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange, Finding, Run
    from probes.watch.past import Past

_OURS = frozenset({"blocked", "challenged", "client", "not_measured", "probe", "quota", "ratelimited"})
"""Families of what is no outage, or told of all refusals at once."""
_NEITHER = frozenset({Reason.INTERRUPTED, Reason.TAINTED})
_SO = ("so", "customers elsewhere may be served: whether the service is down cannot be seen from here")
_NEXT = "the same clients from a second vantage, on another network"
_SILENT = (
    "Find out which layer holds the requests: ask the origin directly, then through each layer in front of it. The same "
    "was answered within this limit before."
)


_LIMIT = (
    "It may be this probe's own rate: lower the target's limits.per_minute, or raise the entry's `every`. Or the rule "
    "counts all customers behind one address: look at the edge's rate limiting rules."
)


def by_history(run: Run, past: Past) -> tuple[Finding, ...]:
    """The findings of a run as they read beside what is known of the time before it."""
    calls = unheard(run)
    block = total_block(run, calls, past)
    if block is not None:
        return (*run.findings, block)
    anew = (_anew(finding, run, calls, past) for finding in run.findings)
    return tuple(told or finding for told, finding in zip(anew, run.findings, strict=True))


def _anew(finding: Finding, run: Run, calls: Sequence[Call], past: Past) -> Finding | None:
    if is_limited_by_edge(calls):
        return limited(finding, run, calls, past)
    if calls and not of_our_doing(run, calls):
        return outage(finding, run, calls, past)
    return silence(finding, run, past)


# --- nobody is served --------------------------------------------------------------------------------------


def total_block(run: Run, calls: Sequence[Call], past: Past) -> Finding | None:
    """What a run in which nobody was served says of those that were refused, where memory knows better times."""
    refused = _refused(run, calls)
    if not (before := past.of(refused)).times:
        return None
    told = [call for call in refused if call.trial.client in before.times]
    case = _most_asked(run, told)
    last = [call for call in told if call.case == case.id][-1].last
    assert last is not None
    new = [name for name in clients_of(refused) if name not in before.times]
    alike = set(clients_of(refused)) == set(clients_of(calls))
    are = "are refused" if alike else "are refused or get no answer"
    return conclude(
        case,
        "regression.outcome",
        last,
        verdict=Verdict.FAIL,
        client=None,
        observed=Observed(len(told), len(told)),
        title=f"A{_all(run, calls)} {are}{before.since}",
        detail=(
            ("seen", f"{_to(case, last, told)}, {len(told)} of {len(told)} requests"),
            before.row,
            *([("not known", f"{listed(new)} was never {before.word} from here")] if new else []),
            *_said_by(last),
            _SO,
            *named(last),
        ),
        confidence=Confidence.MEDIUM,
        **_as_told_by(last),
        next_test=_NEXT,
        evidence=tuple(call.last.id for call in told if call.last is not None),
    )


def _refused(run: Run, calls: Sequence[Call]) -> list[Call]:
    """Those refused by an answer, where that is why nobody was served; where connections are cut for everybody the run
    says so itself, as where it fails for another reason.
    """
    refused = [call for call in calls if is_refused(call)]
    said = any(f.code == "probe.blocked" or f.reason is Reason.BLOCKED for f in run.findings)
    # One that looks at the list of models alone warns of it, as if somebody else were served.
    fails = any(f.verdict is Verdict.FAIL for f in run.findings)
    if set(clients_of(calls)) == set(clients_of(refused)):
        return refused if said or not fails else []
    return refused if not (fails or of_our_doing(run, calls)) else []


def _most_asked(run: Run, told: Sequence[Call]) -> Case:
    """The case that asked through most of them: asked again at once, it says most."""
    return max(
        (case for case in run.cases if any(call.case == case.id for call in told)),
        key=lambda case: len({call.trial.client for call in told if call.case == case.id}),
    )


def _said_by(refusal: Exchange) -> list[tuple[str, str]]:
    made = refusal.attribution
    return [("because", vocabulary()[made.code].title)] if made is not None else []


def _as_told_by(refusal: Exchange) -> dict[str, Any]:
    """Whose move it is, and what it is: that of the refusal itself."""
    made = refusal.attribution
    if made is None:
        return {}
    row = vocabulary()[made.code]
    return {
        "who_acts": made.who_acts or row.who_acts,
        "advice": f"{made.advice or row.advice} Before that, try {_NEXT}.",
    }


def outage(finding: Finding, run: Run, calls: Sequence[Call], past: Past) -> Finding | None:
    """What a finding that proves nothing of its own says where nobody was served in its run, and somebody was before."""
    unclear = finding.verdict is Verdict.INCONCLUSIVE and finding.reason not in _NEITHER
    if not unclear or finding.code.partition(".")[0] in _OURS:
        return None
    met = [call for call in calls if call.last is not None and call.last.id in finding.evidence]
    if not (before := past.of(met)).times:
        return None
    last = met[-1].last
    assert last is not None
    case = next(case for case in run.cases if case.id == met[-1].case)
    alike = [call for call in calls if call.last is not None and _kind(call.last) == _kind(last)]
    what = (
        f"No answer within {duration(last.timeline.end or 0.0)}"
        if waited(last)
        else vocabulary()[finding.code].title
    )
    kept = [row for row in finding.detail if row[0] not in {"seen", "because", "before", "so", "look up"}]
    return replace(
        finding,
        verdict=Verdict.FAIL,
        reason=None,
        client=None,
        observed=Observed(len(alike), len(calls)),
        title=f"{what}, for a{_all(run, calls)}{before.since}",
        detail=(
            ("seen", f"{_to(_of_all(run, case), last, alike)}, {len(alike)} of {len(calls)} requests"),
            before.row,
            ("because", "the API was not heard in this run, whoever asked"),
            _SO,
            *named(last),
            *kept,
        ),
        advice=_SILENT if waited(last) else finding.advice,
    )


def _all(run: Run, calls: Sequence[Call]) -> str:
    """Where nobody is answered the last ones are not asked any more."""
    planned = {client.name for case in run.cases if KINDS[case.kind].asks_api for client in case.clients}
    return f"ll clients {'asked from' if planned - set(clients_of(calls)) else 'of'} this vantage"


def limited(finding: Finding, run: Run, calls: Sequence[Call], past: Past) -> Finding | None:
    """What a finding of the edge's rate limit says where it turned everybody away. It may be our own rate, so it stays
    unclear; whose limit it is, and what to look at, is known all the same.
    """
    if finding.verdict is not Verdict.INCONCLUSIVE or finding.code.partition(".")[0] != "ratelimited":
        return None
    before = past.of(calls)
    made = " ".join(part for part in (finding.product, finding.vendor_code) if part)
    names = clients_of(calls)
    whom = f"a{_all(run, calls)} away" if len(names) > 1 else f"{names[0]} away, the only client asked,"
    return replace(
        finding,
        title=f"The edge's rate limit{f' ({made})' if made else ''} turns {whom}{before.since}".rstrip(","),
        detail=(*finding.detail, *([before.row] if before.times else [])),
        who_acts=WhoActs.OPERATOR,
        advice=_LIMIT,
    )


def _kind(exchange: Exchange) -> object:
    """What is the same of all that one fault does to whoever asks."""
    made, error = exchange.attribution, exchange.error
    said = (made.code, made.layer, made.product, made.vendor_code) if made is not None else None
    return exchange.status, error.kind if error is not None else None, said


def _of_all(run: Run, case: Case) -> Case:
    """The case as if all clients of the run were asked in it, to call them by their names."""
    return replace(case, clients=tuple({c.name: c for one in run.cases for c in one.clients}.values()))


def _to(case: Case, last: Exchange, calls: Sequence[Call]) -> str:
    return f"{shown(last)} to {in_title(case, clients_of(calls))}"


# --- some are ----------------------------------------------------------------------------------------------


def silence(finding: Finding, run: Run, past: Past) -> Finding | None:
    """A time-out by our own limit of clients that got no answer at all in this run, and were served before."""
    if finding.verdict is not Verdict.INCONCLUSIVE or finding.code.partition(".")[0] != "timeout":
        return None
    short = {case.id: case for case in run.cases if KINDS[case.kind].asks_api and not KINDS[case.kind].long}
    calls = [call for call in run.calls if call.case in short and call.last is not None]
    answered = {call.trial.client for call in calls if call.last is not None and call.last.status is not None}
    met = [c for c in calls if c.last is not None and c.last.id in finding.evidence and waited(c.last)]
    before = past.of([call for call in met if call.trial.client not in answered])
    if not before.times:
        return None
    case = short[met[0].case]
    hurts = any(must_pass(case.client(name), run.target) for name in before.times)
    return replace(
        finding,
        verdict=Verdict.FAIL if hurts else Verdict.WARN,
        reason=None,
        detail=(*(row for row in finding.detail if row[0] != "because"), before.row),
    )
