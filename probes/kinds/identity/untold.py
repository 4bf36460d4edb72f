"""Which answers say nothing of whether a client's identity is accepted?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.by_us import worded
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.identity.study import AT_ONCE, evidence, passed, refused, took
from probes.kinds.words import clients_of, emulated, in_title, listed, shown
from probes.model import Observed, Reason, Verdict
from probes.redirects import told_by_outcome
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Collection

    from probes.kinds.identity.study import Study
    from probes.model import Call, Finding


def said_nothing(study: Study, why: Reason = Reason.TOO_FEW, but: Collection[str] = ()) -> list[Finding]:
    """429, 5xx, time-outs and redirects say nothing of identity; `but` clients of which more is known."""
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in told_by_outcome(study.seen):
        if call.trial.client in but:
            continue
        if call.last is not None and not passed(call) and not refused(call):
            made = call.last.attribution
            groups.setdefault((outcome_code(call.last), made and made.layer), []).append(call)
    return [_nothing_of_identity(study, calls, why) for calls in groups.values()]


def _nothing_of_identity(study: Study, calls: list[Call], why: Reason) -> Finding:
    names = study.ranked(clients_of(calls))
    exchange = calls[-1].last
    assert exchange is not None
    through = f" through {in_title(study.case, names)}" if len(names) > 1 else ""
    asked = sum(call.trial.client in names and call.not_sent is None for call in study.seen)
    return conclude(
        study.case,
        outcome_code(exchange),
        exchange,
        verdict=Verdict.INCONCLUSIVE,
        reason=why,
        client=names[0] if len(names) == 1 else None,
        observed=Observed(len(calls), asked),
        **{
            "title": vocabulary()[outcome_code(exchange)].title + through,
            **worded(study.case, exchange, names, _at_once(study)),
        },
        detail=(
            ("seen", f"{listed(names)}: {shown(exchange)}"),
            ("because", "such an answer says nothing of whether the client's identity is accepted"),
            *emulated(study.case, names),
        ),
        evidence=evidence(calls),
    )


def _at_once(study: Study) -> list[str]:
    """Clients that got the API's own answer each time, without delay."""
    late = {call.trial.client for call in study.passing() if took(call) > AT_ONCE}
    return study.ranked(list(set(clients_of(study.passing())) - study.failing() - late))
