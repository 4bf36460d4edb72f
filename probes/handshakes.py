"""What kept a TLS session from coming about?

The words are those of OpenSSL, as Python and curl pass them on, and of the other TLS libraries that curl is built with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from probes.model import WhoActs

if TYPE_CHECKING:
    from probes.model import Exchange

_CLOCK = "the date of this machine, then the certificate that is presented to another network"
_ISSUER = "compare the issuer of the certificate presented here with that seen from another network"


class Fault(NamedTuple):
    title: str
    advice: str
    next_test: str
    who_acts: WhoActs = WhoActs.OPERATOR


EXPIRED: Final = Fault(
    "The certificate has expired",
    "Renew the certificate, see that every address of the edge serves the new one, and let renewal be automatic.",
    _CLOCK,
)
NOT_YET: Final = Fault(
    "The certificate is not valid yet",
    "Serve a certificate whose time has begun, or set the clock of the machine that says so.",
    _CLOCK,
)
WRONG_NAME: Final = Fault(
    "The certificate is for another name",
    "Serve a certificate that holds the host name of the base URL, or give customers a name that it does hold.",
    "the names in the certificate (openssl s_client -connect HOST:443 -servername HOST | openssl x509 -noout -text)",
)
UNKNOWN_AUTHORITY: Final = Fault(
    "The certificate's authority is not known to the clients",
    "Serve the whole chain, signed by an authority that clients know; where a private one is meant, have each client "
    "trust it (SSL_CERT_FILE for the Python clients and curl, see README.md).",
    _ISSUER,
)
REVOKED: Final = Fault("The certificate has been revoked", "Serve a new certificate.", _ISSUER)
NOT_TLS: Final = Fault(
    "What answers does not speak TLS",
    "Use the port that speaks TLS, or http in the base URL where that is meant.",
    "the same base URL with http, without a key",
)
CLIENT_CERTIFICATE: Final = Fault(
    "The server asks for a client certificate",
    "Give the route a certificate that the server accepts (routes.*.client_cert and client_key).",
    "the same request with a client certificate",
    WhoActs.CUSTOMER,
)

_OF_TRUST = (EXPIRED, NOT_YET, UNKNOWN_AUTHORITY, REVOKED)
_SAID = tuple(
    (re.compile(words, re.IGNORECASE), fault)
    for words, fault in (
        (r"certificate has expired|certificate expired", EXPIRED),
        (r"not yet (?:valid|activated)", NOT_YET),
        (r"mismatch, certificate|does not match target host|no alternative certificate subject", WRONG_NAME),
        (r"certificate (?:has been |was )?revoked", REVOKED),
        (r"certificate required|alert bad certificate|handshake failure: no certificate", CLIENT_CERTIFICATE),
        (r"wrong[ _]version[ _]number|packet length too long|record layer failure|http request", NOT_TLS),
        (r"local issuer|issuer certificate|self[- ]signed|first certificate|unknown ca", UNKNOWN_AUTHORITY),
        (r"certificate verif(?:y|ication) failed", UNKNOWN_AUTHORITY),
    )
)


def fault(exchange: Exchange) -> Fault | None:
    """`None` where the transport failed otherwise, or does not say of what."""
    error = exchange.error
    if error is None or error.kind != "tls":
        return None
    return next((found for said, found in _SAID if said.search(error.text)), None)


def distrusts(exchange: Exchange) -> bool:
    """It was the certificate's authority or time that was not to the client's liking, for which it has its own store."""
    return fault(exchange) in _OF_TRUST
