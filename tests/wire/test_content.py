"""Is a body decoded, cut and counted as it passes, within bounds?"""

import gzip
import hashlib
import random
import tracemalloc
import zlib

import pytest

from probes.wire import content
from probes.wire.content import HEAD, TAIL, BodyLimit, Content

TEXT = b'{"choices": [{"message": {"content": "' + b"Hello, world. " * 20 + b'"}}]}'

TWICE = gzip.compress(gzip.compress(TEXT))


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def fed(data, encoding="", *, limit=1 << 26, step=None, content_type="application/json"):
    body = Content(content_type, encoding, limit)
    step = step or len(data) or 1
    for index, start in enumerate(range(0, len(data), step)):
        body.feed(data[start : start + step], float(index))
    return body.result(complete=True)


ENCODINGS = {
    "none": ("", TEXT, TEXT, None),
    "identity": ("identity", TEXT, TEXT, None),
    "gzip": ("gzip", gzip.compress(TEXT), TEXT, True),
    "x-gzip in capitals": (" X-GZIP ", gzip.compress(TEXT), TEXT, True),
    "gzip of three members": (
        "gzip",
        gzip.compress(b"a") + gzip.compress(b"") + gzip.compress(b"b"),
        b"ab",
        True,
    ),
    "gzip with padding after it": ("gzip", gzip.compress(TEXT) + b"\0" * 9, TEXT, True),
    "gzip cut short": ("gzip", gzip.compress(TEXT, 0)[:-30], TEXT[: len(TEXT) - 22], True),
    "deflate": ("deflate", zlib.compress(TEXT), TEXT, True),
    "deflate without its header": ("deflate", raw_deflate(TEXT), TEXT, True),
    "gzip that is none": ("gzip", TEXT, TEXT, False),
    "unknown": ("br", b"\x0b\x02\x80", b"\x0b\x02\x80", None),
    "twice": ("gzip, gzip", TWICE, TEXT, True),
    "deflate in x-gzip in identity": (
        "deflate, x-gzip,, identity",
        gzip.compress(zlib.compress(TEXT)),
        TEXT,
        True,
    ),
    "twice by its header alone": ("gzip, gzip", gzip.compress(TEXT), TEXT, False),
    "an unknown one below": ("br, gzip", gzip.compress(b"\x0b\x02\x80"), b"\x0b\x02\x80", None),
    "an unknown one above": ("gzip, br", b"\x0b\x02\x80", b"\x0b\x02\x80", None),
    "empty": ("gzip", b"", b"", True),
}


@pytest.mark.parametrize("step", [None, 1, 7], ids=["in one piece", "byte by byte", "in sevens"])
@pytest.mark.parametrize(("encoding", "wire", "text", "decoded"), ENCODINGS.values(), ids=ENCODINGS)
def test_encodings(encoding, wire, text, decoded, step):
    """What can be decoded is; what is not what its header says is kept as it came."""
    got = fed(wire, encoding, step=step)
    assert got["body_head"] == text
    assert got["facts"]["decoded"] is decoded
    assert got["facts"]["wire_bytes"] == len(wire)
    assert got["body_bytes"] == len(text)


def test_deflate_that_is_none():
    """Bare deflate has no mark to know it by; that it is none shows within some bytes."""
    got = fed(TEXT, "deflate")
    assert (got["body_head"], got["facts"]["decoded"]) == (TEXT, False)


SIZES = [0, 1, HEAD - 1, HEAD, HEAD + 1, HEAD + TAIL, HEAD + TAIL + 1, HEAD + 5 * TAIL, 3 * HEAD + 7]


@pytest.mark.parametrize("step", [None, 1000, HEAD], ids=["in one piece", "in thousands", "in heads"])
@pytest.mark.parametrize("size", SIZES)
def test_head_tail_and_digest(size, step):
    """The tail is the last of what the head does not hold; digest and length are of the whole."""
    data = random.Random(size).randbytes(size)
    got = fed(data, step=step)
    assert got["body_head"] == data[:HEAD]
    assert got["body_tail"] == data[HEAD:][-TAIL:]
    assert got["body_bytes"] == size
    assert got["body_digest"] == (f"sha256:{hashlib.sha256(data).hexdigest()}" if size else None)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw"])
def test_a_bomb_is_defused_at_the_limit(encoding):
    """256 MiB in a quarter of one: no more than the limit and a step is ever unpacked."""
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "raw": raw_deflate}[encoding]
    bomb = pack(bytes(64 * 1024 * 1024))
    body = Content("text/plain", encoding.replace("raw", "deflate"), 1 << 20)
    tracemalloc.start()
    with pytest.raises(BodyLimit, match="1048576 bytes"):
        body.feed(bomb, 0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1024 * 1024
    assert (1 << 20) < body.length <= (1 << 20) + 256 * 1024


STACKED = {
    "twice": ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    "with one between that httpx passes over": (
        "gzip, nothing, gzip",
        lambda data: gzip.compress(gzip.compress(data)),
    ),
    "three kinds": ("deflate,gzip, x-gzip", lambda data: gzip.compress(gzip.compress(zlib.compress(data)))),
    "outside only": ("gzip, gzip", lambda data: gzip.compress(gzip.compress(b"") + data)),
}


@pytest.mark.parametrize(("encoding", "pack"), STACKED.values(), ids=STACKED)
def test_a_bomb_in_a_list_of_codings_is_defused(encoding, pack):
    """What passes between two codings is bounded too: it need not reach the body to cost memory."""
    bomb = pack(bytes(96 * 1024 * 1024))
    body = Content("text/plain", encoding, 1 << 20)
    tracemalloc.start()
    with pytest.raises(BodyLimit):
        body.feed(bomb, 0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1024 * 1024


@pytest.mark.parametrize("coding", ["gzip", "br", "new"])
def test_more_than_three_codings_are_not_begun(coding):
    """Nobody means it; `identity` is none."""
    Content("text/plain", ", ".join([coding] * 3 + ["identity"] * 9), 1 << 20)
    with pytest.raises(BodyLimit, match="4 content codings"):
        Content("text/plain", ", ".join([coding] * 4), 1 << 20)


def test_what_follows_the_end_of_a_gzip_is_not_kept():
    """Junk without end behind a whole gzip costs no memory."""
    body = Content("text/plain", "gzip", 1 << 25)
    body.feed(gzip.compress(b"all"), 0.0)
    tracemalloc.start()
    for _ in range(256):
        body.feed(bytes(64 * 1024), 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 1024 * 1024
    assert body.result(complete=True)["body_head"] == b"all"


def test_chunk_columns_are_capped_and_say_so(monkeypatch):
    """Counts and gaps go on beyond the cap."""
    monkeypatch.setattr(content, "MAX_COLUMNS", 3)
    body = Content("text/plain", "", 1 << 20)
    for at in (0.0, 1.0, 1.5, 2.0, 9.0):
        body.feed(b"xy", at)
    got = body.result(complete=True)
    assert (got["chunk_times"], got["chunk_sizes"], got["chunks"]) == ([0.0, 1.0, 1.5], [2, 2, 2], 5)
    assert got["facts"]["columns_capped"]
    assert got["facts"]["max_gap"] == 7.0


def test_one_chunk_has_no_gap():
    """Unknown is not zero."""
    assert fed(b"x")["facts"]["max_gap"] is None
    assert fed(b"")["body_digest"] is None


def test_a_compressed_stream_is_judged_as_if_it_were_not():
    """Facts are read from the decoded content."""
    got = fed(
        gzip.compress(b"data: [DONE]\n\n"), "gzip", content_type="text/event-stream; charset=utf-8", step=3
    )
    assert got["facts"]["terminal"] == "[DONE]"


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json"])
def test_an_event_without_end_is_ended_long_before_the_body_is(content_type):
    """The SDKs join all of it again at each part; also where the server does not call it a stream."""
    content = Content(content_type, "", 1 << 30, streamed=content_type != "text/event-stream")
    content.feed(b"data: ", 0.0)
    for at in range(127):
        content.feed(b"x" * 65_536, float(at))
    with pytest.raises(BodyLimit, match="one event of the stream"):
        content.feed(b"x" * 65_536, 127.0)
    assert content.length < 9 << 20
    assert len(content.result(complete=False)["facts"]["unfinished"] or "") <= 200


def test_events_that_end_may_be_many():
    """Their sum is the body's, which has a limit of its own."""
    content = Content("text/event-stream", "", 1 << 30)
    for at in range(300):
        content.feed(b"data: " + b"x" * 65_536 + b"\n\n", float(at))
    assert content.length > 16 << 20
