"""With what was it measured?

No name of the machine, of its user or of a folder.
"""

from __future__ import annotations

import ipaddress
import platform
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probes.model import Run

_RESOLVERS = Path("/etc/resolv.conf")


def environment(run: Run, *, here: bool) -> dict[str, Any]:
    """`here`: the run was made by this very process, so that what the run does not hold is that of this machine."""
    exchanges = [exchange for call in run.calls for exchange in call.exchanges]
    secured = [exchange.conditions.get("tls") for exchange in exchanges]
    seen = {
        (str(tls.get("version")), str(tls.get("cipher")), str(tls.get("alpn")), str(tls.get("issuer")))
        for tls in secured
        if isinstance(tls, dict)
    }
    peers = {
        str(peer).rpartition(":")[0] for exchange in exchanges if (peer := exchange.conditions.get("peer"))
    }
    return {
        "versions": dict(run.versions),
        "openssl": ssl.OPENSSL_VERSION if here else None,
        "system": f"{platform.system()} {platform.machine()}" if here else None,
        "tls": [dict(zip(("version", "cipher", "alpn", "issuer"), one, strict=True)) for one in sorted(seen)],
        "http": sorted({str(e.conditions.get("http_version")) for e in exchanges} - {"None"}),
        "addresses": sorted(peers),
        "resolvers": _resolvers() if here else None,
    }


def _resolvers() -> list[str]:
    """Those that are everybody's by their address, others as what they are."""
    try:
        lines = _RESOLVERS.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    named = [words[1] for line in lines if len(words := line.split()) > 1 and words[0] == "nameserver"]
    return [_shown(name) for name in named]


def _shown(name: str) -> str:
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return "unknown"
    if address.is_loopback:
        return "this machine"
    return str(address) if address.is_global else "a private address"
