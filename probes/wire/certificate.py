"""What does a TLS session show of itself and of the certificate that it was opened with?"""

from __future__ import annotations

import ssl
import time
from typing import Any

_DAY = 86_400


def certificate_facts(secured: Any) -> dict[str, Any]:
    """`secured`: an `ssl.SSLSocket` or `ssl.SSLObject` whose handshake is over. `days_left` is of the wall clock, now."""
    certificate = secured.getpeercert() or {}
    issuer = dict(pair for part in certificate.get("issuer", ()) for pair in part)
    until = certificate.get("notAfter")
    return {
        "version": secured.version(),
        "alpn": secured.selected_alpn_protocol(),
        "issuer": issuer.get("organizationName") or issuer.get("commonName"),
        "days_left": round((ssl.cert_time_to_seconds(until) - time.time()) / _DAY, 3) if until else None,
    }
