"""Is the event stream parser that of the WHATWG standard?"""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.wire.sse import Event, Parser

BOM = b"\xef\xbb\xbf"


def parsed(*fragments):
    parser = Parser()
    return [event for fragment in fragments for event in parser.feed(fragment)], parser


def data(*texts, name="message"):
    return [Event("event", name, text) for text in texts]


STREAMS = {
    "LF": (b"data: a\n\ndata: b\n\n", data("a", "b")),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", data("a", "b")),
    "CR": (b"data: a\r\rdata: b\r\r", data("a", "b")),
    "mixed line ends": (b"data: a\r\n\ndata: b\r\r\ndata: c\n\r\n", data("a", "b", "c")),
    "byte order mark": (BOM + b"data: a\n\n", data("a")),
    "a second byte order mark is no mark": (
        BOM + BOM + b"data: a\n\ndata: b\n\n",
        [Event("meta", "", "\ufeffdata: a"), *data("b")],
    ),
    "a mark later on is data": (b"data: a\n\ndata: " + BOM + b"b\n\n", data("a", "\ufeffb")),
    "comment": (b": ping\n\ndata: a\n\n", [Event("comment", "", "ping"), *data("a")]),
    "comment without blank line": (b": ping\ndata: a\n\n", [Event("comment", "", "ping"), *data("a")]),
    "empty comment": (b":\n\n", [Event("comment", "", "")]),
    "comment inside an event": (b"data: a\n: b\ndata: c\n\n", [Event("comment", "", "b"), *data("a\nc")]),
    "comment rewrapped as data": (b"data: : OPENROUTER PROCESSING\n\n", data(": OPENROUTER PROCESSING")),
    "lines of data are joined": (b"data: a\ndata: b\n\n", data("a\nb")),
    "field without colon": (b"data\n\n", data("")),
    "empty data": (b"data:\n\n", data("")),
    "two empty lines of data": (b"data\ndata\n\n", data("\n")),
    "only the first blank is taken": (b"data:  a\n\ndata:b\n\n", data(" a", "b")),
    "a tab is not": (b"data:\ta\n\n", data("\ta")),
    "colons in the value": (b'data: {"a": 1}\n\n', data('{"a": 1}')),
    "event type": (b"event: error\ndata: a\n\n", data("a", name="error")),
    "the type ends with its event": (b"event: x\ndata: a\n\ndata: b\n\n", [*data("a", name="x"), *data("b")]),
    "a type alone is reset too": (b"event: x\n\ndata: b\n\n", [Event("meta", "x", "event: x"), *data("b")]),
    "an empty type is message": (b"event:\ndata: a\n\n", data("a")),
    "the last type stands": (b"event: x\nevent: y\ndata: a\n\n", data("a", name="y")),
    "id and retry alone": (b"id: 1\nretry: 5\n\n", [Event("meta", "", "id: 1\nretry: 5")]),
    "unknown field": (b"foo: bar\ndata: a\n\n", data("a")),
    "names have their case": (b"Data: a\n\n", [Event("meta", "", "Data: a")]),
    "a blank before the name": (b" data: a\n\n", [Event("meta", "", " data: a")]),
    "blank lines alone": (b"\n\n\r\n", 3 * [Event("blank", "", "")]),
    "a blank line too many": (b"data: a\n\n\n", [*data("a"), Event("blank", "", "")]),
    "the blank line after a comment is its own": (
        b": a\n\n: b\n\n",
        [Event("comment", "", "a"), Event("comment", "", "b")],
    ),
    "unfinished event": (b"data: a\n\ndata: b\n", data("a")),
    "unfinished line": (b"data: a\n\ndata: b", data("a")),
    "broken UTF-8": (b"data: a\xffb\xe2\x82\n\n", data("a\ufffdb\ufffd")),
    "no line end but these": ("data: a\u2028b\x0b\x85c\n\n".encode(), data("a\u2028b\x0b\x85c")),
    "NUL is data": (b"data: a\0b\n\n", data("a\0b")),
}


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_events(stream, events):
    """In one piece, byte by byte, and split in two at every place."""
    assert parsed(stream)[0] == events
    assert parsed(*(bytes([byte]) for byte in stream))[0] == events
    for cut in range(len(stream)):
        assert parsed(stream[:cut], stream[cut:])[0] == events


@given(
    st.lists(
        st.sampled_from(
            [b"data", b"event", b"id", b":", b" ", b"\n", b"\r", b"\r\n", BOM, b"\xff", b"a", b"\0"]
        )
    ),
    st.data(),
)
def test_any_split_of_the_same_bytes_gives_the_same_events(parts, draws):
    """Where a socket cuts the stream means nothing."""
    stream = b"".join(parts)
    cuts = sorted(draws.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    fragments = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    (whole, one), (split, other) = parsed(stream), parsed(*fragments)
    assert split == whole
    assert (one.unfinished, one.last_id, one.retry) == (other.unfinished, other.last_id, other.retry)


@pytest.mark.parametrize(
    ("stream", "last_id"),
    [(b"id: 1\n\n", "1"), (b"id: 1\n\nid\n\n", ""), (b"id: 1\n\nid: a\0b\n\n", "1")],
    ids=["kept", "emptied", "with NUL ignored"],
)
def test_id(stream, last_id):
    """The last event id outlives its event; one with NUL is ignored."""
    assert parsed(stream)[1].last_id == last_id


@pytest.mark.parametrize(
    ("value", "retry"),
    [
        (b"1500", 1500),
        (b"0", 0),
        (b"-1", None),
        (b"1.5", None),
        (b"", None),
        (b"\xd9\xa1", None),
        (b"9" * 5000, None),
    ],
    ids=["digits", "zero", "negative", "fraction", "empty", "other digits", "thousands of digits"],
)
def test_retry(value, retry):
    """ASCII digits only."""
    assert parsed(b"retry: " + value + b"\n\n")[1].retry == retry


@pytest.mark.parametrize(
    ("stream", "rest"),
    [
        (b"data: a\n\n", None),
        (b": ping\n", None),
        (b"event: x\n", None),
        (b"data: a\n", "a"),
        (b"data: a\ndata: b", "a\ndata: b"),
        (b"data: {\xe2\x82", "data: {\ufffd"),
        (b"\xef\xbb", "\ufffd"),
    ],
    ids=[
        "none",
        "ping and a single line end",
        "type alone",
        "event",
        "event and line",
        "half a character",
        "half a mark",
    ],
)
def test_what_the_end_cut_off(stream, rest):
    """An event without its blank line is never dispatched, but told."""
    assert parsed(stream)[1].unfinished == rest


def test_a_line_without_end_costs_no_more_than_its_bytes():
    """A line of 8 MiB in small fragments neither takes quadratic time nor twice its memory."""
    parser, fragment = Parser(), b"x" * 512
    tracemalloc.start()
    for _ in range(16 * 1024):
        parser.feed(fragment)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 1024 * 1024
    assert parser.feed(b"\n") == []
