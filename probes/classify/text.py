"""What did people really paste, without what their terminal, mail program or log added?"""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,10}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[@-Z\\-_])"
)
_COMPOSE = re.compile(r"^[\w.-]{1,60} +\| ?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t>]{0,12}(?:```|~~~)[^\n]{0,80}$", re.MULTILINE)
_QUOTED_ANSWER = re.compile(r"^> ?(?:> ?)*(?:< )?HTTP/\d", re.MULTILINE)
_CURL_REQUEST = re.compile(r"^> [A-Z]{3,10} \S{1,4000} HTTP/\d", re.MULTILINE)
_QUOTE = re.compile(r"^> ?", re.MULTILINE)
_MAX_QUOTES = 6


def plain(data: bytes) -> str:
    """The text with plain line ends, without colours, mail quotes, Markdown fences and the names of containers."""
    text = _decoded(data).replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    text = _FENCE.sub("", _COMPOSE.sub("", _ESCAPES.sub("", text)))
    for _ in range(_MAX_QUOTES):
        if not _is_quoted(text):
            break
        text = _QUOTE.sub("", text)
    return text


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
    lines = [line for line in text.split("\n", 2000)[:2000] if line.strip()]
    return len(lines) > 1 and sum(line.startswith(">") for line in lines) > len(lines) / 2
