"""How is HTTP/1.1's chunk framing taken off a body?"""

from __future__ import annotations


class Dechunker:
    """Takes HTTP/1.1 chunk framing off; `done` once the last chunk was seen."""

    def __init__(self) -> None:
        self._pending = b""
        self._left = 0
        self.done = False

    def feed(self, data: bytes) -> bytes:
        data = self._pending + data
        self._pending = b""
        out = bytearray()
        while data and not self.done:
            if self._left:
                part = data[: self._left]
                out += part
                self._left -= len(part)
                data = data[len(part) :]
                continue
            line, found, rest = data.partition(b"\n")
            if not found:
                self._pending = data
                break
            data = rest
            size = line.partition(b";")[0].strip()
            if size:  # the empty line after a chunk's data is not a size
                try:
                    self._left = int(size, 16)
                except ValueError:
                    break
                self.done = self._left == 0
        return bytes(out)
