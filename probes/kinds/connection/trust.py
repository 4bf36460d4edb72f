"""Whose fault is it that a certificate is not trusted, and does it belong to something on our own side?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.handshakes import EXPIRED, UNKNOWN_AUTHORITY, WRONG_NAME, fault
from probes.kinds.conclude import conclude
from probes.kinds.connection.dialled import place
from probes.kinds.words import listed
from probes.model import Confidence, Layer, Observed, WhoActs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Case, Exchange, Finding

# Names under which products that read along in TLS sign: a public authority never does.
_INSPECTORS = re.compile(
    r"\b(?:zscaler|netskope|forti(?:net|gate)|palo alto|blue ?coat|symantec web|umbrella|sophos|mcafee web|skyhigh|"
    r"kaspersky|avast|avg|eset|bitdefender|mitmproxy|charles proxy|fiddler|portswigger|squid|cato networks|iboss|"
    r"check ?point|sonicwall|watchguard|untangle|do_not_trust)\b",
    re.IGNORECASE,
)


_STORE = {
    True: "this system's own store trusts it",
    False: "this system's own store does not know its authority, either",
}


def untrusted(case: Case, tried: Sequence[Exchange]) -> list[Finding]:
    """Who reads along is evidence whether it is trusted here or not; else what the refused handshakes say."""
    shaken = [e for e in tried if e.conditions.get("tls")]
    inspected = [e for e in shaken if _INSPECTORS.search(_issuer(e))]
    refused = [e for e in tried if e.conditions.get("trust")]
    if inspected:
        return [_intercepted(case, inspected, len(shaken))]
    return [_not_trusted(case, refused, tried)] if refused else []


def _intercepted(case: Case, seen: Sequence[Exchange], of: int) -> Finding:
    issuer = _issuer(seen[-1])
    return conclude(
        case, "proxy.intercepts", seen[-1],
        layer=Layer.PROXY,
        product=issuer,
        observed=Observed(len(seen), of),
        title=f"{issuer} reads along: it presents its own certificate in place of the host's",
        detail=(("seen", f"{place(seen[-1]) or 'the host'} presents a certificate issued by {issuer}"),),
        confidence=Confidence.HIGH,
        next_test="compare the issuer with that seen from another network",
        evidence=tuple(e.id for e in seen),
    )  # fmt: skip


def _not_trusted(case: Case, refused: Sequence[Exchange], tried: Sequence[Exchange]) -> Finding:
    """Trusted by this system and not by the Python SDKs' store: ours. By neither: unknown whose, or plainly invalid."""
    last = refused[-1]
    trust = last.conditions["trust"]
    asked = [e for e in tried if e.timeline.tls is not None or e in refused]
    local = all(e.conditions["trust"].get("system") for e in refused)
    issuer = _issuer(last)
    seen = f"{str(trust.get('said')).rstrip('.')}{_terms(last)}{f', issued by {issuer}' if issuer else ''}"
    store = f"; {_STORE[local]}" if local or fault(last) is UNKNOWN_AUTHORITY else ""
    return conclude(
        case, "client.trust" if local else "unreachable.tls", last,
        layer=Layer.CLIENT if local else Layer.TLS,
        observed=Observed(len(refused), len(asked)),
        detail=(("seen", f"{place(last)}: {seen}{store}"),),
        confidence=Confidence.HIGH if local else Confidence.MEDIUM,
        who_acts=WhoActs.CUSTOMER if local else WhoActs.OPERATOR,
        evidence=tuple(e.id for e in refused),
    )  # fmt: skip


def _terms(exchange: Exchange) -> str:
    """For which names, and until when: of a certificate that was refused for one of them, the answer."""
    tls, why = exchange.conditions.get("tls") or {}, fault(exchange)
    left, names = tls.get("days_left"), tls.get("names")
    if why is WRONG_NAME and names:
        return f", it is for {listed(names)}"
    if why is EXPIRED and isinstance(left, int | float) and left < 0:
        return f" {-left:.1f} days ago"
    return ""


def _issuer(exchange: Exchange) -> str:
    tls = exchange.conditions.get("tls") or {}
    return str(tls.get("issuer") or "")
