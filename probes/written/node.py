"""Which lines of JavaScript send the request, with what Node.js brings?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from probes.written.parts import Line, Piece, body_pieces, dialled, headers, names_variable, pieces, place

if TYPE_CHECKING:
    from probes.complaint import Told

OVER_1_1 = "Sent over HTTP/2 by the original, and over HTTP/1.1 by this."


def as_node(told: Told, *, body_file: str | None = None) -> str:
    """A CommonJS program for `node:http` or `node:https`: `fetch` adds headers of its own."""
    where = place(told.url)
    module = "https" if where.scheme == "https" else "http"
    body, needs = _body(told, body_file)
    lines = [f"  [{_text(line.name)}, {_wire(line.value)}]," for line in _headers(told)]
    return "\n".join(
        [
            *needs,
            f"const {module} = require('node:{module}')",
            *_limits(told),
            "",
            *([f"const body = {body}"] if told.body else []),
            "const headers = [",
            *lines,
            *(["  ['Content-Length', String(body.length)],"] if told.body else []),
            "]",
            f"const request = {module}.request({{ {', '.join(_options(told))} }})",
            "for (const name of new Set(headers.map(([name]) => name))) {",
            "  request.setHeader(name, headers.filter(([other]) => other === name).map(([, value]) => value))",
            "}",
            "if (!request.hasHeader('Connection')) request.removeHeader('Connection')",
            "request.on('error', (error) => { console.error(String(error)); process.exitCode = 1 })",
            "request.on('response', (answer) => {",
            "  console.log(`HTTP/${answer.httpVersion} ${answer.statusCode}`)",
            "  const raw = answer.rawHeaders",
            "  for (let at = 0; at < raw.length; at += 2) console.log(`${raw[at]}: ${raw[at + 1]}`)",
            "  console.log()",
            "  answer.pipe(process.stdout)",
            "})",
            f"request.end({'body' if told.body else ''})",
            "",
        ]
    )


def _headers(told: Told) -> list[Line]:
    """With the host first: Node leaves it out where headers are spelt one by one."""
    lines = headers(told)
    if any(line.name.lower() == "host" for line in lines):
        return lines
    return [Line("Host", [Piece(place(told.url).authority)]), *lines]


def _body(told: Told, body_file: str | None) -> tuple[str, list[str]]:
    """An expression for a buffer, and what it needs."""
    parts = body_pieces(told)
    if body_file is not None and not names_variable(parts):
        return (
            f"fs.readFileSync(path.join(__dirname, {_text(body_file)}))",
            ["const fs = require('node:fs')", "const path = require('node:path')"],
        )
    try:
        return f"Buffer.from({joined(pieces(told.body.decode(), told))})", []
    except UnicodeDecodeError:
        buffers = [
            f"Buffer.from({_variable(part.text)})"
            if part.variable
            else f"Buffer.from({_text(part.text)}, 'latin1')"
            for part in parts
        ]
        return f"Buffer.concat([{', '.join(buffers)}])", []


def _options(told: Told) -> list[str]:
    where = place(told.url)
    host, port = where.host, where.port
    found = []
    if told.connect_to:
        host, dialled_port = dialled(told.connect_to)
        port = dialled_port or port
        found = [f"servername: {_text(where.host)}"] if where.scheme == "https" else []
    found = [f"method: {_text(told.method)}", f"host: {_text(host)}", *found]
    if port is not None:
        found.append(f"port: {port}")
    found += [f"path: {_wire(pieces(where.path, told))}", "setHost: false"]
    if told.family is not None:
        found.append(f"family: {told.family}")
    return found


def _limits(told: Told) -> list[str]:
    """What these modules cannot do."""
    found = []
    if told.http_version == "2":
        found.append(f"// {OVER_1_1}")
    if told.proxy:
        found.append("// Sent through a proxy by the original, and without one by this.")
    return found


def _wire(parts: list[Piece]) -> str:
    """A text for a header or a path, which Node writes as Latin-1: UTF-8 is spelt out in it."""
    if all(part.variable or part.text.isascii() for part in parts):
        return joined(parts)
    return f"Buffer.from({joined(parts)}).toString('latin1')"


def joined(parts: list[Piece], variable: str = "{}") -> str:
    """An expression for a text; `variable`: what is made of each variable in it."""
    said = [variable.format(_variable(part.text)) if part.variable else _text(part.text) for part in parts]
    return " + ".join(said) or "''"


def _variable(name: str) -> str:
    return f"process.env.{name}"


def _text(text: str) -> str:
    """A JSON text is one of JavaScript's."""
    return json.dumps(text)
