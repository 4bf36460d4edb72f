"""Did a proxy of our own side keep the request from the service?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from probes.model import Layer, Reason, Verdict

if TYPE_CHECKING:
    from probes.model import Case, Exchange

_TRIED = re.compile(r"\b50[0-4]\b")


def kept_by_proxy(case: Case, exchange: Exchange) -> dict[str, Any]:
    """The fields of a finding where a proxy is down or refuses: the service, which nobody asked, is unknown.

    Nothing where the proxy says with a 5xx that it asked in vain.
    """
    made = exchange.attribution
    if made is None or made.layer is not Layer.PROXY or made.code != "unreachable.connect":
        return {}
    said = (
        str(exchange.status) if exchange.status is not None else exchange.error.text if exchange.error else ""
    )
    if _TRIED.search(said):
        return {}
    return {
        "verdict": Verdict.INCONCLUSIVE,
        "reason": Reason.UNAVAILABLE,
        "title": f"{_named(case)} lets nothing through, so what the service does is unknown",
        "advice": "See that the proxy runs and lets this host through, or leave it out (--no-env-proxy, or no --proxy).",
    }


def _named(case: Case) -> str:
    given = case.target.routes[case.route].proxy
    if given is None:
        return "The proxy that the environment names"
    parts = urlsplit(given)
    return f"The proxy {parts.hostname}" + (f":{parts.port}" if parts.port else "")
