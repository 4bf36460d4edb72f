"""What keeps bytes back before they leave, and until when?"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from probes.model import STRICT

if TYPE_CHECKING:
    from collections.abc import Callable

_GZIP = 31


@dataclass(frozen=True, slots=True)
class Hold:
    """Bytes of an answer, its head among them, leave in portions of so many, or without that when the answer is over."""

    __pydantic_config__: ClassVar = STRICT

    bytes: int | None = None


class Gate:
    """Lets bytes through to `send` in portions of the hold's size, or when it is opened at the end."""

    def __init__(self, hold: Hold | None, send: Callable[[bytes], None]) -> None:
        self._hold = hold
        self._send = send
        self._held = b""

    def write(self, data: bytes) -> None:
        if self._hold is None:
            self._send(data)
            return
        self._held += data
        size = self._hold.bytes
        while size is not None and len(self._held) >= size:
            self._send(self._held[:size])
            self._held = self._held[size:]

    def open(self) -> None:
        """What is left leaves."""
        if self._held:
            self._send(self._held)
            self._held = b""


class Gzip:
    """A body's compressor, which gives out each piece where it is `flushed`, else what it likes."""

    def __init__(self, *, flushed: bool) -> None:
        self._coder = zlib.compressobj(wbits=_GZIP)
        self._flushed = flushed

    def feed(self, data: bytes) -> bytes:
        packed = self._coder.compress(data)
        return packed + self._coder.flush(zlib.Z_SYNC_FLUSH) if self._flushed else packed

    def rest(self) -> bytes:
        return self._coder.flush()
