"""What was in the body, within bounds whatever the server sends?"""

from __future__ import annotations

import hashlib
from array import array
from typing import Any, NoReturn

from .codings import Decoder, Garbled, decoder
from .facts import MAX_COLUMNS, Facts

HEAD = 64 * 1024
TAIL = 16 * 1024
_BATCH = 64 * 1024
_EVENT = 8 * 1024 * 1024  # of a stream: the SDKs join an event that does not end again at each part of it
_MAX_CODINGS = 3  # each may make its input a thousand times as large


class BodyLimit(Exception):  # noqa: N818 - a bound that was reached, told apart from errors by its name
    """The body is more than the probe decodes; raised into the client to end the response."""


class Content:
    """The decoded body as it passes: head, tail, digest, length, facts, and a column of chunk times and sizes.

    `limit`: bytes, decoded or between two codings of a list, after which `feed` raises BodyLimit; `streamed`: the
    client reads events, of which each is bounded too. Encodings that
    can't be read here are kept as they are (`encoding` names them), and so is what turns out not to be in the one named.
    """

    def __init__(self, content_type: str, encoding: str, limit: int, *, streamed: bool = False) -> None:
        self.facts = Facts(content_type, streamed=streamed)
        self.encoding = encoding.strip().lower() or None
        codings = [
            name for part in encoding.lower().split(",") if (name := part.strip()) not in {"", "identity"}
        ]
        if len(codings) > _MAX_CODINGS:
            raise BodyLimit(
                f"{len(codings)} content codings on top of each other: {', '.join(codings)[:100]}"
            )
        # An unknown coding is passed over, as httpx does: what it then would inflate is bounded here all the same.
        known = [decoder(coding) for coding in reversed(codings)]
        self._steps: list[Decoder | None] = [step for step in known if step is not None]
        self._passed = [0] * len(self._steps)
        self._decoded = True if codings and len(self._steps) == len(codings) else None
        self._limit = limit
        self._event = _EVENT if streamed or self.facts.stream else limit
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
        decode = self._steps[step]
        if decode is None:
            self._decode(data, at, step + 1)
            return
        try:
            for part in decode.feed(data):
                self._decode(part, at, step + 1)
        except Garbled:
            self._steps[step] = None
            self._decoded = self._decoded and False
            self._decode(decode.held + data, at, step + 1)

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
        if self.facts.held > self._event:
            raise BodyLimit(f"one event of the stream is larger than {self._event} bytes")

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
            "event_times": self.facts.event_times.tolist(),
            "event_kinds": self.facts.event_kinds.decode(),
            "facts": {
                **self.facts.result(complete=complete),
                "max_gap": self.max_gap,
                "wire_bytes": self.wire_length,
                "columns_capped": self.chunks > MAX_COLUMNS,
                "decoded": self._decoded,
            },
        }
