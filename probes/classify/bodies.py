"""Where does a body end that begins here, and what does it hold?"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

LIMIT = 1024 * 1024
"""Characters of a body that are looked at."""

_MOST_OF_PYTHON = 64 * 1024
_DEEPEST = 200
_HTML = re.compile(r"<(?:!doctype\s+html|\?xml\b|html\b|!--|head\b|title\b|center\b|body\b)", re.IGNORECASE)
_STACK = re.compile(r"\n[ \t]+at [^\n]{1,300}:\d+:\d+\)?(?= |\n|\Z)")
_HTML_END = re.compile(r"</html\s*>(?:\s*<!--[^>]{0,200}-->)*\s*", re.IGNORECASE)
_FRONTMATTER = re.compile(r"---\n(?:[a-z_]{1,40}: [^\n]{0,400}\n){1,30}---\n")
_LAST = re.compile(
    r"\n[ \t]*\n|\n[ \t]+at |\n[ \t]*(?:Traceback|During handling|The above exception)|\n  File "
)
_TOKEN = re.compile(
    r"'[^'\\]*(?:\\.[^'\\]*)*(?:'|\Z)|\"[^\"\\]*(?:\\.[^\"\\]*)*(?:\"|\Z)|[{}\[\]]|\b(?:True|False|None)\b",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|[\"\x00-\x1f]", re.DOTALL)
_BRACKETS = frozenset("{}[]")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_decode = json.JSONDecoder(strict=False).raw_decode


class Body(NamedTuple):
    """`text` as the server sent it, as far as it is known; `end` is where it ends in what was pasted."""

    text: str
    end: int
    form: str
    """`json · html · markdown · text`, or empty."""

    start: int = -1
    """Of a text."""


def body_at(text: str, start: int, limit: int, *, lines: bool = True) -> Body:
    """The body that begins at `start`. A text ends before `limit`, and with `lines` at an empty line, else at its first;
    JSON and HTML end where they end.
    """
    start += _blanks(text, start, min(len(text), start + LIMIT))
    found = document_at(text, start, limit)
    return found if found.form else _text(text, min(start, limit), min(limit, start + LIMIT), lines=lines)


def document_at(text: str, start: int, limit: int) -> Body:
    """The JSON, HTML or Markdown with front matter that begins at `start`; where there is none, `end` is how far it was looked for."""
    if text.startswith(("{", "["), start):
        return _json(text, start)
    if _HTML.match(text, start):
        return _html(text, start, limit)
    if (front := _FRONTMATTER.match(text, start)) is not None:
        end = max(front.end(), min(limit, start + LIMIT))
        return Body(text[start:end], end, "markdown")
    return Body("", start, "")


def _blanks(text: str, start: int, limit: int) -> int:
    piece = text[start : min(limit, start + 400)]
    return len(piece) - len(piece.lstrip())


def _json(text: str, start: int) -> Body:
    """A document, or what Python prints of one."""
    try:
        _, end = _decode(text, start)
    except (ValueError, RecursionError):
        return _python(text, start)
    return Body(text[start:end], end, "json")


def _python(text: str, start: int) -> Body:
    parts: list[str] = []
    depth, at = 0, start
    for match in _TOKEN.finditer(text, start, start + _MOST_OF_PYTHON):
        mark = match[0]
        parts.append(text[at : match.start()])
        at = match.end()
        depth += (mark in {"{", "["}) - (mark in {"}", "]"})
        parts.append(mark if mark in _BRACKETS else _WORDS.get(mark) or _literal(mark))
        if depth == 0 or depth > _DEEPEST:
            break
    document = "".join(parts)
    try:
        _decode(document)
    except (ValueError, RecursionError):
        return Body("", at, "")
    return Body(document, at, "json")


def unquoted(literal: str) -> str:
    """What a string literal of Python or JavaScript stands for."""
    try:
        return str(_decode(_literal(literal))[0])
    except ValueError:
        return literal


def _literal(token: str) -> str:
    return f'"{_ESCAPE.sub(_escaped, token[1:-1])}"'


def _escaped(match: re.Match[str]) -> str:
    mark = match[1]
    if mark is None:
        return json.dumps(match[0])[1:-1]
    if mark[0] in "xuU" and len(mark) > 1:
        number = int(mark[1:], 16)
        return json.dumps(chr(number))[1:-1] if number < 0x110000 else "?"
    return f"\\{mark}" if mark in '"\\/bfnrt' else json.dumps(mark)[1:-1]


def _html(text: str, start: int, limit: int) -> Body:
    until = start + LIMIT
    if (stack := _STACK.search(text, start, until)) is not None:
        until = stack.start()  # a page that Node cut, and where it was raised
    match = _HTML_END.search(text, start, until)
    end = match.end() if match else max(start, min(limit, until))
    return Body(text[start:end], end, "html")


def _text(text: str, start: int, limit: int, *, lines: bool) -> Body:
    stop = _LAST.search(text, start, limit) if lines else None
    end = stop.start() if stop else limit
    if not lines:
        line = text.find("\n", start, limit)
        end = line if line >= 0 else limit
    said = text[start:end].strip()
    return Body(said, end, "text" if said else "", start)
