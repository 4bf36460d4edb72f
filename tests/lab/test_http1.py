"""Are HTTP/1.1 messages read as they lie on the wire?"""

import pytest

from probes.lab.http1 import BodyReader, Malformed, parse_head, response_head


def test_head_keeps_order_case_and_repeats():
    """Fields come back as written."""
    head = parse_head(b"POST /x?y=1 HTTP/1.1\r\nB: 1\r\na:2 \r\nB: 3\r\n\r\n")
    assert head.start == ("POST", "/x?y=1", "HTTP/1.1")
    assert head.fields == (("B", "1"), ("a", "2"), ("B", "3"))
    assert head.get("b") == "1"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"hello\r\n\r\n", id="no version"),
        pytest.param(b"GET / HTTP/1.1\r\nno colon\r\n\r\n", id="no colon"),
        pytest.param(b"GET / HTTP/1.1\r\nA : 1\r\n\r\n", id="space before the colon"),
    ],
)
def test_bad_heads_are_refused(raw):
    """What is no head raises."""
    with pytest.raises(Malformed):
        parse_head(raw)


def test_response_head_repeats_fields():
    """A name may stand twice, and unknown statuses have no reason."""
    head = response_head(524, (("set-cookie", "a"), ("Set-Cookie", "b")))
    assert head == b"HTTP/1.1 524 \r\nset-cookie: a\r\nSet-Cookie: b\r\n\r\n"


WIRE = b"5\r\nhello\r\n6;x=1\r\n world\r\n0\r\nTrailer: 1\r\n\r\n"


@pytest.mark.parametrize("step", [1, 2, 3, 7, len(WIRE)])
def test_chunked_bodies_end_where_they_end(step):
    """However the bytes are cut, the payload and the rest are the same."""
    reader = BodyReader(length=None, chunked=True)
    data = WIRE + b"NEXT"
    payload = b"".join(b"".join(reader.feed(data[n : n + step])) for n in range(0, len(data), step))
    assert (payload, reader.done, reader.rest) == (b"hello world", True, b"NEXT")


@pytest.mark.parametrize("wire", [b"zz\r\n", b"2\r\nabc\r\n", b"x" * 70_000])
def test_bad_chunks_are_refused(wire):
    """A size that is none, a chunk that is longer than it said, a line without an end."""
    with pytest.raises(Malformed):
        BodyReader(length=None, chunked=True).feed(wire)


def test_counted_bodies_end_at_their_length():
    """Bytes beyond Content-Length belong to the next message."""
    reader = BodyReader(length=3, chunked=False)
    assert (reader.feed(b"ab"), reader.feed(b"cd"), reader.done, reader.rest) == ([b"ab"], [b"c"], True, b"d")
