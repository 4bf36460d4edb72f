"""Is a stream asked for over HTTP/1.1 beside HTTP/2, and where not, why?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.clients import unsuited

if TYPE_CHECKING:
    from probes.model import Call, Case, Client, Finding, Trial

_SECOND = "HTTP/2"


def both(case: Case, base: Trial) -> tuple[Trial, Trial] | None:
    """The same stream over HTTP/1.1 and over HTTP/2, by curl, which speaks both; `None` says `why_not`."""
    if why_not(case) is not None:
        return None
    curls = _curls(case)
    one, two = (
        replace(base, client=curls[mode].name, label=f"{base.label}/{curls[mode].name}")
        for mode in ("sync", "h2")
    )
    return one, two


def why_not(case: Case) -> str | None:
    """Plain HTTP is told first: there a client that speaks HTTP/2 is not among those of a case."""
    route, curls = case.target.routes[case.route], _curls(case)
    if not route.base_url.startswith("https:"):
        return f"HTTP/2 is agreed on in TLS, and route {route.name} is plain http"
    if not {"sync", "h2"} <= curls.keys():
        return "it takes the clients curl and curl-h2"
    return next((why for client in curls.values() if (why := unsuited(client, route))), None)


def _curls(case: Case) -> dict[str, Client]:
    return {client.mode: client for client in case.clients if client.kind == "curl"}


def differ(one: Call, two: Call) -> bool:
    """What was offered is what was spoken: a server may agree on HTTP/1.1 both times."""
    return _spoken(two) == _SECOND != _spoken(one)


def not_agreed(two: Call) -> str | None:
    """Why a call that offered HTTP/2 says nothing of it."""
    spoken = _spoken(two)
    return (
        None if spoken == _SECOND else f"the server agreed on {spoken or 'nothing'} where HTTP/2 was offered"
    )


def without(finding: Finding, why: str) -> Finding:
    """With what was not asked, and why."""
    return replace(finding, detail=(*finding.detail, ("not tested", f"HTTP/1.1 against HTTP/2: {why}")))


def _spoken(call: Call) -> str | None:
    last = call.last
    said = last.conditions.get("http_version") if last is not None else None
    return str(said) if said is not None else None
