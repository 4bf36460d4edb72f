"""What did a client tell its user when it met an error?

The texts of the OpenAI and Anthropic SDKs (Python and Node), of the libraries that wrap them, and of curl and the HTTP
libraries below. Newer OpenAI SDKs print a status and the message of the body's JSON, and nothing of any other body.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from probes.classify.bodies import Body, body_at, unquoted
from probes.classify.phrases import is_said, said, wire_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from probes.model import WireError

_CLASS = r"(?:[A-Za-z_]\w{0,60}\.){0,6}(?:(?:[A-Z]\w{0,60})?(?:Error|Exception|Timeout)|[A-Z]\w{0,60}Disconnected|IncompleteRead)"
_RAISED = re.compile(rf"{_CLASS}(?=: | - |\(|$)", re.MULTILINE)
# What every error has, found fast; what stands before it tells where the error begins.
_LAST_OF_CLASS = re.compile(
    r"(?:Error|Exception|Timeout|Disconnected|IncompleteRead)(?=: | - |\(|$)", re.MULTILINE
)
_NUMBER = re.compile(r"[45]\d\d(?<![A-Za-z0-9_.]\d\d\d)(?!\d)")
_BEFORE = re.compile(
    r"""(?:(?P<word>[Ss]tatus(?:[_ ]?[Cc]ode)?['"]?(?::\ ?|=|\ ))|Error\ code:\ |HTTP\ code\ |API\ Error:?\ \(?|\[
    |HTTP(?:\ [Ee]rror|\ status)?(?:\ code)?:?\ |(?:Client|Server)\ error\ '|"HTTP/[\d.]{1,3}\ |\bError\ |(?P<line>^[ \t]{0,12}))\Z""",
    re.VERBOSE | re.MULTILINE,
)
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."
_WRAPPED = re.compile(rf"(?:{_CLASS}|stream disconnected before completion)(?:: | - |\()[\"']?")
_STATUS = re.compile(
    r"""Error\ code:\ (?P<sdk>[45]\d\d)\b(?:\ -\ )?
    | \bHTTP\ code\ (?P<old>[45]\d\d)\ from\ API(?:\ \()?
    | \bAPI\ Error:?\ \(?(?P<code>[45]\d\d)\b(?:\ status\ code\ \(no\ body\))?
    | \bAPI\ Error:?\ \((?=[\w.-]{4,120}\ \|\ (?P<title>[45]\d\d):\ )
    | \bError\ (?P<plain>[45]\d\d):\ (?=[{<\["'])
    | (?P<named>[45]\d\d)\ (?:[A-Z][a-z]{1,20}[ -]?){1,4}:\ (?=[{<\["'])
    | \b(?P<dash>[45]\d\d)\ -\ (?=(?:[A-Z][a-z]{1,20}\ ?){1,4}$)
    | \b[Ss]tatus(?:[_ ]?[Cc]ode)?['"]?(?::\ ?|=|\ )(?P<word>[45]\d\d)\b(?:\ and\ |\ -\ |,\ )?
    | \bHTTP(?:\ [Ee]rror|\ status)?(?:\ code)?:?\ (?P<http>[45]\d\d)\b(?::|,|\ -)?
    | \[(?P<bracket>[45]\d\d)\]\ [A-Z][A-Za-z]{2,20}(?:\ [A-Z][A-Za-z]{1,20}){0,3}
    | \b(?:Client|Server)\ error\ '(?P<httpx>[45]\d\d)[^'\n]{0,60}'
    | \b(?P<requests>[45]\d\d)\ (?:Client|Server)\ Error:\ [^\n]{0,60}?\ for\ url:?
    | \b(?P<aiohttp>[45]\d\d),\ message='[^'\n]{0,200}'
    | "HTTP/[\d.]{1,3}\ (?P<log>[45]\d\d)[^"\n]{0,60}"
    """,
    re.VERBOSE | re.MULTILINE,
)
_AFTER = re.compile(r", message='| (?:Client|Server) Error:| (?:[A-Z][a-z]{1,20}[ -]?){1,4}: [{<\[\"']")
_NODE = re.compile(r"(?P<node>[45]\d\d)(?: status code \(no body\)$|(?= )|$)", re.MULTILINE)
# Where the status stands behind what was said, as in the OpenAI SDK 0.x.
_BEHIND = re.compile(
    r"""Invalid response object from API: '(?P<old>[^\n]{0,1500})' \(HTTP response code was (?P<status>[45]\d\d)\)"""
    r"""|(?P<edge>error code: \d{3,4}) \(code: (?P<code>[45]\d\d)\)"""
)
_INVALID = re.compile(r"Invalid response object from API: '")
_TITLED = re.compile(r"API Error:? \((?=[\w.-]{4,120} \| [45]\d\d: )")
_PHRASE = re.compile(r" ?(?P<words>[A-Z][a-z]{1,20}(?:[ -][A-Z]?[a-z]{1,20}){0,4})(?=:|\Z)")
_STATUS_OF_PHRASE = {status.phrase.lower(): int(status) for status in HTTPStatus if status >= 400} | {
    "gateway time-out": 504, "request time-out": 408, "payload too large": 413, "request entity too large": 413,
    "service temporarily unavailable": 503,
}  # fmt: skip
_QUOTES = re.compile(r"""\A(["'`])(.*)\1\Z""", re.DOTALL)
_NOISE = re.compile(
    r"\s*(?:\.{0,2} ?Received Model Group=|LiteLLM Retried:|Available Model Group).*|['\")]+$", re.DOTALL
)
_CLASSES = {
    "BadRequestError": 400, "AuthenticationError": 401, "PermissionDeniedError": 403, "NotFoundError": 404,
    "ConflictError": 409, "RequestTooLargeError": 413, "UnprocessableEntityError": 422, "RateLimitError": 429,
    "BadGatewayError": 502, "ServiceUnavailableError": 503, "DeadlineExceededError": 504, "OverloadedError": 529,
}  # fmt: skip
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

    bare: bool = False
    """A status in a line of its own (`Status Code: 404`), which says less than what stands below it."""


def starts(text: str) -> Iterator[tuple[int, bool]]:
    """Where an error could begin, and whether that ends the text before it: `status: 403` may be part of a dump."""
    for match in islice(_NUMBER.finditer(text), MOST_STARTS):
        before = _BEFORE.search(text, max(0, match.start() - 30), match.start())
        if before is not None:
            yield before.start(), not (before["word"] or before["line"] is not None)
        elif _AFTER.match(text, match.end()):
            yield match.start(), True
    for match in islice(_LAST_OF_CLASS.finditer(text), MOST_STARTS):
        head = text[max(0, match.start() - 200) : match.start()]
        name = head[len(head.rstrip(_NAME)) :].lstrip("0123456789.")
        if head[: len(head) - len(name)].endswith("raise "):
            continue  # the line of a program in a traceback
        if name or text.startswith(
            (":", " - ", "("), match.end()
        ):  # `Error` in a line of its own is a page's word
            yield match.start() - len(name), True
    for matches in (said(text), _INVALID.finditer(text), _TITLED.finditer(text)):
        for match in islice(matches, MOST_STARTS):
            yield match.start(), True


def told_at(
    text: str, start: int, next_after: Callable[[int], int], known: Callable[[int | None, str], bool]
) -> Told | None:
    """The error that begins at `start`; None where it is of another kind, such as a ValueError.

    `next_after`: where the first of `starts` after a place is. `known`: whether a message under a status is somebody's.
    """
    at, names = start, []
    for _ in range(_MOST_WRAPPERS):
        if (wrapped := _WRAPPED.match(text, at)) is None:
            break
        names.append(wrapped[0])
        at = wrapped.end()
    line_end = line_end_at(text, at)
    numbered = _NUMBER.search(text, at, line_end)
    if numbered and (behind := _BEHIND.search(text, at, line_end)):
        return _behind(start, behind)
    status = numbered and _STATUS.search(text, at, line_end)
    status = status or (_NODE.match(text, at, line_end) if names else _leading(text, at, line_end, known))
    if status is None and not names and (bare := _RAISED.match(text, start)):
        names.append(bare[0])
    limit = next_after(line_end)
    if status is not None:
        return _answered(text, start, limit, status)
    return _unanswered(text, start, at, limit, names, known)


def chained(between: str) -> bool:
    """The second of two exceptions was raised because of the first."""
    return _CHAIN.search(between) is not None


def _leading(
    text: str, at: int, line_end: int, known: Callable[[int | None, str], bool]
) -> re.Match[str] | None:
    """A status that begins a line, as Node's SDKs print it, is one where what follows is known."""
    at += len(text[at:line_end]) - len(text[at:line_end].lstrip())
    match = _NODE.match(text, at, line_end)
    said = text[match.end() : line_end].strip() if match else ""
    return match if match and said and known(int(match["node"]), said) else None


def _behind(start: int, match: re.Match[str]) -> Told:
    said = match["old"] if match["edge"] is None else match["edge"]
    body = body_at(said, 0, len(said), lines=False)._replace(end=match.end(), start=-1)
    return Told(start, match.end(), int(match["status"] or match["code"]), body, {}, None)


def _answered(text: str, start: int, limit: int, match: re.Match[str]) -> Told:
    code = int(next(group for group in match.groups() if group))
    ends_here = match.lastgroup in {"requests", "httpx", "aiohttp", "log"}
    phrase = _PHRASE.match(text, match.end(), limit)
    end = (
        phrase.end() + 1
        if phrase and _is_phrase(phrase) and text.startswith(":", phrase.end())
        else match.end()
    )
    body = Body("", end, "") if ends_here else body_at(text, end, limit, lines=False)
    if body.form == "text" and "\n" in text[end : body.start] and not text[match.end() : end].strip():
        body = Body("", end, "")  # of another line, which nothing says to be the body
    if body.form == "text":
        body = _cleaned(body)
    headers, end = _dumped(text, body.end, limit)
    if not body.form and (quoted := _BODY_DUMPED.search(text, body.end, min(limit, body.end + _DUMP))):
        body = body_at(unquoted(quoted[1]), 0, len(quoted[1]))._replace(end=quoted.end())
    bare = match.lastgroup == "word" and not body.form and not headers
    return Told(start, max(end, body.end), code, body, headers, None, log=ends_here, bare=bare)


def _cleaned(body: Body) -> Body:
    """Without what wrappers add behind it, and quotes around it."""
    said = _NOISE.sub("", _QUOTES.sub(r"\2", body.text.lstrip(" :,-"))).strip(' :,-"')
    return body._replace(text=said, form="text" if said else "")


def _is_phrase(match: re.Match[str]) -> bool:
    return match["words"].lower() in _STATUS_OF_PHRASE


def _unanswered(
    text: str, start: int, at: int, limit: int, names: list[str], known: Callable[[int | None, str], bool]
) -> Told | None:
    """No status is told: the body may have come alone, or there was no answer."""
    line_end = line_end_at(text, at)
    first = f"{''.join(names)}{text[at:line_end][:400]}"
    classes = [name.rstrip("(\"' :-").rpartition(".")[2] for name in names]
    status = next((_CLASSES[name] for name in classes if name in _CLASSES), None)
    body = body_at(text, at, limit, lines=False) if names else Body("", line_end, "")
    if body.form in {"json", "html", "markdown"} or status is not None:
        body = _cleaned(body) if body.form == "text" else body
        headers, end = _dumped(text, body.end, limit)
        return Told(start, max(end, body.end), status, body, headers, None)
    if (message := _cleaned(body)).form and known(None, message.text):
        return Told(start, body.end, None, message, {}, None)
    if names and (phrase := _PHRASE.fullmatch(body.text)) and _is_phrase(phrase):
        status = _STATUS_OF_PHRASE[phrase["words"].lower()]
        return Told(start, body.end, status, Body("", body.end, ""), {}, None)
    error = wire_error(first) if names or is_said(text, start) else None
    return Told(start, line_end, None, Body("", line_end, ""), {}, error) if error else None


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
