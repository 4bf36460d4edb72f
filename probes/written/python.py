"""Which lines of Python send the request?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.written.parts import Piece, body_pieces, dialled, headers, names_variable, pieces, place

if TYPE_CHECKING:
    from probes.complaint import Told

_PLAIN = re.compile(r"/(?!.*(?:/\.|//))[A-Za-z0-9/._~=&?+,:@-]*", re.ASCII)
"""Paths that httpx sends as they are."""
SECONDS = 600


def as_python(told: Told, *, body_file: str | None = None) -> str:
    """A program for httpx, which adds no header of its own to such a request."""
    lines, arguments = _headers(told), _arguments(told)
    files = body_file is not None and told.body and not names_variable(body_pieces(told))
    needs = ["import os"] if "os.environ" in "".join([*lines, *arguments, _body(told)]) else []
    needs += ["from pathlib import Path"] if files else []
    content = f"Path(__file__).with_name({body_file!r}).read_bytes()" if files else _body(told)
    url, extensions = _place(told)
    inside = [f"{told.method!r},", f"{url},", "headers=[", *(f"    {line}," for line in lines), "],"]
    inside += [f"content={content},"] if told.body else []
    inside += [f"extensions={{{', '.join(extensions)}}},"] if extensions else []
    return "\n".join(
        [
            *sorted(needs, key=lambda line: line.startswith("from")),
            *([""] if needs else []),
            "import httpx",
            "",
            "request = httpx.Request(",
            *(f"    {line}" for line in inside),
            ")",
            f"with httpx.Client({', '.join(arguments)}) as client:",
            "    answer = client.send(request)",
            "print(answer.http_version, answer.status_code)",
            *(
                [
                    "for name, value in answer.headers.multi_items():",
                    '    print(f"{name}: {value}")',
                    'print("\\n" + answer.text)',
                    "",
                ]
            ),
        ]
    )


def literal(parts: list[Piece], variable: str = "{}") -> str:
    """An expression for a text; `variable`: what is made of each variable in it."""
    said = [
        variable.format(f'os.environ["{part.text}"]') if part.variable else repr(part.text) for part in parts
    ]
    return " + ".join(said) or "''"


def _headers(told: Told) -> list[str]:
    """With the host first, where another stands in the URL."""
    lines = [
        f"({line.name!r}, {literal(line.value)})"
        if all(part.variable or part.text.isascii() for part in line.value)
        else f"({line.name.encode()!r}, ({literal(line.value)}).encode())"
        for line in headers(told)
    ]
    host = place(told.url).authority
    named = any(line.name.lower() == "host" for line in headers(told))
    return [f"('Host', {host!r})", *lines] if told.connect_to and not named else lines


def _body(told: Told) -> str:
    """An expression for bytes; readable where they are text."""
    try:
        parts = pieces(told.body.decode(), told)
        plain = [f"{literal([part])}.encode()" for part in parts]
    except UnicodeDecodeError:
        plain = [
            f'os.environ["{part.text}"].encode()' if part.variable else repr(part.text.encode("latin-1"))
            for part in body_pieces(told)
        ]
    return " + ".join(plain) or "b''"


def _place(told: Told) -> tuple[str, list[str]]:
    """The URL, and what says beside it where the request really goes or how its path is spelt."""
    where, said = place(told.url), pieces(told.url, told)
    url, extensions = literal(said), []
    if names_variable(said):
        extensions.append(f"'target': ({literal(pieces(where.path, told))}).encode()")
    elif not _PLAIN.fullmatch(where.path):
        extensions.append(f"'target': {where.path.encode()!r}")
    if extensions:
        url = repr(f"{where.scheme}://{where.authority}/")
    if told.connect_to:
        host, port = dialled(told.connect_to)
        spelt = f"[{host}]" if ":" in host else host
        at = f":{port}" if port is not None else ""
        url = repr(f"{where.scheme}://{spelt}{at}{'/' if extensions else where.path}")
        extensions.append(f"'sni_hostname': {where.host!r}")
    return url, extensions


def _arguments(told: Told) -> list[str]:
    found = [f"timeout={SECONDS}"]
    if told.http_version == "2":
        found.append("http2=True")
    if told.proxy:
        found.append(f"proxy={literal(pieces(told.proxy, told))}")
    elif told.connect_to:
        found.append("trust_env=False")
    if told.family is not None:
        local = "0.0.0.0" if told.family == 4 else "::"  # noqa: S104 - in a text: any address of that family
        found.append(f"transport=httpx.HTTPTransport(local_address={local!r})")
    return found
