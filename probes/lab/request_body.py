"""What is in the body of a request?"""

from __future__ import annotations

import json
import zlib
from http import HTTPStatus
from typing import Any

from probes.lab.dialects import Refusal

_MOST = 64 * 1024 * 1024
"""Bytes, decompressed."""


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
