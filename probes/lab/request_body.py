"""What is in the body of a request?"""

from __future__ import annotations

import itertools
import json
import zlib
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from probes.lab.dialects import Refusal
from probes.lab.http1 import Request, parse_head

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MOST = 64 * 1024 * 1024
"""Bytes, decompressed."""
_NUMBERS = itertools.count(1_000_003, 7_919)


def plain(body: bytes, coding: str | None) -> bytes:
    """Decompressed where it says gzip; what does not decompress is left to the parser."""
    if (coding or "").lower() != "gzip":
        return body
    try:
        return zlib.decompressobj(wbits=31).decompress(body, _MOST)
    except zlib.error:
        return body


def parsed(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        message = "We could not parse the JSON body of your request. The API expects a JSON object."
        raise Refusal(HTTPStatus.BAD_REQUEST, message)
    return found


def with_line(request: Request, line: str) -> Request:
    """The request with a line in front of its first message, another number in the place of `#` each time."""
    return _with(request, lambda _: line.replace("#", f"{next(_NUMBERS):08x}"))


def with_last_line_first(request: Request) -> Request:
    """The request whose last line, where it has several, stands in front of its first message."""
    return _with(request, _taken_off)


def _with(request: Request, line: Callable[[list[dict[str, Any]]], str]) -> Request:
    body = _whole(request.body)
    said, text = body.get("messages"), body.get("input")
    asked = [{"content": text}] if isinstance(text, str) else said if isinstance(said, list) else []
    messages: list[dict[str, Any]] = [one for one in asked if isinstance(one, dict)]
    if not messages or not (before := line(messages)):
        return request
    content = messages[0].get("content")
    before += "\n"
    parts = [{"type": "text", "text": before}, *(content or ())] if not isinstance(content, str) else None
    messages[0]["content"] = before + content if isinstance(content, str) else parts
    return _resaid(request, body if said is not None else {**body, "input": messages[0]["content"]})


def _taken_off(messages: list[dict[str, Any]]) -> str:
    """The last line, which is then no longer where it was."""
    content = messages[-1].get("content")
    holder, name = (messages[-1], "content") if isinstance(content, str) else ((content or [{}])[-1], "text")
    text, _, last = str(holder.get(name, "")).rpartition("\n")
    if text:
        holder[name] = text
    return last if text else ""


def _resaid(request: Request, body: Mapping[str, Any]) -> Request:
    data = json.dumps(body).encode()
    fields = [
        (n, v) for n, v in request.head.fields if n.lower() not in {"content-length", "transfer-encoding"}
    ]
    lines = [
        " ".join(request.head.start),
        *(f"{n}: {v}" for n, v in (*fields, ("content-length", len(data)))),
        "",
        "",
    ]
    return replace(request, head=parse_head("\r\n".join(lines).encode("latin-1")), body=data, raw_body=data)


def _whole(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
