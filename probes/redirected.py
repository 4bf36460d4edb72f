"""What is to be said of the redirects that a case met?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude
from probes.kinds.words import clients_of, listed
from probes.model import Confidence, Layer, Observed, Reason, Verdict
from probes.redirects import circle, followed, in_clear, lost, redirect, unending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Finding


def redirected(case: Case, calls: Sequence[Call]) -> list[Finding]:
    return [*_redirects(case, calls), *_in_clear(case, calls)]


def _redirects(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Clients that followed, by what they left behind; what those that don't follow met, the case's answer tells."""
    groups: dict[str | None, list[Call]] = {}
    for call in calls:
        if followed(call) and not unending(call):
            groups.setdefault(lost(call), []).append(call)
    stood = clients_of([call for call in calls if redirect(call) is not None and not followed(call)])
    endless = [call for call in calls if unending(call)]
    found = [_unending(case, endless, stood)] if endless else []
    return found + [_followed(case, calls, members, left, stood) for left, members in groups.items()]


def _unending(case: Case, calls: list[Call], stood: list[str]) -> Finding:
    """Nobody gets an answer: proven where the same request came by the same place twice."""
    names = clients_of(calls)
    round_ = next((hops for call in calls if (hops := circle(call))), ())
    hops = round_ or tuple(e for e in calls[-1].exchanges if e.header("location"))
    way = " -> ".join(hop.request.url for hop in hops)
    proven: dict[str, Any] = {"title": "The API redirects in a circle", "confidence": Confidence.HIGH}
    if not round_:
        proven = {
            "title": f"The API redirects {len(hops)} times in a row, and no end was seen",
            "verdict": Verdict.INCONCLUSIVE,
            "reason": Reason.STOPPED_EARLY,
            "confidence": Confidence.LOW,
        }
    return conclude(
        case,
        "redirected",
        hops[0],
        client=names[0] if len(names) == 1 else None,
        observed=Observed(len(calls), len(calls)),
        detail=(
            ("seen", f"{hops[0].status} {way}, followed by {listed(names)}"),
            *_not_following(stood),
        ),
        advice="Look for two rules that send requests back to each other, such as one to and one from a scheme, a host or a "
        "trailing slash; answer API paths without redirects.",
        next_test="the same request straight to the origin, which tells whose redirect it is",
        evidence=tuple(e.id for call in calls for e in call.exchanges),
        **proven,
    )


def _followed(
    case: Case, calls: Sequence[Call], members: list[Call], left: str | None, stood: list[str]
) -> Finding:
    hop, names = members[-1].exchanges[0], clients_of(members)
    does = left or "the request is repeated as it was"
    asked = [call for call in calls if call.trial.client in names and redirect(call) is not None]
    return conclude(
        case,
        "redirected",
        hop,
        verdict=Verdict.WARN if left is None else Verdict.FAIL,
        client=names[0] if len(names) == 1 else None,
        observed=Observed(len(members), len(asked)),
        title=f"The API redirects; {listed(names)} follow{'s' if len(names) == 1 else ''}",
        detail=(
            (
                "seen",
                f"{hop.status} from {hop.request.url} to {hop.header('location')}, followed by {listed(names)}",
            ),
            ("client", f"{listed(names)}: {does}"),
            *_not_following(stood),
        ),
        confidence=Confidence.HIGH,
        evidence=tuple(call.exchanges[0].id for call in members),
    )


def _not_following(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return (("others", f"{listed(names)} {'does' if len(names) == 1 else 'do'} not follow"),) if names else ()


def _in_clear(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """The key had already gone without TLS when https was asked for."""
    sent = [call for call in calls if in_clear(call)] if case.target.key_env is not None else []
    if not sent:
        return []
    hop, names = sent[-1].exchanges[0], clients_of(sent)
    return [
        conclude(
            case,
            "leak.secret_in_clear",
            hop,
            layer=Layer.CLIENT,
            product=None,
            client=names[0] if len(names) == 1 else None,
            observed=Observed(len(sent), len(sent)),
            detail=(
                (
                    "seen",
                    f"the key went to {hop.request.url}, which then redirected to {hop.header('location')}",
                ),
            ),
            confidence=Confidence.HIGH,
            evidence=tuple(call.exchanges[0].id for call in sent),
        )
    ]
