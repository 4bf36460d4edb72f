"""What is told of a large body that was let pass, got an answer that says nothing, or was not sent?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, not_sent, outcome_code
from probes.kinds.identity.load import failed_by_size, filler_of, in_words
from probes.kinds.identity.study import evidence, passed
from probes.kinds.words import clients_of, listed, shown
from probes.model import Layer, Observed, Reason, Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.identity.study import Study
    from probes.model import Call, Finding, NotSent


def said_nothing(study: Study, calls: Sequence[Call]) -> list[Finding]:
    """429, time-outs and redirects in answer to a large body, each told once."""
    groups: dict[str, list[Call]] = {}
    for call in calls:
        if call.not_sent is None and failed_by_size(call) is None:
            code = outcome_code(call.last) if call.last is not None else "client.guard"
            groups.setdefault(code, []).append(call)
    return [_nothing(study, code, members) for code, members in groups.items()]


def _nothing(study: Study, code: str, calls: Sequence[Call]) -> Finding:
    names = study.ranked(clients_of(calls))
    last = calls[-1].last
    said = shown(last) if last is not None else "the client refused to send it"
    return conclude(
        study.case,
        code,
        last,
        verdict=Verdict.INCONCLUSIVE,
        reason=Reason.TOO_FEW,
        client=names[0] if len(names) == 1 else None,
        observed=Observed(len(calls), len(calls)),
        title=f"{vocabulary()[code].title}, with a body of {in_words(filler_of(calls[-1]))}",
        detail=(("seen", f"{listed(names)}: {said}"), ("because", "such an answer says nothing of the size")),
        evidence=evidence(calls),
    )


def left_out(study: Study, names: Sequence[str], sizes: Sequence[int], why: NotSent | None) -> Finding:
    """Who was not asked, by the ceiling or by what kept a request from being sent."""
    asked = listed([in_words(size) for size in sizes])
    if why is not None:
        return not_sent(study.case, why, f"asking {listed(names)} with {asked}")
    return conclude(
        study.case,
        "not_measured",
        layer=Layer.PROBE,
        reason=Reason.BUDGET,
        title=f"Not asked with {asked}: {listed(study.ranked(names))}",
        detail=(("seen", "the ceiling of what a case uploads, sends or waits for was reached"),),
        advice="Raise it (--set upload=BYTES, --set patience=SECONDS), or ask for smaller sizes (--set sizes=65536).",
    )


def no_client(study: Study) -> Finding:
    return conclude(
        study.case,
        "not_measured",
        layer=Layer.PROBE,
        reason=Reason.TOO_FEW,
        title="Sizes were not asked: no genuine client passes each time with a small body",
        advice="Mend the refusal of small requests first.",
    )


def not_invalid(study: Study, first: Call) -> Finding:
    """An API that would work on a large invalid request is not sent one."""
    if first.not_sent is not None:
        return not_sent(study.case, first.not_sent, "asking about sizes")
    return conclude(
        study.case,
        "not_measured",
        layer=Layer.PROBE,
        reason=Reason.TOO_FEW,
        title="Sizes were not asked: the small request did not get the refusal that an invalid one should",
        detail=(("seen", shown(first.last) if first.last is not None else "the client refused to send it"),),
        evidence=evidence([first]),
        advice="Find out why such a request is not answered by 400, 401 or 422.",
    )


def takes(study: Study, large: Sequence[Call]) -> list[Finding]:
    """Green is specific: which sizes passed, and through whom."""
    failing = {call.trial.client for call in large if not passed(call)}
    calls = [call for call in large if call.trial.client not in failing]
    names = study.ranked(clients_of(calls))
    if not names:
        return []
    every = set.intersection(*({filler_of(c) for c in calls if c.trial.client == name} for name in names))
    if not every:
        return []
    last = calls[-1].last
    assert last is not None
    return [
        conclude(
            study.case,
            "ok",
            last,
            client=names[0] if len(names) == 1 else None,
            observed=Observed(0, len(calls)),
            title=f"Bodies of {listed([in_words(size) for size in sorted(every)])} pass through {listed(names)}",
            detail=(("seen", f"the API's own answer, {shown(last)}, to {study.to_what}"),),
            evidence=evidence(calls),
        )
    ]
