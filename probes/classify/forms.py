"""In which forms do clients tell the status that they were answered with?

Each is looked for where an error begins, never somewhere behind it: a body has statuses, too.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_STARTS = 10_000
"""Of each kind, in one text."""

_NUMBER = re.compile(r"(?<!\d)[45]\d\d(?<![A-Za-z0-9_.]\d\d\d)(?!\d)")
_STATUS = r"(?P<status>[45]\d\d)(?!\d)"
_BACK = 60
"""Characters of a line before a status in which a form may begin."""

_PHRASE = r"(?:[A-Z][a-z]{1,20}[ -]?){1,4}"
_HTTP = r"(?:HTTP|http)(?: [Ee]rror| status)?(?: code)?"
_THEN = r"(?:(?:,| and| -)(?: body| server response)?[:=]? )"
_LINE, _SAYS = r"(?:^[ \t]{0,12}|\b)", r"(?:^[ \t]{0,12}|(?<=: ))"
_BODY = r"""(?=b?["']|[{<\[])"""


class Form(NamedTuple):
    """`before` and `after` the status. `alone`: no body follows. `soft`: it may be part of what another error prints."""

    before: str
    after: str = ""
    alone: bool = False
    soft: bool = False


FORMS = (
    # the SDKs for Python; the OpenAI SDK 0.x; coding agents; editors
    Form(r"\bError code: ", r"(?: - )?"),
    Form(r"\bHTTP code ", r" from API(?: \()?"),
    Form(r"\bAPI Error:? \(?", r"(?: status code \(no body\))?"),
    Form(r"\[", rf"\] {_PHRASE}"),
    # a key and its value
    Form(r"""\b[Ss]tatus(?:[_ ]?[Cc]ode)?['"]?(?:: ?|=)""", rf"{_THEN}?", soft=True),
    Form(rf"\b{_HTTP}(?:: ?|=)", rf"(?::|{_THEN})?"),
    # words, where they are a program's: what it met follows, or they are all that stands in its line
    Form(rf"{_LINE}[Ss]tatus(?: code)? ", rf"(?::|{_THEN}{_BODY})"),
    Form(rf"(?:{_SAYS}|(?<=ailed with )|(?<=eceived ))[Ss]tatus(?: code)? ", r"(?=[. \t]*$)"),
    Form(rf"{_LINE}{_HTTP} ", rf"(?::|,(?= {_BODY})| -(?= )|(?= {_PHRASE}(?::|$)))"),
    Form(rf"{_SAYS}{_HTTP} ", r"(?=[. \t]*$)"),
    Form(r"\bError ", rf": {_BODY}"),
    # HTTP libraries: httpx, reqwest, Guzzle, requests, aiohttp; their logs; the console of a browser; the SDK for Go
    Form(r"\b(?:Client|Server) error '", r"[^'\n]{0,60}'", alone=True),
    Form(r"\bHTTP status (?:client|server) error \(", r"[^)\n]{0,60}\) for url", alone=True),
    Form(r"\bresulted in a `", r"[^`\n]{0,60}` response:?"),
    Form(r'"HTTP/[\d.]{1,3} ', r'[^"\n]{0,60}"', alone=True),
    Form(r"\bnet::ERR_[A-Z_]{3,50} ", r"(?: \([^)\n]{0,60}\))?", alone=True),
    Form(r'\w": ', rf"(?: {_PHRASE}{_BODY}|(?= {_PHRASE}$))"),
    Form("", r" (?:Client|Server) Error: [^\n]{0,60}? for url:?", alone=True),
    Form("", r", message='[^'\n]{0,200}'", alone=True),
    Form("", r" \((?:[A-Z][A-Za-z-]{1,20} ?){1,4}\)$", alone=True),
    Form("", rf" {_PHRASE}: {_BODY}"),
    Form("", rf" - (?={_PHRASE}$)"),
)
_EACH = tuple((re.compile(f"{form.before}{_STATUS}{form.after}", re.MULTILINE), form) for form in FORMS)
_BEFORE = re.compile(
    "(?:" + "|".join(dict.fromkeys(f"(?:{form.before})" for form in FORMS if form.before)) + r")\Z",
    re.MULTILINE,
)
_AFTER = re.compile("|".join(f"(?:{form.after})" for form in FORMS if not form.before), re.MULTILINE)
_BEGINS_LINE = re.compile(r"^[ \t]{0,12}\Z", re.MULTILINE)

# Where what was said stands around the status.
_AROUND = tuple(
    re.compile(form)
    for form in (
        # the OpenAI SDK 0.x; a wrapper of it; coding agents, of a page's title
        rf"Invalid response object from API: '(?P<body>[^\n]{{0,1500}})' \(HTTP response code was {_STATUS}\)",
        rf"(?P<body>error code: \d{{3,4}}) \(code: {_STATUS}\)",
        rf"API Error:? \((?P<body>[\w.-]{{4,120}} \| {_STATUS}: [^)\n]{{1,200}})",
    )
)
# The SDKs for Node (`403 …`) and Java (`403: …`), behind the name of the error.
_FIRST = re.compile(rf"{_STATUS}(?: status code \(no body\)$|:(?= )|(?= )|$)", re.MULTILINE)
_PROSE = re.compile(
    r"\b(?:[Ss]tatus(?: code)?|HTTP(?: status| code)?|[Ee]rror(?: code)?) (?P<status>[45]\d\d)\b(?![.,:]\d)"
)


class Status(NamedTuple):
    """As a client told it: what it was answered begins at `end`, or is `body` where that stood before."""

    code: int
    end: int
    form: Form
    body: str | None = None


def starts(text: str) -> Iterator[tuple[int, bool]]:
    """Where a form may begin, and whether it ends what stands before it."""
    for number in islice(_NUMBER.finditer(text), MOST_STARTS):
        at = number.start()
        line = text.rfind("\n", max(0, at - _BACK), at) + 1 or max(0, at - _BACK)
        before = _BEFORE.search(text, line, at)
        if before is not None and status_at(text, before.start(), named=False) is not None:
            yield before.start(), not before[0].lstrip().lower().startswith("status")
        elif _BEGINS_LINE.search(text, line, at):
            yield line, False
        if _AFTER.match(text, number.end()):
            yield at, True
    for form in _AROUND:
        for match in islice(form.finditer(text), MOST_STARTS):
            yield match.start(), True


def status_at(text: str, at: int, *, named: bool) -> Status | None:
    """The status that is told at this place. `named`: the name of an error stands before it."""
    for around in _AROUND:
        if (match := around.match(text, at)) is not None:
            return Status(int(match["status"]), match.end(), FORMS[0], match["body"])
    for pattern, form in _EACH:
        if (match := pattern.match(text, at)) is not None:
            return Status(int(match["status"]), match.end(), form)
    return first_at(text, at) if named else None


def first_at(text: str, at: int) -> Status | None:
    """A status without a word before it."""
    match = _FIRST.match(text, at)
    return Status(int(match["status"]), match.end(), FORMS[0]) if match else None


def in_prose(text: str) -> tuple[int, int, int] | None:
    """The first status that a person speaks of: from, to, which."""
    match = _PROSE.search(text)
    return (match.start(), match.end(), int(match["status"])) if match else None
