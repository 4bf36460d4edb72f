"""What words does the command prompt of Windows make of a curl line?

As browsers write it for `cmd`: a caret makes the next character plain and lets a line go on; what is left is parted as
C's runtime does it, with quotes doubled or behind a backslash.
"""

from __future__ import annotations

import re

from probes.errors import UsageError
from probes.imports.shell_words import Command

_FORM = re.compile(r"\^\"|[ \t]\^\r?\n")


def is_cmd(text: str, start: int) -> bool:
    """Whether the line that begins there is written for it."""
    first = text[start:].partition("\n")[0]
    return _FORM.search(f"{first}\n") is not None


def command(text: str, start: int) -> Command:
    plain, end = _without_carets(text, start)
    return Command(words=_parted(plain), line=text.count("\n", 0, start) + 1, end=end, by="\n")


def _without_carets(text: str, start: int) -> tuple[str, int]:
    """Up to the end of the line, or what stands for `&`."""
    parts: list[str] = []
    quoted, at = False, start
    while at < len(text):
        sign = text[at]
        if sign == "^" and not quoted:
            following = re.compile(r"\r?\n").match(text, at + 1)
            if following is not None:  # the line goes on; an empty one after it is a line end that is meant
                at = following.end()
                empty = re.compile(r"\r?\n").match(text, at)
                if empty is not None:
                    parts.append("\n")
                    at = empty.end()
                continue
            parts.append(text[at + 1 : at + 2])
            at += 2
            continue
        if sign == "\n" or (sign in "&|" and not quoted):
            break
        quoted ^= sign == '"'
        parts.append(sign)
        at += 1
    return "".join(parts).rstrip("\r"), at


def _parted(text: str) -> list[str]:
    words: list[str] = []
    word: list[str] | None = None
    quoted, at = False, 0
    while at < len(text):
        slashes = re.compile(r"\\+").match(text, at)
        if slashes is not None and text[slashes.end() : slashes.end() + 1] != '"':
            word = [*(word or []), slashes[0]]
            at = slashes.end()
            continue
        if slashes is not None:
            word = word or []
            word.append("\\" * (len(slashes[0]) // 2))
            at = slashes.end()
            if len(slashes[0]) % 2:
                word.append('"')
                at += 1
            continue
        sign = text[at]
        if sign == '"':
            word = word or []
            if quoted and text[at + 1 : at + 2] == '"':
                word.append('"')
                at += 1
            else:
                quoted = not quoted
        elif sign in " \t\n" and not quoted:
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = word or []
            word.append(sign)
        at += 1
    if quoted:
        raise UsageError('line 1 of the command: a quote (") is not closed')
    return words + (["".join(word)] if word is not None else [])
