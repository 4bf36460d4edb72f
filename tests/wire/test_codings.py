"""Is every content coding taken off in bounded parts, in whatever fragments it comes?"""

import gzip
import importlib
import json
import zlib
from types import SimpleNamespace

import pytest

from probes.wire import codings
from probes.wire.codings import Garbled, decoder

TEXT = json.dumps([n * n for n in range(30_000)]).encode()
LARGE = bytes(20 << 20)
MOST = 2 << 20


class Packed:
    """What the libraries of br and zstd have in common, over zlib: as bounded as each of them is."""

    def __init__(self):
        self._stream = zlib.decompressobj()
        self.unused_data = b""

    eof = property(lambda self: self._stream.eof)
    needs_input = property(lambda self: not self._stream.unconsumed_tail and not self.eof)

    def is_finished(self):
        return self._stream.eof

    def decompress(self, data, most=0):
        part = self._stream.decompress(self._stream.unconsumed_tail + data, most)
        self.unused_data = self._stream.unused_data
        return part

    def process(self, data):
        return self.decompress(data)


class Bounded(Packed):
    can_accept_more_data = True

    def process(self, data, output_buffer_limit):
        return self.decompress(data, output_buffer_limit)


def stand_in(found, monkeypatch):
    monkeypatch.setattr(codings, "_found", lambda names: found if found.name in names else None)


LIBRARIES = {
    "br": ("br", SimpleNamespace(name="brotli", Decompressor=Bounded, error=zlib.error)),
    "br without a bound": ("br", SimpleNamespace(name="brotli", Decompressor=Packed, error=zlib.error)),
    "zstd": ("zstd", SimpleNamespace(name="compression.zstd", ZstdDecompressor=Packed, ZstdError=zlib.error)),
    "zstd in slices": (
        "zstd",
        SimpleNamespace(
            name="zstandard",
            ZstdDecompressor=lambda: SimpleNamespace(decompressobj=Packed),
            ZstdError=zlib.error,
        ),
    ),
}
ALWAYS = {"gzip": ("gzip", None), "deflate": ("deflate", None)}


@pytest.fixture(params=[*ALWAYS, *LIBRARIES])
def coded(request, monkeypatch):
    """(a function that makes a decoder, one that packs)."""
    coding, library = {**ALWAYS, **LIBRARIES}[request.param]
    if library is not None:
        stand_in(library, monkeypatch)
    return (lambda: decoder(coding)), gzip.compress if coding == "gzip" else zlib.compress


def taken_off(made, data, size):
    return [part for at in range(0, len(data), size) for part in made.feed(data[at : at + size])]


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_fragments_do_not_matter(coded, size):
    """The content is the same."""
    make, pack = coded
    assert b"".join(taken_off(make(), pack(TEXT), size)) == TEXT


def test_parts_are_bounded(coded):
    """20 MiB come out of one fragment in steps, so that a limit can end it on its way."""
    make, pack = coded
    parts = taken_off(make(), pack(LARGE), 1 << 20)
    assert sum(map(len, parts)) == len(LARGE)
    assert max(map(len, parts)) <= MOST


def test_another_coding_is_noticed(coded):
    """Before anything of it is taken for content."""
    make, _ = coded
    with pytest.raises(Garbled):
        taken_off(make(), b'{"error": "not packed at all"}', 1 << 20)


@pytest.mark.parametrize("name", ["zstd", "zstd in slices"])
@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_every_frame_is_content(monkeypatch, name, size):
    """A client reads them all, so a bomb may stand in the second."""
    coding, library = LIBRARIES[name]
    stand_in(library, monkeypatch)
    twice = zlib.compress(TEXT) * 2
    assert b"".join(taken_off(decoder(coding), twice, size)) == TEXT * 2


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", ""])
def test_what_no_library_reads_is_left(monkeypatch, coding):
    """As the clients leave it, which then do not offer it."""
    monkeypatch.setattr(codings, "_found", lambda _: None)
    assert decoder(coding) is None


@pytest.mark.parametrize(
    ("coding", "library"),
    [("br", "brotli"), ("br", "brotlicffi"), ("zstd", "zstandard"), ("zstd", "backports.zstd")],
)
def test_the_real_libraries(monkeypatch, coding, library):
    """Where they are installed: each as the only one."""
    real = pytest.importorskip(library)
    monkeypatch.setattr(
        codings, "_found", lambda names: importlib.import_module(library) if library in names else None
    )
    packed = {
        "brotli": lambda: real.compress(TEXT),
        "brotlicffi": lambda: real.compress(TEXT),
        "zstandard": lambda: real.ZstdCompressor().compress(TEXT),
        "backports.zstd": lambda: real.compress(TEXT),
    }[library]()
    for size in (1, 1000, 1 << 20):
        assert b"".join(taken_off(decoder(coding), packed, size)) == TEXT
    with pytest.raises(Garbled):
        taken_off(decoder(coding), b'{"error": "not packed at all"}', 1 << 20)
