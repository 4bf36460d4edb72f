"""Does the host take connections, at each of its addresses and in both families, and for how long will it?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from probes.kinds.conclude import by_outcome, conclude, not_sent, outcome_code
from probes.kinds.connection.dialled import (
    by_us,
    connected,
    connects,
    family,
    of_family,
    place,
    quickest,
    session,
    site,
    told,
)
from probes.kinds.connection.trust import untrusted
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import duration
from probes.model import (
    Client,
    Confidence,
    Dial,
    Factor,
    Layer,
    Observed,
    Raw,
    Reason,
    Trial,
    Verdict,
)
from probes.twins import REPEATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange, Finding, Flow

DIALER = Client("dialer", "dialer")
SLOW = 0.25
"""Seconds that Node.js gives one address before it tries the next (`autoSelectFamilyAttemptTimeout`)."""
_DEADLINE = 2.5
_AGAIN = 1.2
_TRACE = "/cdn-cgi/trace"
_PERHAPS_ITS_OWN = frozenset({403, 407, *range(500, 600)})
"""What a proxy answers, without TLS, for a host that it does not reach or does not allow."""
_LOOPBACK = ("127.", "::1")


def connection(case: Case) -> Flow:
    trials = _dials(case, _DEADLINE)
    sender = _http(case)
    if sender is not None:
        trace = Raw("GET", _TRACE, (("accept", "*/*"),), rooted=True)
        trials.append(Trial("trace", sender, case.route, trace, deadline=_AGAIN))
    calls = yield trials
    if _doubtful(calls):
        for _ in range(REPEATS - 1):
            calls = calls + (yield _dials(case, _AGAIN))
    return _findings(case, calls)


def _dials(case: Case, deadline: float) -> list[Trial]:
    families: tuple[Literal[4], Literal[6]] = (4, 6)
    wanted = case.target.routes[case.route].family
    return [
        Trial(f"dial/{each}", DIALER.name, case.route, Dial(each), deadline=deadline, pair="dial")
        for each in families
        if wanted in {None, each}
    ]


def _http(case: Case) -> str | None:
    """A client that can send a request to the byte."""
    kinds = {client.kind: client.name for client in case.clients}
    return kinds.get("raw_httpx") or kinds.get("curl")


def _doubtful(calls: Sequence[Call]) -> bool:
    """Some address failed or was slow and another was not: what is asked again then has a rate."""
    tried = [e for call in calls if family(call) is not None for e in call.exchanges if not by_us(e)]
    good = [e for e in tried if connected(e)]
    return bool(good) and (len(good) < len(tried) or bool(_slow(calls)))


# --- what the calls say ----------------------------------------------------------------------------------


def _findings(case: Case, calls: Sequence[Call]) -> list[Finding]:
    why = next((call.not_sent for call in calls if call.not_sent is not None), None)
    found = [not_sent(case, why, "connecting", calls)] if why is not None else []
    dials = [call for call in calls if family(call) is not None]
    tried = [e for call in dials for e in call.exchanges]
    if not tried:
        return found or _by_proxy(case, calls)
    if not any(map(connected, tried)):
        # What was not sent might have come through.
        return found or by_outcome(case, [call for call in dials if call.exchanges], "a connection")
    found += _families(case, dials) or _addresses(case, tried)
    found += untrusted(case, tried) + _handshakes(case, tried) + _slowness(case, calls)
    if all(finding.verdict is Verdict.WARN for finding in found):
        found.append(_fine(case, tried, calls))
    return found


def _by_proxy(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """A proxy does the dialling: that something answers through it is all that can be seen."""
    asked = [call for call in calls if family(call) is None and call.last is not None]
    if not asked or asked[-1].last is None:
        return []
    last = asked[-1].last
    layer = last.attribution.layer if last.attribution is not None else Layer.UNKNOWN
    if last.status is None or layer is Layer.PROXY:
        return by_outcome(case, asked, "a connection")
    if (read_along := untrusted(case, [last])) != []:
        return read_along
    if layer is Layer.UNKNOWN and last.status in _PERHAPS_ITS_OWN and last.request.url.startswith("http:"):
        return [
            replace(found, verdict=Verdict.INCONCLUSIVE, reason=Reason.TOO_FEW)
            for found in by_outcome(case, asked, "a connection")
        ]
    detail = (("seen", f"an answer ({last.status}) through the proxy, which chooses the address itself"),)
    return [
        conclude(
            case, "ok", last, client=None, layer=Layer.NETWORK, product=None, observed=Observed(0, 1),
            title="The host answers through the proxy", detail=detail, confidence=Confidence.LOW, next_test=None,
        )
    ]  # fmt: skip


def _families(case: Case, dials: Sequence[Call]) -> list[Finding]:
    """One family takes no connection though it has addresses, and the other does: fallback hides it from many."""
    for number, other in ((4, 6), (6, 4)):
        broken, works = of_family(dials, number), [e for e in of_family(dials, other) if connected(e)]
        if broken and works and not all(map(by_us, broken)) and not any(map(connected, broken)):
            return [_family_fails(case, dials, (number, other), broken, works)]
    return []


def _family_fails(
    case: Case,
    dials: Sequence[Call],
    families: tuple[int, int],
    broken: list[Exchange],
    works: list[Exchange],
) -> Finding:
    number, other = families
    sides = [sum(family(c) == each and bool(c.exchanges) for c in dials) for each in families]
    last = broken[-1]
    # Only the other side's own answer proves that the path to it is whole.
    answered = last.error is not None and last.error.kind == "connect"
    local = place(last).startswith(_LOOPBACK)
    return conclude(
        case, "unreachable.family", last,
        verdict=Verdict.WARN if local else Verdict.FAIL,
        layer=Layer.NETWORK,
        factor=Factor.FAMILY if min(sides) >= REPEATS else None,
        observed=Observed(sides[0], sides[0]),
        control=works[-1].id,
        variant=last.id,
        title=f"The host has IPv{number} addresses and takes no connection there",
        detail=(
            ("seen", f"IPv{number}: {told(broken)}; IPv{other} in the same second: {told(works)}"),
            ("so", "clients that fall back lose time on every new connection; those that don't fail"),
        ),
        confidence=Confidence.MEDIUM if answered else Confidence.LOW,
        next_test=f"another host over IPv{number} from here: if that fails too, the path on our side is broken",
        evidence=tuple(e.id for e in (*broken, *works)),
    )  # fmt: skip


def _addresses(case: Case, tried: Sequence[Exchange]) -> list[Finding]:
    """Addresses that take no connection, always or now and then, although others do; a look-up that failed has none."""
    dead = [e for e in tried if not connected(e) and not by_us(e)]
    if not dead:
        return []
    places = list(dict.fromkeys(map(place, dead)))
    asked = [e for e in tried if place(e) in places]
    good = [at for at in quickest(tried) if at not in places]
    detail = f"{told(dead)}, {len(dead)} of {len(asked)} times"
    return [
        conclude(
            case, outcome_code(dead[-1]), dead[-1],
            observed=Observed(len(dead), len(asked)),
            title=f"{len(places)} of the host's {len(places) + len(good)} addresses refuses or loses connections"
            if all(places)
            else "The name resolves only now and then",
            detail=(("seen", detail + (f"; {', '.join(good)} takes them" if good else "")),),
            evidence=tuple(e.id for e in dead),
        )
    ]  # fmt: skip


def _handshakes(case: Case, tried: Sequence[Exchange]) -> list[Finding]:
    """TLS that failed for another reason than trust."""
    failed = [e for e in tried if connected(e) and e.error is not None and not e.conditions.get("trust")]
    if not failed:
        return []
    shaken = [e for e in tried if e.timeline.tls is not None]
    said = failed[-1].error.text if failed[-1].error is not None else ""
    return [
        conclude(
            case, outcome_code(failed[-1]), failed[-1],
            observed=Observed(len(failed), len(failed) + len(shaken)),
            detail=(("seen", f"connected to {place(failed[-1])}, then: {said}"),),
            evidence=tuple(e.id for e in failed),
        )
    ]  # fmt: skip


def _slow(calls: Sequence[Call]) -> dict[str, float]:
    """Addresses whose quickest connect is above the limit by more than our clock may be off."""
    off = max(float(call.conditions.get("resolution", 0.0)) for call in calls)
    times = quickest([e for call in calls if family(call) is not None for e in call.exchanges])
    return {at: seconds for at, seconds in times.items() if seconds - off > SLOW}


def _slowness(case: Case, calls: Sequence[Call]) -> list[Finding]:
    slow = _slow(calls)
    if not slow:
        return []
    exchanges = [e for call in calls for e in call.exchanges if place(e) in slow and connected(e)]
    rows = ", ".join(f"{at} {duration(seconds)}" for at, seconds in slow.items())
    return [
        conclude(
            case, "timeout.connect", exchanges[-1],
            verdict=Verdict.WARN,
            layer=Layer.NETWORK,
            observed=Observed(len(exchanges), len(exchanges)),
            title=f"Connecting takes longer than the {duration(SLOW)} that some clients give an address",
            detail=(
                ("seen", f"{rows}, the quickest of {len(exchanges) // len(slow)}"),
                ("so", "Node.js gives up on each address too soon and raises an error without a message"),
            ),
            figures=connects(exchanges),
            confidence=Confidence.HIGH,
            next_test=None,
            advice="Serve this region from a nearer site, or tell customers to raise their client's connect limit.",
            evidence=tuple(e.id for e in exchanges),
        )
    ]  # fmt: skip


def _fine(case: Case, tried: Sequence[Exchange], calls: Sequence[Call]) -> Finding:
    good = [e for e in tried if connected(e)]
    shown = next((e for e in reversed(good) if e.timeline.tls is not None), good[-1])
    untested = sorted({f"IPv{e.conditions['family']}" for e in tried if by_us(e)})
    colo = site(calls)
    n = len(quickest(good))
    return conclude(
        case, "ok", shown,
        layer=Layer.NETWORK,
        observed=Observed(0, len(good)),
        title=f"{n} address{'es' if n > 1 else ''} of the host take{'s' if n == 1 else ''} connections",
        detail=(
            ("seen", told(good) + session(shown) + (f"; edge location {colo}" if colo else "")),
            *((("not tested", f"{' and '.join(untested)}: this machine has no route"),) if untested else ()),
        ),
        figures=connects(good),
        conditions={**shown.conditions, **({"colo": colo} if colo else {})},
        confidence=Confidence.HIGH,
        next_test=None,
        evidence=tuple(e.id for e in good),
    )  # fmt: skip


def bound(_: Case) -> Bound:
    return Bound(2 * REPEATS + 1, 0, 1.0)


SPEC = KindSpec(
    flow=connection,
    about="every address of the host in both families, TLS and its certificate; asks the API nothing",
    bound=bound,
    keyed=False,
    converses=False,
    asks_api=False,
    brings=(DIALER,),
)
