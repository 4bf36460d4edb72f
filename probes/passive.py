"""What is to be said of every exchange, whatever the question was?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.budget import over_cap, worst_case
from probes.kinds.conclude import conclude, listed
from probes.model import Confidence, Layer, Observed, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Finding


def passive(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Findings that the case's calls hold beside the answer to its question."""
    return [*_redirects(case, calls), *_leaks(case, calls), *_over_cap(case, calls)]


def _redirects(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """A client that followed: it got through, but others repeat a POST as GET, or do not follow."""
    followed = [
        call for call in calls if len(call.exchanges) > 1 and 300 <= (call.exchanges[0].status or 0) < 400
    ]
    if not followed:
        return []
    hop = followed[-1].exchanges[0]
    names = list(dict.fromkeys(call.trial.client for call in followed))
    return [
        conclude(
            case,
            "redirected",
            hop,
            verdict=Verdict.WARN,
            client=names[0] if len(names) == 1 else None,
            observed=Observed(len(followed), len(followed)),
            title=f"The API redirects; {listed(names)} follow{'s' if len(names) == 1 else ''}",
            detail=(
                (
                    "seen",
                    f"{hop.status} from {hop.request.url} to {hop.header('location')}, followed by {listed(names)}",
                ),
            ),
            confidence=Confidence.HIGH,
            evidence=tuple(call.exchanges[0].id for call in followed),
        )
    ]


def _leaks(case: Case, calls: Sequence[Call]) -> list[Finding]:
    echoing = [(call, ex) for call in calls for ex in call.exchanges if ex.conditions.get("secret_echoed")]
    if not echoing:
        return []
    call, exchange = echoing[0]
    return [
        conclude(
            case,
            "leak.secret_in_clear",
            exchange,
            layer=Layer.UNKNOWN,
            client=call.trial.client,
            observed=Observed(len(echoing), sum(len(call.exchanges) for call in calls)),
            detail=(
                (
                    "seen",
                    f"the secret that was sent came back in the {exchange.conditions['secret_echoed']} of a response",
                ),
            ),
            confidence=Confidence.HIGH,
            evidence=tuple(ex.id for _, ex in echoing),
        )
    ]


def _over_cap(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """The budget reserves what a request may cost at the most; this server charges more."""
    above = [(call, used) for call in calls if (used := over_cap(call.trial, call)) is not None]
    if not above:
        return []
    call, (input_tokens, output_tokens) = above[0]
    reserved = worst_case(call.trial)
    said = f"{input_tokens:,} input and {output_tokens:,} output tokens where at most {reserved[0]:,} and {reserved[1]:,} were reserved"
    return [
        conclude(
            case,
            "usage.over_cap",
            call.last,
            client=call.trial.client,
            observed=Observed(len(above), len(calls)),
            detail=(("seen", said), ("so", "nothing more is sent in this run: its budget could not be kept")),
            confidence=Confidence.HIGH,
            evidence=tuple(call.last.id for call, _ in above if call.last is not None),
        )
    ]
