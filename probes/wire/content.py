"""What was in the body, within bounds whatever the server sends?"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from typing import Any

from .facts import Facts

HEAD = 64 * 1024
TAIL = 16 * 1024
MAX_COLUMNS = 65_536
_STEP = 256 * 1024


class BodyLimit(Exception):  # noqa: N818 - a bound that was reached, told apart from errors by its name
    """The decoded body is larger than the probe reads; raised into the client to end the response."""


class Content:
    """The decoded body as it passes: head, tail, digest, length, facts, and a column of chunk times and sizes.

    `limit`: decoded bytes after which `feed` raises BodyLimit. Encodings other than gzip and deflate are kept as
    they are (`encoding` names them).
    """

    def __init__(self, content_type: str, encoding: str, limit: int) -> None:
        self.facts = Facts(content_type)
        self.encoding = encoding.strip().lower() or None
        self._inflate = _decoder(self.encoding)
        self._limit = limit
        self._digest = hashlib.sha256()
        self._head = bytearray()
        self._tail = bytearray()
        self.length = 0
        self.wire_length = 0
        self.chunks = 0
        self.times = array("d")
        self.sizes = array("Q")
        self.first: float | None = None
        self.last: float | None = None
        self.max_gap: float | None = None

    def feed(self, data: bytes, at: float) -> None:
        """`data` as on the wire (no transfer coding, content coding still on), read at `at`."""
        if not data:
            return
        self._clock(len(data), at)
        if self._inflate is None:
            self._take(data, at)
            return
        try:
            out = self._inflate.decompress(data, _STEP)
            while out:
                self._take(out, at)
                out = self._inflate.decompress(self._inflate.unconsumed_tail, _STEP)
        except zlib.error:
            self._inflate = None  # not what its header says: what follows is kept as it is
            self._take(data, at)

    def _clock(self, size: int, at: float) -> None:
        if self.last is not None:
            self.max_gap = max(self.max_gap or 0.0, at - self.last)
        else:
            self.first = at
        self.last = at
        self.wire_length += size
        self.chunks += 1
        if self.chunks <= MAX_COLUMNS:
            self.times.append(at)
            self.sizes.append(size)

    def _take(self, data: bytes, at: float) -> None:
        self.length += len(data)
        self._digest.update(data)
        room = HEAD - len(self._head)
        if room > 0:
            self._head += data[:room]
        if len(data) > room:
            self._tail += data[max(room, 0) :]
            if len(self._tail) > 4 * TAIL:
                del self._tail[:-TAIL]
        self.facts.feed(data, at)
        if self.length > self._limit:
            raise BodyLimit(f"the decoded body is larger than {self._limit} bytes")

    def result(self, *, complete: bool | None) -> dict[str, Any]:
        return {
            "body_head": bytes(self._head),
            "body_tail": bytes(self._tail[-TAIL:]),
            "body_bytes": self.length,
            "body_digest": f"sha256:{self._digest.hexdigest()}" if self.length else None,
            "body_encoding": self.encoding,
            "chunks": self.chunks,
            "chunk_times": self.times.tolist(),
            "chunk_sizes": self.sizes.tolist(),
            "facts": {
                **self.facts.result(complete=complete),
                "max_gap": self.max_gap,
                "wire_bytes": self.wire_length,
                "columns_capped": self.chunks > MAX_COLUMNS,
            },
        }


def _decoder(encoding: str | None) -> Any:
    if encoding in {"gzip", "x-gzip"}:
        return zlib.decompressobj(zlib.MAX_WBITS | 16)
    if encoding == "deflate":
        return zlib.decompressobj()
    return None
