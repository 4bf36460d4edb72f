"""Does a client get no answer where others are answered at once?

A tarpit: what it holds up is ended by our own deadline, which is nobody's timer, yet the same request by the control is
answered beside it each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.by_us import HELD_UP, HELD_UP_NEXT
from probes.kinds.conclude import conclude
from probes.kinds.identity.study import AT_ONCE, evidence, passed, took
from probes.kinds.words import duration, emulated, in_title, listed, shown
from probes.model import Confidence, Factor, Observed, Verdict
from probes.twins import REPEATS, confounders

if TYPE_CHECKING:
    from probes.kinds.identity.study import Study
    from probes.model import Call, Finding


def hangs(call: Call) -> bool:
    """The request was sent, and nothing came until our own deadline."""
    last = call.last
    return (
        last is not None
        and last.status is None
        and last.error is not None
        and last.error.kind in {"deadline", "timeout", "lost"}
        and last.error.phase not in {"dns", "connect", "tls"}
    )


def hanging(study: Study) -> list[str]:
    """Clients that never got an answer, while the control got each of its own at once; the one asked most first."""
    control = [call for call in study.seen if call.trial.client == study.control]
    if not control or not all(passed(call) and took(call) <= AT_ONCE for call in control):
        return []
    calls = {name: [c for c in study.seen if c.trial.client == name] for name in study.others}
    names = [name for name, asked in calls.items() if asked and all(map(hangs, asked))]
    return sorted(study.ranked(names), key=lambda name: -len(calls[name]))


def proven(study: Study) -> list[str]:
    """Those that hang, where one of them did in as many tries as a twin needs, as often as the control was answered."""
    names = hanging(study)
    counted = [sum(call.trial.client == name for call in study.seen) for name in (*names[:1], study.control)]
    return names if names and min(counted) >= REPEATS else []


def told_of_hanging(study: Study) -> list[Finding]:
    names = proven(study)
    if not names:
        return []
    calls = [call for call in study.seen if call.trial.client in names]
    control = [call for call in study.seen if call.trial.client == study.control]
    first = next(call.last for call in calls if call.trial.client == names[0])
    answered = control[-1].last
    assert first is not None
    assert answered is not None
    names = study.ranked(names)
    said = f"{shown(first)}, {len(calls)} of {len(calls)}"
    return [
        conclude(
            study.case,
            "timeout.first_byte",
            first,
            verdict=Verdict.FAIL if any(map(study.must_pass, names)) else Verdict.WARN,
            client=names[0] if len(names) == 1 else None,
            factor=Factor.CLIENT,
            observed=Observed(len(calls), len(calls)),
            control=answered.id,
            variant=first.id,
            confounders=confounders(answered, first, ("*",)),
            title=f"{in_title(study.case, names)} {'gets' if len(names) == 1 else 'get'} no answer where "
            f"{study.control} is answered at once",
            detail=(
                (
                    "seen",
                    f"{said}; {study.control} with the same request beside it: {shown(answered)}, {len(control)} of {len(control)}",
                ),
                (
                    "because",
                    "the client makes the difference; for how long it is held, or whether for good, was not waited for",
                ),
                ("so", f"every customer on {listed(names)} waits for more than {duration(took_most(calls))}"),
                *emulated(study.case, names),
            ),
            confidence=Confidence.MEDIUM,
            reason=None,
            advice=HELD_UP,
            next_test=HELD_UP_NEXT,
            evidence=evidence((*calls, *control)),
        )
    ]


def took_most(calls: list[Call]) -> float:
    return max(map(took, calls))
