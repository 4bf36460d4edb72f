"""Which limits of its own does the probe set on a long request, and which does its client have?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probes.model import Case, Client, Exchange

SDK_READ, SDK_CONNECT = 600.0, 5.0
"""Seconds, between two reads and for a connection, that both official SDKs have by default (`_constants.py` of each)."""
_SDKS = ("openai", "anthropic")
_CURL_CONNECT = 300.0
"""Seconds, https://curl.se/docs/manpage.html#--connect-timeout."""


def own_limits(client: Client) -> dict[str, float | None]:
    """Seconds; `None` where it has none. They are left as its customers have them."""
    if client.kind.startswith(_SDKS):
        return {"read": SDK_READ, "connect": SDK_CONNECT}
    return {"read": None, "connect": _CURL_CONNECT if client.kind == "curl" else None}


def conditions(
    case: Case, client: str, exchange: Exchange, deadline: float | None, together: int = 2
) -> dict[str, Any]:
    """Those of the exchange, and every limit that held."""
    own = {f"client_{name}_limit": seconds for name, seconds in own_limits(case.client(client)).items()}
    probes = {"deadline": deadline, "body_mib": case.target.limits.body_mib, **own}
    return {**exchange.conditions, **probes, "concurrency": together, "client": "cold", "cache": "unknown"}


def in_words(client: Client, deadline: float, body_mib: float, retries: int = 0) -> str:
    own = [
        f"{seconds:g} s {'between two reads' if name == 'read' else 'to connect'}"
        for name, seconds in own_limits(client).items()
        if seconds is not None
    ]
    of_client = f"{client.name}'s own: {', '.join(own)}" if own else f"{client.name} has none of its own"
    each = (
        f"{deadline:g} s for all attempts but the pauses between them"
        if retries
        else f"{deadline:g} s a request"
    )
    return (
        f"{each}, {body_mib:g} MiB a body; {of_client}; {f'{retries} retries' if retries else 'no retries'}"
    )
