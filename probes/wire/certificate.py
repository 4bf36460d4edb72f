"""What does a TLS session show of itself and of the certificate that it was opened with?"""

from __future__ import annotations

import re
import ssl
import time
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAY = 86_400
_TIME = rb"(?:\x17\x0d\d{12}Z|\x18\x0f\d{14}Z)"
_VALIDITY = re.compile(rb"\x30[\x1e\x20\x22]" + _TIME + rb"(?:\x17\x0d|\x18\x0f)(\d{12,14}Z)")
_ALTERNATIVE_NAMES = b"\x06\x03\x55\x1d\x11"
_BOOLEAN, _DNS_NAME, _ADDRESS = 0x01, 0x82, 0x87


def certificate_facts(secured: Any) -> dict[str, Any]:
    """`secured`: an `ssl.SSLSocket` or `ssl.SSLObject` whose handshake is over. `days_left` is of the wall clock, now."""
    certificate = secured.getpeercert() or {}
    issuer = dict(pair for part in certificate.get("issuer", ()) for pair in part)
    until = certificate.get("notAfter")
    return {
        "version": secured.version(),
        "cipher": (secured.cipher() or (None,))[0],
        "alpn": secured.selected_alpn_protocol(),
        "issuer": issuer.get("organizationName") or issuer.get("commonName"),
        "days_left": round((ssl.cert_time_to_seconds(until) - time.time()) / _DAY, 3) if until else None,
    }


def of_refused(der: bytes) -> dict[str, Any]:
    """`days_left` and `names` of a certificate that `ssl` refuses, and therefore does not read.

    Found by their forms in DER: the pair of times of RFC 5280 §4.1.2.5, and the names of §4.2.1.6 behind their
    object identifier. What isn't found is not said.
    """
    found: dict[str, Any] = {}
    if (times := _VALIDITY.search(der)) is not None:
        text = times[1].decode("ascii")
        form = "%y%m%d%H%M%SZ" if len(text) == len("YYMMDDHHMMSSZ") else "%Y%m%d%H%M%SZ"
        with suppress(ValueError):
            until = datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
            found["days_left"] = round((until - time.time()) / _DAY, 3)
    if (names := list(_names(der))) != []:
        found["names"] = names
    return found


def _names(der: bytes) -> Iterator[str]:
    """DNS names and addresses, the first ten."""
    at = der.find(_ALTERNATIVE_NAMES)
    if at < 0:
        return
    tag, value, rest = _element(der[at + len(_ALTERNATIVE_NAMES) :])
    if tag == _BOOLEAN:  # it is marked as critical
        _, value, _ = _element(rest)
    _, left, _ = _element(value)
    for _ in range(10):
        tag, one, left = _element(left)
        if tag == _DNS_NAME:
            yield one.decode("ascii", "replace")
        elif tag == _ADDRESS and len(one) in {4, 16}:
            yield str(ip_address(one))


def _element(der: bytes) -> tuple[int, bytes, bytes]:
    """Tag and value of the element that `der` begins with, and what stands behind it."""
    tag, size, *_ = (*der[:2], 0, 0)
    start = 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(der[2:start])
    return tag, der[start : start + size], der[start + size :]
