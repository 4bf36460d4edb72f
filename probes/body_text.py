"""How does a body of any bytes stand in JSON?

As text when it is UTF-8, else as base64. A kept head or tail may begin or end in the middle of a character; the bytes
of such a character are no reason for base64: they stand aside as `pieces`, and the bytes come back exactly.
"""

from __future__ import annotations

import base64
import codecs
from typing import NamedTuple

_CONTINUATION = range(0x80, 0xC0)
_MAX_CONTINUATION = 3


class BodyText(NamedTuple):
    """`encoding`: `utf-8`, `base64`, or `None` without a body; `pieces`: at the head's end, the tail's start and end."""

    head: str | None
    tail: str | None
    encoding: str | None
    pieces: tuple[bytes, bytes, bytes] = (b"", b"", b"")


def to_text(head: bytes, tail: bytes) -> BodyText:
    if not head and not tail:
        return BodyText(None, None, None)
    skipped = 0
    while skipped < min(_MAX_CONTINUATION, len(tail)) and tail[skipped] in _CONTINUATION:
        skipped += 1
    try:
        head_text, head_end = _decoded(head)
        tail_text, tail_end = _decoded(tail[skipped:])
    except UnicodeDecodeError:
        return BodyText(_base64(head), _base64(tail) or None, "base64")
    pieces = (head_end, tail[:skipped], tail_end)
    return BodyText(head_text, tail_text if tail else None, "utf-8", pieces)


def to_bytes(text: BodyText) -> tuple[bytes, bytes]:
    """Head and tail as they were."""
    if text.encoding == "base64":
        return base64.b64decode(text.head or ""), base64.b64decode(text.tail or "")
    head_end, tail_start, tail_end = text.pieces
    return (text.head or "").encode() + head_end, tail_start + (text.tail or "").encode() + tail_end


def _decoded(data: bytes) -> tuple[str, bytes]:
    """The text, and the bytes of a character that its end cut."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    text = decoder.decode(data)
    return text, decoder.getstate()[0]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
