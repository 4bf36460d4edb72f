"""What did a client tell its user when it met an error?

The texts of the OpenAI and Anthropic SDKs (Python and Node), of the libraries that wrap them, and of curl and the HTTP
libraries below. Newer OpenAI SDKs print a status and the message of the body's JSON, and nothing of any other body.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from probes.classify.bodies import Body, body_at, unquoted
from probes.model import WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CLASS = r"(?:[A-Za-z_]\w{0,60}\.){0,6}(?:(?:[A-Z]\w{0,60})?(?:Error|Exception)|[A-Z]\w{0,60}(?:Timeout|Disconnected)|IncompleteRead)"
_RAISED = re.compile(rf"{_CLASS}(?=: | - |\(|$)", re.MULTILINE)
# What every error has, found fast; what stands before it tells where the error begins.
_LAST_OF_CLASS = re.compile(
    r"(?:Error|Exception|Timeout|Disconnected|IncompleteRead)(?=: | - |\(|$)", re.MULTILINE
)
_NUMBER = re.compile(r"[45]\d\d(?<![\w.]\d\d\d)(?!\d)")
_BEFORE = re.compile(
    r"""(?:(?P<word>[Ss]tatus(?:[_ ]?[Cc]ode)?['"]?(?::\ ?|=|\ ))|Error\ code:\ |HTTP\ code\ |API\ Error:?\ \(?|\[
    |HTTP(?:\ [Ee]rror|\ status)?(?:\ code)?:?\ |(?:Client|Server)\ error\ '|"HTTP/[\d.]{1,3}\ )\Z""",
    re.VERBOSE,
)
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."
_WRAPPED = re.compile(rf"(?:{_CLASS})(?:: | - |\()[\"']?")
_STATUS = re.compile(
    r"""Error\ code:\ (?P<sdk>[45]\d\d)\b(?:\ -\ )?
    | \bHTTP\ code\ (?P<old>[45]\d\d)\ from\ API(?:\ \()?
    | \bAPI\ Error:?\ \(?(?P<code>[45]\d\d)\b(?:\ status\ code\ \(no\ body\))?
    | \b[Ss]tatus(?:[_ ]?[Cc]ode)?['"]?(?::\ ?|=|\ )(?P<word>[45]\d\d)\b(?:\ and\ |\ -\ |,\ )?
    | \bHTTP(?:\ [Ee]rror|\ status)?(?:\ code)?:?\ (?P<http>[45]\d\d)\b(?::|,|\ -)?
    | \[(?P<bracket>[45]\d\d)\]\ [A-Z][A-Za-z]{2,20}(?:\ [A-Z][A-Za-z]{1,20}){0,3}
    | \b(?:Client|Server)\ error\ '(?P<httpx>[45]\d\d)[^'\n]{0,60}'
    | \b(?P<requests>[45]\d\d)\ (?:Client|Server)\ Error:\ [^\n]{0,60}?\ for\ url:?
    | "HTTP/[\d.]{1,3}\ (?P<log>[45]\d\d)[^"\n]{0,60}"
    """,
    re.VERBOSE,
)
_NODE = re.compile(r"(?P<node>[45]\d\d)(?: status code \(no body\)$|(?= )|$)", re.MULTILINE)
_NOISE = re.compile(
    r"\s*(?:\.{0,2} ?Received Model Group=|LiteLLM Retried:|Available Model Group).*|['\")]+$", re.DOTALL
)
_CLASSES = {
    "BadRequestError": 400, "AuthenticationError": 401, "PermissionDeniedError": 403, "NotFoundError": 404,
    "ConflictError": 409, "RequestTooLargeError": 413, "UnprocessableEntityError": 422, "RateLimitError": 429,
    "BadGatewayError": 502, "ServiceUnavailableError": 503, "DeadlineExceededError": 504, "OverloadedError": 529,
}  # fmt: skip
_TRANSPORT = tuple(
    (re.compile(pattern), kind, phase)
    for pattern, kind, phase in (
        (r"CERTIFICATE_VERIFY_FAILED|SSLCertVerification|self[- ]signed certificate|local issuer certificate|SSL certificate problem", "tls", "tls"),
        (r"ProxyError|Tunnel connection failed|CONNECT tunnel failed|ERR_(?:PROXY|TUNNEL)_\w+|Could not resolve proxy", "proxy", "connect"),
        (r"getaddrinfo|ENOTFOUND|EAI_AGAIN|Name or service not known|nodename nor servname|Temporary failure in name resolution|NameResolutionError|Could not resolve host|ERR_NAME_NOT_RESOLVED", "dns", "dns"),
        (r"ECONNREFUSED|Connection refused|All connection attempts failed|ERR_CONNECTION_REFUSED|Failed to connect to|Couldn't connect to server", "connect", "connect"),
        (r"ConnectTimeout|ETIMEDOUT|connect(?:ion)? timed out|Connection timeout|ERR_CONNECTION_TIMED_OUT|UND_ERR_CONNECT_TIMEOUT", "timeout", "connect"),
        (r"WriteTimeout", "timeout", "upload"),
        (r"incomplete (?:chunked read|message body)|without sending complete message body|ChunkedEncodingError|IncompleteRead|outstanding read data|Premature close|ERR_INCOMPLETE_CHUNKED_ENCODING|not closed cleanly|stream disconnected before completion|TypeError: terminated", "closed", "body"),
        (r"ECONNRESET|[Cc]onnection reset|ERR_CONNECTION_RESET", "reset", "headers"),
        (r"Server disconnected|RemoteDisconnected|socket hang up|Empty reply from server|ERR_EMPTY_RESPONSE|closed connection without", "closed", "headers"),
        (r"SSLError|SSL_ERROR|ERR_SSL|ERR_CERT|\bSSL: |TLS handshake|SSL connect error", "tls", "tls"),
        (r"ReadTimeout|Read timed out|Operation timed out after", "timeout", "headers"),
        (r"[Tt]imed? ?out|Timeout", "timeout", ""),
        (r"APIConnectionError|[Cc]onnection error|ConnectError|fetch failed|APIConnection", "unsaid", ""),
    )
)  # fmt: skip
_CURL = re.compile(r"^(?:\S{1,40} )?curl: \(\d{1,3}\) [^\n]{1,400}", re.MULTILINE)
_BROWSER = re.compile(r"net::ERR_[A-Z_]{3,60}")
_CHAIN = re.compile(
    r"direct cause of the following|During handling of the above|^\s*(?:\[?cause\]?:)", re.MULTILINE
)
_HEADERS_DUMPED = re.compile(r"\b(?:responseH|h)eaders['\"]?: (?:[A-Z]\w{1,20} )?\{")
_HEADER = re.compile(
    r"""(?:^|[{,\s])['"]?([A-Za-z][\w-]{1,60})['"]?: ?(?:'([^'\n]{0,2000})'|"([^"\n]{0,2000})")"""
)
_BODY_DUMPED = re.compile(
    r"""\bresponseBody['"]?: ('[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*")"""
)
_DUMP = 12_000
MOST_STARTS = 10_000
"""Of each kind, in one text."""

_LINE = 2_000
"""Characters of a line in which a status is looked for."""

_MOST_WRAPPERS = 8


class Told(NamedTuple):
    """One error as a client told it, from `start` to `end` of the text."""

    start: int
    end: int
    status: int | None
    body: Body
    headers: dict[str, list[str]]
    error: WireError | None
    log: bool = False
    """A line of a log, which says less than what the client raised next."""


def starts(text: str) -> Iterator[tuple[int, bool]]:
    """Where an error could begin, and whether that ends the text before it: `status: 403` may be part of a dump."""
    for match in islice(_NUMBER.finditer(text), MOST_STARTS):
        before = _BEFORE.search(text, max(0, match.start() - 30), match.start())
        if before is not None:
            yield before.start(), not before["word"]
        elif text.startswith((" Client Error:", " Server Error:"), match.end()):
            yield match.start(), True
    for match in islice(_LAST_OF_CLASS.finditer(text), MOST_STARTS):
        head = text[max(0, match.start() - 200) : match.start()]
        name = head[len(head.rstrip(_NAME)) :].lstrip("0123456789.")
        if name or text.startswith(
            (":", " - ", "("), match.end()
        ):  # `Error` in a line of its own is a page's word
            yield match.start() - len(name), True
    for pattern in (_CURL, _BROWSER):
        for match in islice(pattern.finditer(text), MOST_STARTS):
            yield match.start(), True


def told_at(text: str, start: int, next_after: Callable[[int], int]) -> Told | None:
    """The error that begins at `start`; None where it is of another kind, such as a ValueError.

    `next_after`: where the first of `starts` after a place is.
    """
    at, names = start, []
    for _ in range(_MOST_WRAPPERS):
        if (wrapped := _WRAPPED.match(text, at)) is None:
            break
        names.append(wrapped[0])
        at = wrapped.end()
    line_end = line_end_at(text, at)
    status = _NUMBER.search(text, at, line_end) and _STATUS.search(text, at, line_end)
    status = status or (_NODE.match(text, at, line_end) if names else None)
    if status is None and not names and (bare := _RAISED.match(text, start)):
        names.append(bare[0])
    limit = next_after(line_end)
    if status is not None:
        return _answered(text, start, limit, status)
    return _unanswered(text, start, at, limit, names)


def chained(between: str) -> bool:
    """The second of two exceptions was raised because of the first."""
    return _CHAIN.search(between) is not None


def _answered(text: str, start: int, limit: int, match: re.Match[str]) -> Told:
    code = int(next(group for group in match.groups() if group))
    ends_here = match.lastgroup in {"requests", "httpx", "log"}
    body = Body("", match.end(), "") if ends_here else body_at(text, match.end(), limit, lines=False)
    if body.form == "text":
        body = body._replace(text=_NOISE.sub("", body.text).strip(" :,-"))
        body = body._replace(form="text" if body.text else "")
    headers, end = _dumped(text, body.end, limit)
    if not body.form and (quoted := _BODY_DUMPED.search(text, body.end, min(limit, body.end + _DUMP))):
        body = body_at(unquoted(quoted[1]), 0, len(quoted[1]))._replace(end=quoted.end())
    return Told(start, max(end, body.end), code, body, headers, None, log=ends_here)


def _unanswered(text: str, start: int, at: int, limit: int, names: list[str]) -> Told | None:
    """No status is told: the body may have come alone, or there was no answer."""
    line_end = line_end_at(text, at)
    first = f"{''.join(names)}{text[at:line_end][:400]}"
    classes = [name.rstrip("(\"' :-").rpartition(".")[2] for name in names]
    status = next((_CLASSES[name] for name in classes if name in _CLASSES), None)
    body = body_at(text, at, limit, lines=False) if names else Body("", line_end, "")
    if body.form in {"json", "html", "markdown"} or status is not None:
        if body.form == "text":
            body = body._replace(text=_NOISE.sub("", body.text).strip(" :,-"))
        headers, end = _dumped(text, body.end, limit)
        return Told(start, max(end, body.end), status, body, headers, None)
    error = wire_error(first) if names or _CURL.match(text, start) or _BROWSER.match(text, start) else None
    return Told(start, line_end, None, Body("", line_end, ""), {}, error) if error else None


def wire_error(said: str) -> WireError | None:
    found = ((kind, phase) for pattern, kind, phase in _TRANSPORT if pattern.search(said))
    kind, phase = next(found, ("", ""))
    return WireError(kind, phase, said[:200]) if kind else None


def _dumped(text: str, start: int, limit: int) -> tuple[dict[str, list[str]], int]:
    """The headers that Node prints below an error."""
    limit = min(limit, start + _DUMP)
    opened = _HEADERS_DUMPED.search(text, start, limit)
    if opened is None:
        return {}, start
    close = text.find("}", opened.end(), limit)
    end = close if close >= 0 else limit
    found: dict[str, list[str]] = {}
    for name, single, double in _HEADER.findall(text[opened.end() - 1 : end]):
        found.setdefault(name.lower(), []).append(single or double)
    return found, end


def line_end_at(text: str, at: int) -> int:
    """Where the line ends, or what is looked at of it."""
    end = text.find("\n", at, at + _LINE)
    return min(len(text), at + _LINE) if end < 0 else end
