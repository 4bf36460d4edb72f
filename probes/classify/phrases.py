"""What do programs say when there was no answer?

The words of HTTP libraries, of curl and of browsers: for Python, Node, Go, PHP and Rust.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from probes.model import WireError
from probes.patterns import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_GUARD = r"Streaming is (?:required|strongly recommended) for operations that may|The api_key client option must be set|Could not resolve authentication method"
_UNREAD = (
    r"\b(?:str|bytes)' object has no attribute '(?:choices|content|data|id|model_dump|output|output_text|usage)'"
    r"|Unexpected token '?<|JSONDecodeError|Expecting value: line 1 column 1"
)
_TRANSPORT = tuple(
    (Pattern(pattern), kind, phase)
    for pattern, kind, phase in (
        (_GUARD, "guard", ""),
        (_UNREAD, "unread", ""),
        (r"x509: |SSL connection timeout|CERTIFICATE_VERIFY_FAILED|SSLCertVerification|self[- ]signed certificate|local issuer certificate|SSL certificate problem", "tls", "tls"),
        (r"ProxyError|Tunnel connection failed|CONNECT tunnel failed|ERR_(?:PROXY|TUNNEL)_\w+|Could not resolve proxy", "proxy", "connect"),
        (r"no such host|getaddrinfo|ENOTFOUND|EAI_AGAIN|Name or service not known|nodename nor servname|Temporary failure in name resolution|NameResolutionError|Could not resolve host|ERR_NAME_NOT_RESOLVED", "dns", "dns"),
        (r"dial tcp [^\n]{0,200}i/o timeout|Failed to connect to [^\n]{0,200}[Tt]imed out", "timeout", "connect"),
        (r"ECONNREFUSED|Connection refused|All connection attempts failed|ERR_CONNECTION_REFUSED|Failed to connect to|Couldn't connect to server", "connect", "connect"),
        (r"ConnectTimeout|ETIMEDOUT|[Cc]onnect(?:ion)? timed out|Connection timeout|ERR_CONNECTION_TIMED_OUT|UND_ERR_CONNECT_TIMEOUT", "timeout", "connect"),
        (r"WriteTimeout", "timeout", "upload"),
        (r"Headers ?Timeout ?Error|UND_ERR_HEADERS_TIMEOUT", "timeout", "headers"),
        (r"Body ?Timeout ?Error|UND_ERR_BODY_TIMEOUT", "timeout", "body"),
        (r"error sending request for url", "unsaid", ""),
        (r"incomplete (?:chunked read|message body)|without sending complete message body|ChunkedEncodingError|IncompleteRead|outstanding read data|Premature close|ERR_INCOMPLETE_CHUNKED_ENCODING|not closed cleanly|stream disconnected before completion|TypeError: terminated", "closed", "body"),
        (r"ECONNRESET|[Cc]onnection reset|ERR_CONNECTION_RESET", "reset", "headers"),
        (r"Server disconnected|RemoteDisconnected|socket hang up|Empty reply from server|ERR_EMPTY_RESPONSE|closed connection without", "closed", "headers"),
        (r"SSLError|SSL_ERROR|ERR_SSL|ERR_CERT|\bSSL: |TLS handshake|SSL connect error", "tls", "tls"),
        (r"ERR_(?:HTTP2|QUIC)_PROTOCOL_ERROR", "protocol", "headers"),
        (r"ReadTimeout|Read timed out|Operation timed out after", "timeout", "headers"),
        (r"[Tt]imed? ?out|Timeout", "timeout", ""),
        (r"APIConnectionError|[Cc]onnection error|ConnectError|fetch failed|APIConnection", "unsaid", ""),
    )
)  # fmt: skip
_SAID = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:\S{1,40} )?curl: \(\d{1,3}\) [^\n]{1,400}",
        # each begins with letters, by which it is found fast
        r"net::ERR_[A-Z_0-9]{3,60}",
        r"peer closed connection without sending complete message body",
        r"stream disconnected before completion",
        r"context deadline exceeded \(Client\.Timeout",
        r"i/o timeout \(Client\.Timeout",
        r"net/http: TLS handshake timeout",
        r"dial tcp[: ]",
        r"x509: certificate ",
        r"connect E(?:TIMEDOUT|CONNREFUSED|HOSTUNREACH|NETUNREACH)\b",
        r"getaddrinfo E\w{4,12}\b",
        r"read ECONNRESET",
        r"socket hang up",
        r"(?<!: )Headers Timeout Error\b",
        r"(?<!: )Body Timeout Error\b",
        r"cURL error \d{1,2}: ",
        r"Failed to connect to \S{1,255} port \d",
        r"HTTPConnectionPool\(host=",
        r"HTTPSConnectionPool\(host=",
    )
)


def said(text: str) -> Iterator[re.Match[str]]:
    """Where such words begin that need no exception's name to be known."""
    return chain.from_iterable(pattern.finditer(text) for pattern in _SAID)


def is_said(text: str, at: int) -> bool:
    return any(pattern.match(text, at) for pattern in _SAID)


def wire_error(said: str) -> WireError | None:
    found = ((kind, phase) for pattern, kind, phase in _TRANSPORT if pattern.search(said))
    kind, phase = next(found, ("", ""))
    return WireError(kind, phase, said[:200]) if kind else None
