"""What do the connections show that a `Dial` opened?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.words import duration
from probes.model import Dial, Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Exchange


def connected(exchange: Exchange) -> bool:
    return exchange.timeline.connect is not None


def by_us(exchange: Exchange) -> bool:
    """No way out in the family from here, so nothing was learned of the host."""
    return bool(exchange.conditions.get("no_route"))


def place(exchange: Exchange) -> str:
    """The address that was tried; empty where the name gave none."""
    return str(exchange.conditions.get("address") or "")


def family(call: Call) -> int | None:
    return call.trial.request.family if isinstance(call.trial.request, Dial) else None


def of_family(dials: Sequence[Call], wanted: int) -> list[Exchange]:
    return [e for call in dials if family(call) == wanted for e in call.exchanges]


def quickest(exchanges: Sequence[Exchange]) -> dict[str, float]:
    """Address → seconds of its quickest connect, without the look-up: one lost packet says nothing."""
    found: dict[str, float] = {}
    for e in exchanges:
        if e.timeline.connect is not None:
            found[place(e)] = min(e.timeline.connect, found.get(place(e), e.timeline.connect))
    return found


def connects(exchanges: Sequence[Exchange]) -> dict[str, Figure]:
    """A figure for each family: the middle one of its addresses, each by its quickest connect, between the first and the last
    of them.
    """
    found = {}
    for number in (4, 6):
        own = [e for e in exchanges if e.conditions.get("family") == number]
        if times := sorted(quickest(own).values()):
            middle = times[len(times) // 2]
            found[f"connect_ipv{number}"] = Figure(
                middle, "s", len(own), times[0], times[-1], conditions={"family": number}
            )
    return found


def told(exchanges: Sequence[Exchange]) -> str:
    """Each address once, with its quickest connect or its last failure."""
    times = quickest(exchanges)
    failures = {place(e): e.error.text if e.error is not None else "nothing" for e in exchanges}
    rows = {at: duration(times[at]) if at in times else failure for at, failure in failures.items()}
    return ", ".join(f"{at or 'no address'} {said}" for at, said in rows.items())


def session(exchange: Exchange) -> str:
    """The TLS session and the certificate, as the end of a sentence."""
    tls = exchange.conditions.get("tls") or {}
    if not tls:
        return ""
    left = tls.get("days_left")
    until = f", {left:.0f} days left" if isinstance(left, int | float) else ""
    return (
        f"; {tls.get('version')}, {tls.get('alpn') or 'no ALPN'}, certificate by {tls.get('issuer')}{until}"
    )


def site(calls: Sequence[Call]) -> str | None:
    """The site of Cloudflare that answers here, by its own word in `/cdn-cgi/trace`."""
    for call in calls:
        if call.last is None or call.last.status != 200 or family(call) is not None:
            continue
        lines = call.last.body_head.decode("utf-8", "replace").splitlines()
        rows = dict(line.partition("=")[::2] for line in lines)
        if {"fl", "colo"} <= rows.keys() and rows["colo"].isalnum():
            return rows["colo"][:8]
    return None
