"""How is a content coding taken off, in parts of bounded size whatever was packed?

gzip and deflate always; br and zstd where a library is installed that the clients would read them with too: they offer
what they find, and what they inflate must have passed here before.
"""

from __future__ import annotations

import importlib
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STEP = 256 * 1024
_GZIP = b"\x1f\x8b"
_BROTLI = ("brotli", "brotlicffi")
_ZSTD = ("compression.zstd", "backports.zstd")
_SLICE = 64
"""Bytes of zstd that hold at most 16 blocks of 128 KiB (RFC 8878, 3.1.1.2)."""


class Garbled(Exception):  # noqa: N818 - what a server sent, no error of ours
    """The data is not in the coding that was named."""


class Decoder(Protocol):
    """`feed` yields parts of bounded size and raises Garbled; `held` is what it was given and has not yielded from."""

    held: bytes

    def feed(self, data: bytes) -> Iterator[bytes]: ...


def decoder(coding: str) -> Decoder | None:
    """A new one for a content coding, or `None` where that can't be read here."""
    if coding in {"gzip", "x-gzip", "deflate"}:
        return Inflater(coding)
    if coding == "br" and (library := _found(_BROTLI)) is not None:
        return Brotli(library)
    if coding == "zstd":
        if (library := _found(_ZSTD)) is not None:
            return Zstd(library.ZstdDecompressor, library.ZstdError)
        if (library := _found(("zstandard",))) is not None:
            packed = library.ZstdDecompressor()
            return Zstd(packed.decompressobj, library.ZstdError, sliced=True)
    return None


@lru_cache
def _found(names: tuple[str, ...]) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


class Inflater:
    """gzip of any number of members, or deflate; what follows the end of either is no content.

    RFC 9110 8.4.1.2 means the zlib format by deflate, but some servers leave its header away: both are read.
    """

    def __init__(self, encoding: str) -> None:
        self._deflate = encoding == "deflate"
        self._stream: Any = None
        self._members = 0
        self.held = b""
        """What came of a header that is not whole yet."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Parts of bounded size; raises Garbled before anything is yielded where this is not the encoding."""
        while data:
            if self._stream is None:
                start = self.held + data
                if len(start) < len(_GZIP):
                    self.held = start
                    return
                if (window := self._window(start)) is None:
                    return
                self._stream, data = zlib.decompressobj(window), start
            while part := self._inflated(data):
                yield part
                data = self._stream.unconsumed_tail
            self.held = data = b""
            if self._stream.eof:
                data, self._stream = self._stream.unused_data, None
                self._members += 1

    def _inflated(self, data: bytes) -> bytes:
        try:
            part: bytes = self._stream.decompress(data, _STEP)
        except zlib.error as error:
            raise Garbled from error
        return part

    def _window(self, start: bytes) -> int | None:
        """What zlib calls the format that starts so; `None` after the end of the content."""
        if self._deflate:
            whole = start[0] & 15 == zlib.DEFLATED and int.from_bytes(start[:2], "big") % 31 == 0
            return None if self._members else zlib.MAX_WBITS if whole else -zlib.MAX_WBITS
        if start.startswith(_GZIP):
            return zlib.MAX_WBITS | 16
        if self._members:
            return None
        raise Garbled


class Brotli:
    """Before its version 1.2 the library has no bound: then byte by byte, since no byte ends more than a block of 16 MiB."""

    def __init__(self, library: Any) -> None:
        self._stream = library.Decompressor()
        self._error: type[Exception] = library.error
        self._bounded = hasattr(self._stream, "can_accept_more_data")
        self.held = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What follows the end of the content is none."""
        for piece in (data,) if self._bounded else (data[n : n + 1] for n in range(len(data))):
            given = piece
            while not self._stream.is_finished() and (part := self._process(given)):
                yield part
                given = b""
                if not self._bounded:
                    break

    def _process(self, piece: bytes) -> bytes:
        more = {"output_buffer_limit": _STEP} if self._bounded else {}
        try:
            part: bytes = self._stream.process(piece, **more)
        except self._error as error:
            raise Garbled from error
        return part


class Zstd:
    """Of any number of frames. `sliced`: the library has no bound of its own."""

    def __init__(self, make: Callable[[], Any], error: type[Exception], *, sliced: bool = False) -> None:
        self._make = make
        self._stream = make()
        self._error = error
        self._sliced = sliced
        self.held = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        step = _SLICE if self._sliced else max(len(data), 1)
        for at in range(0, len(data), step):
            yield from self._frames(data[at : at + step])

    def _frames(self, piece: bytes) -> Iterator[bytes]:
        while piece or not (self._sliced or self._stream.needs_input):
            if part := self._process(piece):
                yield part
            piece = b""
            if self._stream.eof:
                piece, self._stream = self._stream.unused_data, self._make()

    def _process(self, piece: bytes) -> bytes:
        try:
            part: bytes = self._stream.decompress(piece, *(() if self._sliced else (_STEP,)))
        except self._error as error:
            raise Garbled from error
        return part
