"""Exchanges as the recorder would have made them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from probes.model import Exchange, Timeline, WireError, WireRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CLOUDFLARE = {"server": "cloudflare", "cf-ray": "9f140b785e57c458-FRA"}
JSON = {"content-type": "application/json"}
HTML = {"content-type": "text/html; charset=UTF-8"}
GOOD_CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


def exchange(
    status: int | None = 200,
    body: bytes | str | dict[str, Any] | list[Any] = b"",
    headers: Mapping[str, str | Sequence[str]] | None = None,
    *,
    error: tuple[str, str] | None = None,
    url: str = "https://api.example.com/v1/chat/completions",
    stream: bool | None = None,
    facts: Mapping[str, Any] | None = None,
    first_byte: float | None = 0.1,
) -> Exchange:
    """Head and tail are cut from `body` as the recorder does."""
    if isinstance(body, (dict, list)):
        body, headers = json.dumps(body), {**JSON, **(headers or {})}
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    head = raw[: 64 * 1024]
    return Exchange(
        id="e1",
        request=WireRequest("POST", url, (), 0, None, stream),
        status=status,
        headers={k: [v] if isinstance(v, str) else list(v) for k, v in (headers or {}).items()},
        body_head=head,
        body_tail=raw[len(head) :][-16 * 1024 :],
        body_bytes=len(raw),
        body_digest=None,
        body_encoding=None,
        timeline=Timeline(first_byte=first_byte if raw else None),
        facts=facts or {},
        error=WireError(error[0], error[1], "as told") if error else None,
    )


def stream_facts(**changed: Any) -> dict[str, Any]:
    """The facts of a good streamed chat, with some changed."""
    good = {
        "parser": 1,
        "dialect": "openai.chat",
        "stream": True,
        "events": {"message": {"n": 5, "first": 0.1, "last": 0.5}},
        "terminal": "[DONE]",
        "finish_reason": "stop",
        "usage": None,
        "errors": [],
        "malformed": None,
        "unfinished": None,
        "replacement_chars": 0,
        "complete": True,
        "tokens": 3,
        "text_chars": 12,
    }
    return good | changed


def streamed(**changed: Any) -> Exchange:
    """A streamed chat by its facts alone."""
    error = changed.pop("error", None)
    return exchange(
        200,
        b"data: {}\n\n",
        {"content-type": "text/event-stream"},
        facts=stream_facts(**changed),
        error=error,
        stream=True,
    )
