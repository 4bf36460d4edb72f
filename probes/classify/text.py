"""What did people really paste, without what their terminal, mail program or log added?"""

from __future__ import annotations

import re
from itertools import islice

from probes.classify.bodies import unquoted

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,10}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[@-Z\\-_])"
)
_COMPOSE = re.compile(r"^[\w.-]{1,60} +\| ?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t>]{0,12}(?:```|~~~)[^\n<{]{0,80}$", re.MULTILINE)
_QUOTED_ANSWER = re.compile(r"^> ?(?:> ?)*(?:< )?HTTP/\d", re.MULTILINE)
_CURL_REQUEST = re.compile(r"^> [A-Z]{3,10} \S{1,4000} HTTP/\d", re.MULTILINE)
_BYTES = re.compile(r"""^b(?:'(?:[^'\\\n]|\\.){1,100000}'|"(?:[^"\\\n]|\\.){1,100000}")$""", re.MULTILINE)
_QUOTE = re.compile(r"^> ?", re.MULTILINE)
_MAX_QUOTES = 6
# What logs put before each line (time, stream, host and process), and the sides of a box that a terminal drew.
_BEFORE_LINES = (
    re.compile(
        r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?: std(?:out|err) [FP])?(?: |$)"
        r"|^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} \S{1,60}\[\d{1,8}\]:(?: |$)",
        re.MULTILINE,
    ),
    re.compile(r"^[ \t]{0,8}[│┃] ?|[ \t]{1,1000}[│┃]$", re.MULTILINE),
)
_SAMPLE = 2_000
"""Lines by which it is told what stands before each."""

_STRING = re.compile(r"""(?<!\\)(?:"(?:[^"\\\n]|\\.){20,200000}"|'(?:[^'\\\n]|\\.){20,200000}')""")
_HOLDS_ANSWER = re.compile(r'<(?:!doctype html|html)\b|\{\\"|\\"error\\"', re.IGNORECASE)
_ESCAPE_IN_STRING = re.compile(rb'\\[nr"]')
_MOST_STRINGS = 50


def plain(data: bytes) -> str:
    """The text with plain line ends, with what Python prints of bytes as what they were, without colours, mail quotes, Markdown fences and the names of containers."""
    text = _decoded(data).replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    text = _FENCE.sub("", _COMPOSE.sub("", _ESCAPES.sub("", text)))
    for before in _BEFORE_LINES:
        if _is_before_most(text, before):
            text = before.sub("", text)
    for _ in range(_MAX_QUOTES):
        if not _is_quoted(text):
            break
        text = _QUOTE.sub("", text)
    return _BYTES.sub(lambda match: unquoted(match[0][1:]), text)


def inside_strings(data: bytes) -> str | None:
    """The pages and JSON that stand escaped in strings of a log or a report; None where there are none."""
    if not _ESCAPE_IN_STRING.search(data):
        return None
    strings = (match[0] for match in _STRING.finditer(plain(data)))
    found = list(islice((unquoted(one) for one in strings if _HOLDS_ANSWER.search(one)), _MOST_STRINGS))
    return "\n\n".join(found) or None


def _is_before_most(text: str, before: re.Pattern[str]) -> bool:
    lines = [line for line in text.split("\n", _SAMPLE)[:_SAMPLE] if line.strip()]
    return len(lines) > 1 and sum(before.match(line) is not None for line in lines) > len(lines) / 2


def _decoded(data: bytes) -> str:
    for mark, name in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(name, "replace")
    return data.decode("utf-8-sig", "replace")


def _is_quoted(text: str) -> bool:
    """By a mail program: in the output of curl, too, `> ` begins lines, those of the request."""
    if _CURL_REQUEST.search(text):
        return False
    if _QUOTED_ANSWER.search(text):
        return True
    return _is_before_most(text, _QUOTE)
