"""What is in the body of a request?"""

from __future__ import annotations

import itertools
import json
import zlib
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from probes.lab.dialects import Refusal
from probes.lab.http1 import Request, parse_head

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
    body = _whole(request.body)
    messages = body.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    if not isinstance(first, dict):
        return request
    said, before = first.get("content"), line.replace("#", f"{next(_NUMBERS):08x}") + "\n"
    first["content"] = (
        before + said if isinstance(said, str) else [{"type": "text", "text": before}, *(said or ())]
    )
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
