"""Which answers of a HAR file did not go well?"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATHS = ("/chat/completions", "/completions", "/responses", "/messages", "/models", "/embeddings")
_BEFORE_BODY = ("blocked", "dns", "connect", "send", "wait")  # `ssl` is inside `connect`
_MAX = 64 * 1024


class Entry(NamedTuple):
    """`number` counts from 1; `status` 0 is none, and then `error` says what the browser met."""

    number: int
    method: str
    url: str
    sent: tuple[tuple[str, str], ...]
    status: int
    headers: dict[str, list[str]]
    body: bytes | None
    error: str
    first_byte: float | None
    end: float | None
    api: bool


def entries(text: str) -> list[Entry] | None:
    """Those of a HAR document, or None where `text` is none."""
    if not text.lstrip().startswith("{") or '"entries"' not in text:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = _get(_get(document, "log"), "entries") or _get(document, "entries")
    if not isinstance(found, list):
        return None
    return list(_entries(found))


def _entries(found: list[Any]) -> Iterator[Entry]:
    for number, entry in enumerate(found, 1):
        request, response = _get(entry, "request"), _get(entry, "response")
        status = _get(response, "status")
        if not isinstance(response, dict):
            continue
        url = _text(_get(request, "url"))
        yield Entry(
            number,
            _text(_get(request, "method"))[:20],
            url[:4000],
            tuple((name, value) for name, values in _headers(request).items() for value in values),
            status if type(status) is int and status in range(100, 600) else 0,
            _headers(response),
            _body(_get(response, "content")),
            _text(_get(response, "_error") or _get(entry, "_error"))[:200],
            *_times(entry),
            url.partition("?")[0].rstrip("/").endswith(_PATHS),
        )


def _times(entry: Any) -> tuple[float | None, float | None]:
    """Seconds to the first byte and to the end."""
    timings = _get(entry, "timings")
    parts = [_get(timings, name) for name in _BEFORE_BODY]
    if not isinstance(parts[-1], (int, float)) or parts[-1] < 0:
        return None, None
    first = sum(part for part in parts if isinstance(part, (int, float)) and part > 0)
    rest = _get(timings, "receive")
    return first / 1000, (first + rest) / 1000 if isinstance(rest, (int, float)) and rest >= 0 else None


def _headers(message: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    rows = _get(message, "headers")
    for row in rows if isinstance(rows, list) else ():
        name, value = _get(row, "name"), _get(row, "value")
        if isinstance(name, str) and isinstance(value, str) and not name.startswith(":"):
            found.setdefault(name.lower()[:200], []).append(value[:16_384])
    return found


def _body(content: Any) -> bytes | None:
    """None where the browser did not keep it."""
    text = _get(content, "text")
    if not isinstance(text, str):
        return None
    if _get(content, "encoding") == "base64":
        try:
            return base64.b64decode(text[: 2 * _MAX])
        except (binascii.Error, ValueError):
            return None
    return text[:_MAX].encode("utf-8", "replace")


def _get(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, dict) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
