"""Everybody is refused here: is that new?

Alone it says nothing of the service: a monitor is refused more easily than a customer. Where the same clients were
served at the same place before, something was changed; that it is down is not said even then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.attribution import is_api_answer, is_refusal
from probes.kinds import KINDS
from probes.kinds.conclude import conclude, is_good
from probes.kinds.words import clients_of, listed, shown
from probes.model import Confidence, Observed, Reason, Verdict, WhoActs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Finding, Run
    from probes.watch.needs import Memory

_NEXT = "the same clients from a second vantage, on another network"


def total_block(run: Run, memory: Memory) -> Finding | None:
    """What a run in which every client was refused says, where memory knows better times."""
    calls = refused_everywhere(run)
    if not calls:
        return None
    names = clients_of(calls)
    before = memory.passed(run.target.name, run.vantage, names, run.started)
    known = [name for name in names if name in before]
    if not known:
        return None
    told = [call for call in calls if call.trial.client in known]
    last = told[-1].last
    assert last is not None
    case = next(case for case in run.cases if case.id == told[-1].case)
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
            (
                "before",
                "; ".join(f"{name} was served at {before[name]:%Y-%m-%d %H:%M} UTC" for name in known),
            ),
            *([("not known", f"{listed(new)} was never served from here")] if new else []),
            ("so", "customers elsewhere may be served: whether the service is down cannot be seen from here"),
        ),
        confidence=Confidence.MEDIUM,
        who_acts=WhoActs.OPERATOR,
        next_test=_NEXT,
        evidence=tuple(call.last.id for call in told if call.last is not None),
    )


def refused_everywhere(run: Run) -> Sequence[Call]:
    """The refused calls of a run in which every client was refused and the API was not heard; none of any other run."""
    blind = any(f.code == "probe.blocked" or f.reason is Reason.BLOCKED for f in run.findings)
    kinds = {case.id: KINDS[case.kind] for case in run.cases}
    calls = [c for c in run.calls if c.last is not None and c.case in kinds and kinds[c.case].asks_api]
    heard = any(is_good(call) or (call.last is not None and is_api_answer(call.last)) for call in calls)
    refused = [call for call in calls if call.last is not None and is_refusal(call.last)]
    everybody = set(clients_of(calls)) == set(clients_of(refused))
    return refused if blind and everybody and not heard else []
