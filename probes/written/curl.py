"""Which line of a shell sends the request?"""

from __future__ import annotations

import re
import shlex
from itertools import groupby
from typing import TYPE_CHECKING

from probes.redact import safe_text
from probes.written.parts import Piece, body_pieces, headers, names_variable, pieces

if TYPE_CHECKING:
    from probes.complaint import Told

_OWN = ("User-Agent", "Accept", "Content-Type")
"""What curl sends unasked."""
_ASKS_FIRST = 1 << 20
"""Bytes of a body beyond which it sends `Expect: 100-continue`."""
_GLOBS = frozenset("[]{}")
_LIVE = frozenset('"$`\\!')
"""What means something to a shell between double quotes."""
_SHORT = re.compile(r"\$\{(\w+)\}(?!\w)", re.ASCII)
"""A variable that needs no braces, for what follows it."""


def as_curl(told: Told, *, body_file: str | None = None) -> str:
    """For bash, zsh and every POSIX shell. Bytes that no text can hold are printed into curl's standard input."""
    words = ["curl -sS -i", *_method(told), _shell(pieces(told.url, told))]
    if _GLOBS & set(told.url):
        words.append("-g")
    if "/." in told.url:
        words.append("--path-as-is")
    lines = headers(told)
    for name, value in lines:
        empty = not any(part.text for part in value)
        words.append("-H " + _shell([Piece(f"{name};")] if empty else [Piece(f"{name}: "), *value]))
    given = {line.name.lower() for line in lines} | ({"user-agent"} if told.form == "curl" else set())
    words += [f"-H {name}:" for name in _OWN if name.lower() not in given and (told.body or name != _OWN[2])]
    if len(told.body) > _ASKS_FIRST and "expect" not in given:
        words.append("-H Expect:")
    if b'"stream":true' in told.body.replace(b" ", b""):
        words.append("-N")
    before, data = _body(told, body_file)
    return before + " ".join([*words, *_way(told), *data])


def _method(told: Told) -> list[str]:
    if told.method == "HEAD":
        return ["--head"]
    return [] if told.method == ("POST" if told.body else "GET") else ["-X " + shlex.quote(told.method)]


def _body(told: Told, body_file: str | None) -> tuple[str, list[str]]:
    """What stands before curl, and curl's own words."""
    if not told.body:
        return "", []
    parts = body_pieces(told)
    if body_file is not None and not names_variable(parts):
        return "", ["--data-binary " + shlex.quote(f"@{body_file}")]
    text = _text(told.body)
    if text is None or len(text) > _LONGEST:
        return f"{_printed(parts)} | ", ["--data-binary @-"]
    return "", ["--data-raw " + _shell(pieces(text, told))]


_LONGEST = 100_000
"""Linux takes no longer argument than 128 KiB."""


def _text(body: bytes) -> str | None:
    """The body where a person can read it on a line."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return text if safe_text(text) == text else None


def _shell(parts: list[Piece]) -> str:
    """One word of the shell."""
    if any(not part.variable and safe_text(part.text) != part.text for part in parts):
        raw = [part if part.variable else Piece(part.text.encode().decode("latin-1")) for part in parts]
        return f'"$({_printed(raw)})"'
    text = "".join(part.text for part in parts if not part.variable)
    if any(part.variable for part in parts) and not _LIVE & set(text):
        inside = "".join(f"${{{part.text}}}" if part.variable else part.text for part in parts)
        return '"' + _SHORT.sub(r"$\1", inside) + '"'
    said = [
        f'"${group[0].text}"' if variable else shlex.quote("".join(part.text for part in group))
        for variable, each in groupby(parts, lambda part: part.variable)
        for group in ([[part] for part in each] if variable else [list(each)])
    ]
    return "".join(said) or "''"


def _printed(parts: list[Piece]) -> str:
    """A `printf` of what each character stands for as a byte."""
    form = "".join("%s" if part.variable else "".join(map(_octal, part.text)) for part in parts)
    return " ".join(["printf", _dashed(form), *(f'"${part.text}"' for part in parts if part.variable)])


def _dashed(form: str) -> str:
    """A format that begins with a dash would be an option."""
    return shlex.quote(form.replace("-", "\\055", 1) if form.startswith("-") else form)


def _octal(character: str) -> str:
    if character == "%":
        return "%%"
    plain = " " <= character <= "~" and character != "\\"
    return character if plain else f"\\{ord(character):03o}"


def _way(told: Told) -> list[str]:
    words = [f"-{told.family}"] if told.family is not None else []
    if told.url.startswith("https:"):
        words += {"1.1": ["--http1.1"], "2": ["--http2"]}.get(told.http_version or "", [])
    if told.connect_to:
        words.append("--connect-to " + shlex.quote(f"::{told.connect_to}"))
    if told.proxy:
        words.append("-x " + _shell(pieces(told.proxy, told)))
    return words
