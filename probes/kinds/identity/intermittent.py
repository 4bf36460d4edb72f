"""What is told of a client that is turned away at one time and let pass at another?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude
from probes.kinds.identity.study import evidence, outcome, refused
from probes.kinds.words import emulated, shown
from probes.model import Confidence, Factor, Observed, Verdict
from probes.twins import P, Side, Twin, fisher, side, wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.identity.study import Study
    from probes.model import Exchange, Finding


def intermittent(study: Study, name: str, pair: Twin, seen: Side) -> Finding:
    """Refused now and then: a failure of the service with its rate.

    The client is claimed as its factor only where the exact test says so twice: of the pairs alone, since the screening
    chose this client because it was refused, and of all answers, since the pairs alone may have come out pure.
    """
    every = side(study.controls, outcome)
    claimed = (
        max(fisher(pair.control, pair.variant), fisher(every, seen)) <= P
        and seen.k * every.n > every.k * seen.n
    )
    refusals = [call.last for call in seen.calls if call.last is not None and refused(call)]
    if not claimed and all(exchange.status is None for exchange in refusals):
        return _broke(study, name, refusals, seen)
    refusal = next(iter(refusals), None)
    low, high = wilson(seen.k, seen.n)
    rate = f"{seen.k} of {seen.n} times ({low:.0%} to {high:.0%} with 95 % confidence)"
    return conclude(
        study.case,
        "blocked.client" if claimed else "blocked",
        refusal,
        verdict=Verdict.FAIL if study.must_pass(name) else Verdict.WARN,
        client=name,
        factor=Factor.CLIENT if claimed else None,
        observed=Observed(seen.k, seen.n),
        control=pair.control.evidence,
        variant=refusal.id if refusal is not None else None,
        title=f"{name} is refused now and then",
        detail=(
            ("seen", f"refused {rate}; {study.control} beside it {pair.control.k} of {pair.control.n}"),
            ("because", "which part of the client is not isolated: an intermittent refusal needs more pairs"),
            *emulated(study.case, [name]),
        ),
        confidence=Confidence.MEDIUM if claimed else Confidence.LOW,
        evidence=evidence((*seen.calls, *pair.control.calls)),
    )


def _broke(study: Study, name: str, broken: Sequence[Exchange], seen: Side) -> Finding:
    """A connection that broke before an answer is no refusal where the next one holds. Once may be chance, such as a
    restart; more than that is a failure of the service with its rate.
    """
    low, high = wilson(seen.k, seen.n)
    often = seen.k > 1 and study.must_pass(name)
    return conclude(
        study.case,
        "unreachable.reset",
        broken[-1],
        verdict=Verdict.FAIL if often else Verdict.WARN,
        client=name,
        observed=Observed(seen.k, seen.n),
        title=f"A connection of {name} broke before any answer, {seen.k} of {seen.n} times",
        detail=(
            ("seen", f"{shown(broken[-1])}; {low:.0%} to {high:.0%} with 95 % confidence"),
            ("because", f"not for who is asking: the same request was let pass {seen.n - seen.k} times"),
            *emulated(study.case, [name]),
        ),
        confidence=Confidence.LOW,
        evidence=evidence(seen.calls),
    )
