"""What was in the body, within bounds whatever the server sends?"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from typing import TYPE_CHECKING, Any, NoReturn

from .facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = 64 * 1024
TAIL = 16 * 1024
MAX_COLUMNS = 65_536
_STEP = 256 * 1024
_BATCH = 64 * 1024
DECODED = {"gzip", "x-gzip", "deflate"}
_GZIP = b"\x1f\x8b"
_MAX_CODINGS = 3  # each may make its input a thousand times as large


class BodyLimit(Exception):  # noqa: N818 - a bound that was reached, told apart from errors by its name
    """The body is more than the probe decodes; raised into the client to end the response."""


class Content:
    """The decoded body as it passes: head, tail, digest, length, facts, and a column of chunk times and sizes.

    `limit`: bytes, decoded or between two codings of a list, after which `feed` raises BodyLimit. Encodings other than
    gzip and deflate are kept as they are (`encoding` names them), and so is what turns out not to be in the one named.
    """

    def __init__(self, content_type: str, encoding: str, limit: int) -> None:
        self.facts = Facts(content_type)
        self.encoding = encoding.strip().lower() or None
        codings = [
            name for part in encoding.lower().split(",") if (name := part.strip()) not in {"", "identity"}
        ]
        if len(codings) > _MAX_CODINGS:
            raise BodyLimit(
                f"{len(codings)} content codings on top of each other: {', '.join(codings)[:100]}"
            )
        # An unknown coding is passed over, as httpx does: what it then would inflate is bounded here all the same.
        self._steps: list[Inflater | None] = [Inflater(c) for c in reversed(codings) if c in DECODED]
        self._passed = [0] * len(self._steps)
        self._decoded = True if codings and len(self._steps) == len(codings) else None
        self._limit = limit
        self._batch: list[tuple[bytes, float]] = []
        self._batched = 0
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
        self._decode(data, at, 0)

    def _decode(self, data: bytes, at: float, step: int) -> None:
        """Takes the codings off from `step` on; what comes between two of them is bounded like the body itself."""
        if step == len(self._steps):
            self._take(data, at)
            return
        self._passed[step] += len(data)
        if self._passed[step] > self._limit:
            self._over()
        inflater = self._steps[step]
        if inflater is None:
            self._decode(data, at, step + 1)
            return
        try:
            for part in inflater.feed(data):
                self._decode(part, at, step + 1)
        except zlib.error:
            self._steps[step] = None
            self._decoded = self._decoded and False
            self._decode(inflater.held + data, at, step + 1)

    def _clock(self, size: int, at: float) -> None:
        if self.last is None:
            self.first = at
        elif self.max_gap is None or at - self.last > self.max_gap:
            self.max_gap = at - self.last
        self.last = at
        self.wire_length += size
        self.chunks += 1
        if self.chunks <= MAX_COLUMNS:
            self.times.append(at)
            self.sizes.append(size)

    def _take(self, data: bytes, at: float) -> None:
        self.length += len(data)
        self._batched += len(data)
        self._batch.append((data, at))
        over = self.length > self._limit
        if over or self._batched >= _BATCH:
            self._read()
        if over:
            self._over()

    def _over(self) -> NoReturn:
        raise BodyLimit(f"the decoded body is larger than {self._limit} bytes")

    def _read(self) -> None:
        """Between two chunks the processor's caches are cold, and the same work costs three times as much
        (tests/bench/recorder.py): so it is done for many at once.
        """
        data = b"".join(part for part, _ in self._batch)
        self._digest.update(data)
        room = HEAD - len(self._head)
        if room > 0:
            self._head += data[:room]
        if len(data) > room:
            self._tail += data[max(room, 0) :]
            del self._tail[:-TAIL]
        for part, at in self._batch:
            self.facts.feed(part, at)
        self._batch.clear()
        self._batched = 0

    def result(self, *, complete: bool | None) -> dict[str, Any]:
        """Of the facts, `decoded` is `None` where no encoding was named that can be decoded here."""
        self._read()
        return {
            "body_head": bytes(self._head),
            "body_tail": bytes(self._tail),
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
                "decoded": self._decoded,
            },
        }


class Inflater:
    """gzip of any number of members, or deflate; what follows the end of either is no content.

    RFC 9110 8.4.1.2 means the zlib format by deflate, but some servers leave its header away: both are read.
    """

    def __init__(self, encoding: str | None) -> None:
        self._deflate = encoding == "deflate"
        self._stream: Any = None
        self._members = 0
        self.held = b""
        """What came of a header that is not whole yet."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Parts of bounded size; raises zlib.error before anything is yielded where this is not the encoding."""
        while data:
            if self._stream is None:
                start = self.held + data
                if len(start) < len(_GZIP):
                    self.held = start
                    return
                if (window := self._window(start)) is None:
                    return
                self._stream, data = zlib.decompressobj(window), start
            while part := self._stream.decompress(data, _STEP):
                yield part
                data = self._stream.unconsumed_tail
            self.held = data = b""
            if self._stream.eof:
                data, self._stream = self._stream.unused_data, None
                self._members += 1

    def _window(self, start: bytes) -> int | None:
        """What zlib calls the format that starts so; `None` after the end of the content."""
        if self._deflate:
            whole = start[0] & 15 == zlib.DEFLATED and int.from_bytes(start[:2], "big") % 31 == 0
            return None if self._members else zlib.MAX_WBITS if whole else -zlib.MAX_WBITS
        if start.startswith(_GZIP):
            return zlib.MAX_WBITS | 16
        if self._members:
            return None
        raise zlib.error
