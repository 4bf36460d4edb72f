"""What did a client tell its user when it met an error?

The texts of the OpenAI and Anthropic SDKs (Python and Node), of the libraries that wrap them, and of curl and the HTTP
libraries below. Newer OpenAI SDKs print a status and the message of the body's JSON, and nothing of any other body.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from probes import statuses
from probes.classify import forms
from probes.classify.bodies import Body, body_at, unquoted
from probes.classify.forms import MOST_STARTS
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
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."
_WRAPPED = re.compile(
    rf"(?P<name>{_CLASS}|stream disconnected before completion)(?:: | - |\()[\"']?"
    r"|An error occurred \((?P<aws>\w{1,80})\) when calling the \w{1,80} operation(?: \([^)\n]{1,80}\))?: "
)
_PHRASE = re.compile(r" ?(?P<words>[A-Z][a-z]{1,20}(?:[ -][A-Z]?[a-z]{1,20}){0,4})(?=:|\Z)")
_QUOTES = re.compile(r"""\Ab?(["'`])(.*)\1\Z""", re.DOTALL)
_NOISE = re.compile(
    r"\s*(?:\.{0,2} ?Received Model Group=|LiteLLM Retried:|Available Model Group).*|['\")]+$", re.DOTALL
)
_ADDED = re.compile(r",? (?:when|while|during|for|from|at|on|in)\b|,? [(\[]")
_MOST_ADDED = 8
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
_ASKED = re.compile(
    r"https?://[^\s\"'<>()]{4,300}?/(?:chat/completions|completions|responses|messages|embeddings)\b"
)
_DUMP = 12_000
_LINE = 2_000
_MESSAGE = 500
"""Characters of a message that are looked at."""

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

    prose: bool = False
    """A person speaks of a status, which is no answer."""

    url: str = ""
    """That was asked, where its line tells it."""


def starts(text: str) -> Iterator[tuple[int, bool]]:
    """Where an error could begin, and whether that ends the text before it: `status: 403` may be part of a dump."""
    yield from forms.starts(text)
    for match in islice(_LAST_OF_CLASS.finditer(text), MOST_STARTS):
        head = text[max(0, match.start() - 200) : match.start()]
        name = head[len(head.rstrip(_NAME)) :].lstrip("0123456789.")
        if head[: len(head) - len(name)].endswith("raise "):
            continue  # the line of a program in a traceback
        if name or text.startswith(
            (":", " - ", "("), match.end()
        ):  # `Error` in a line of its own is a page's word
            yield match.start() - len(name), True
    for match in islice(said(text), MOST_STARTS):
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
        names.append(wrapped["aws"] or wrapped["name"])
        at = wrapped.end()
    url = _url(text, start)
    status = forms.status_at(text, at, named=bool(names)) or (None if names else _leading(text, at, known))
    if status is not None:
        found = _answered(text, start, next_after(status.end), status)
        return found._replace(url=url, body=_alone(found.body, found.status, known))
    if not names and (bare := _RAISED.match(text, start)):
        names.append(bare[0])
    told = _unanswered(text, start, at, next_after(line_end_at(text, at)), names, known)
    return told and told._replace(url=url)


def _url(text: str, at: int) -> str:
    begin = text.rfind("\n", max(0, at - 400), at) + 1 or max(0, at - 400)
    asked = _ASKED.search(text, begin, line_end_at(text, at))
    return asked[0] if asked else ""


def in_prose(text: str) -> Told | None:
    """Where nothing else tells an error."""
    if (spoken := forms.in_prose(text)) is None:
        return None
    start, end, status = spoken
    return Told(start, end, status, Body("", end, ""), {}, None, prose=True)


def chained(between: str) -> bool:
    """The second of two exceptions was raised because of the first."""
    return _CHAIN.search(between) is not None


def _leading(text: str, at: int, known: Callable[[int | None, str], bool]) -> forms.Status | None:
    """A status that begins a line, as Node's SDKs print it, is one where what follows is known."""
    line_end = line_end_at(text, at)
    at += len(text[at:line_end]) - len(text[at:line_end].lstrip())
    status = forms.first_at(text, at)
    if status is None:
        return None
    message = _alone(Body(text[status.end : line_end].strip(), line_end, "text"), status.code, known).text
    return status if message and known(status.code, message) else None


def _answered(text: str, start: int, limit: int, status: forms.Status) -> Told:
    end = status.end
    if status.body is not None:
        return Told(start, end, status.code, _cleaned(Body(status.body, end, "text")), {}, None)
    phrase = _PHRASE.match(text, end, limit)
    named = phrase is not None and statuses.of_phrase(phrase["words"]) is not None
    if phrase and named and text.startswith(":", phrase.end()):
        end = phrase.end() + 1
    body = Body("", end, "") if status.form.alone else body_at(text, end, limit, lines=False)
    if body.form == "text" and "\n" in text[end : body.start] and not text[status.end : end].strip():
        body = Body("", end, "")  # of another line, which nothing says to be the body
    if body.form == "text":
        body = _cleaned(body)
    headers, end = _dumped(text, body.end, limit)
    if not body.form and (quoted := _BODY_DUMPED.search(text, body.end, min(limit, body.end + _DUMP))):
        body = body_at(unquoted(quoted[1]), 0, len(quoted[1]))._replace(end=quoted.end())
    bare = status.form.soft and not body.form and not headers
    return Told(start, max(end, body.end), status.code, body, headers, None, log=status.form.alone, bare=bare)


def _cleaned(body: Body) -> Body:
    """Without what wrappers add behind it, and quotes around it."""
    said = _NOISE.sub("", _QUOTES.sub(r"\2", body.text.lstrip(" :,-"))).strip(' :,-"')
    return body._replace(text=said, form="text" if said else "")


def _alone(body: Body, status: int | None, known: Callable[[int | None, str], bool]) -> Body:
    """A message without what a program says behind it, such as which URL it called, where it is somebody's only so."""
    said = body.text[:_MESSAGE]
    if body.form != "text" or known(status, body.text):
        return body
    cuts = (said[: added.start()] for added in islice(_ADDED.finditer(said), _MOST_ADDED))
    return body._replace(text=next((cut for cut in cuts if known(status, cut)), body.text))


def _unanswered(
    text: str, start: int, at: int, limit: int, names: list[str], known: Callable[[int | None, str], bool]
) -> Told | None:
    """No status is told: the body may have come alone, or there was no answer."""
    line_end = line_end_at(text, at)
    first = f"{': '.join((*names, ''))}{text[at:line_end][:400]}"
    status = next((code for name in names if (code := statuses.of_class(name))), None)
    body = body_at(text, at, limit, lines=False) if names else Body("", line_end, "")
    if body.form in {"json", "html", "markdown"} or status is not None:
        body = _alone(_cleaned(body), status, known) if body.form == "text" else body
        headers, end = _dumped(text, body.end, limit)
        return Told(start, max(end, body.end), status, body, headers, None)
    message = _alone(_cleaned(body._replace(text=body.text[:_MESSAGE])), None, known)
    if message.form and known(None, message.text):
        return Told(start, body.end, None, message, {}, None)
    if (
        names
        and (phrase := _PHRASE.fullmatch(body.text[:_LINE]))
        and (code := statuses.of_phrase(phrase["words"]))
    ):
        return Told(start, body.end, code, Body("", body.end, ""), {}, None)
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
