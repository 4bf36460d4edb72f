"""Is curl's own trace read to the byte?"""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.wire.chunks import Dechunker
from probes.wire.curl_trace import Trace

REQUEST = b"POST /v1/x HTTP/1.1\r\nHost: api.test\r\nUser-Agent: curl/7.88.1\r\nContent-Length: 2\r\n\r\n"
OK = [b"HTTP/1.1 200 OK\r\n", b"Content-Type: application/json\r\n", b"Content-Length: 2\r\n", b"\r\n"]


def dump(clock, arrow, what, data):
    """One section as curl prints it."""
    lines = [f"{clock} {arrow} {what}, {len(data)} bytes (0x{len(data):x})\n"]
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        lines.append(f"{at:04x}: {''.join(f'{b:02x} ' for b in row):<48}{text}\n")
    return lines


def sent(head=REQUEST, body=b"{}", clock="10:00:00.000000"):
    return dump(clock, "=>", "Send header", head) + (dump(clock, "=>", "Send data", body) if body else [])


def received(head, *bodies, clock="10:00:01.000000"):
    lines = [line for part in head for line in dump(clock, "<=", "Recv header", part)]
    for second, body in enumerate(bodies):
        lines += dump(f"10:00:{2 + second:02}.500000", "<=", "Recv data", body)
    return lines


def told(lines, said=None, stopped=None, **options):
    trace = Trace("http://api.test/v1/x", body_limit=1 << 20, **options)
    for line in lines:
        trace.line(line)
    return trace.finish(json.dumps(said or {"exitcode": 0}), stopped)


def test_an_exchange():
    """Request, response and times; the dump's text column is never taken for data."""
    body = b'{"00000: 41 42": "=> Send header, 10:00:00.000000 == Info: x"}'
    got = told([*sent(), *received(OK, body)], {"exitcode": 0, "remote_ip": "::1", "remote_port": 443})
    assert got["request"] == {
        "method": "POST",
        "url": "http://api.test/v1/x",
        "headers": [("Host", "api.test"), ("User-Agent", "curl/7.88.1"), ("Content-Length", "2")],
        "body_bytes": 2,
        "body_digest": f"sha256:{hashlib.sha256(b'{}').hexdigest()}",
    }
    assert (got["status"], got["body_head"], got["error"]) == (200, body, None)
    assert got["headers"] == {"content-type": ["application/json"], "content-length": ["2"]}
    assert (got["timeline"]["headers"], got["timeline"]["first_byte"]) == (1.0, 2.5)
    assert got["conditions"]["peer"] == "[::1]:443"
    assert got["facts"]["complete"] is True


def test_lab_time():
    """Recorded times are divided by the scale."""
    assert told([*sent(), *received(OK, b"{}")], scale=0.5)["timeline"]["headers"] == 2.0


def test_midnight():
    """The trace has times of day; a day that ends takes none away."""
    lines = [*sent(clock="23:59:59.900000"), *received(OK, clock="00:00:00.100000")]
    assert told(lines)["timeline"]["headers"] == pytest.approx(0.2)


def test_a_section_larger_than_its_offsets_are_wide():
    """Beyond 64 KiB an offset has five digits."""
    body = bytes(range(256)) * 300
    assert told([*sent(), *received(OK, body)])["body_digest"] == f"sha256:{hashlib.sha256(body).hexdigest()}"


CHUNKED = [b"HTTP/1.1 200 OK\r\n", b"transfer-encoding: chunked\r\n", b"\r\n"]
INTERIM = [b"HTTP/1.1 100 Continue\r\n", b"\r\n", b"HTTP/1.1 103 Early Hints\r\n", b"link: x\r\n", b"\r\n"]
TUNNEL = b"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n"
YES = [b"HTTP/1.1 200 Connection established\r\n", b"\r\n"]
NO = [b"HTTP/1.1 407 Proxy Authentication Required\r\n", b"content-length: 2\r\n", b"\r\n"]

TRACES = {
    "chunks": ([*sent(), *received(CHUNKED, b"2\r\n{", b"}\r\n0\r\n\r\n")], {}, (200, b"{}", None)),
    "chunks cut": ([*sent(), *received(CHUNKED, b"5\r\n{")], {}, (200, b"{", ("closed", "body"))),
    "interim answers": ([*sent(), *received([*INTERIM, *OK], b"{}")], {}, (200, b"{}", None)),
    "interim answer without its end": (
        [*sent(), *received([INTERIM[0], *INTERIM[2:4], *OK], b"{}")], {}, (200, b"{}", None),
    ),
    "redirect": (
        [*sent(), *received([b"HTTP/1.1 302 Found\r\n", b"location: /\r\n", b"\r\n"])], {}, (302, b"", None),
    ),
    "no content": ([*sent(), *received([b"HTTP/1.1 204 No Content\r\n", b"\r\n"])], {}, (204, b"", None)),
    "no reason phrase": ([*sent(), *received([b"HTTP/1.1 200\r\n", b"\r\n"], b"x")], {}, (200, b"x", None)),
    "tunnel": (
        [*sent(TUNNEL, b""), *received(YES), *sent(), *received(OK, b"{}")], {}, (200, b"{}", None),
    ),
    "tunnel refused": (
        [*sent(TUNNEL, b""), *received(NO, b"no")],
        {"exitcode": 56, "errormsg": "CONNECT tunnel failed"}, (None, b"", ("proxy", "connect")),
    ),
    "closed early": ([*sent()], {"exitcode": 52, "errormsg": "Empty reply"}, (None, b"", ("closed", "headers"))),
    "reset": (
        [*sent(), *received(OK, b"{")], {"exitcode": 56, "errormsg": "Recv failure: Connection reset by peer"},
        (200, b"{", ("reset", "body")),
    ),
    "cut": ([*sent(), *received(OK, b"{")], {"exitcode": 18}, (200, b"{", ("closed", "body"))),
    "no name": ([], {"exitcode": 6}, (None, b"", ("dns", "dns"))),
    "slow name": ([], {"exitcode": 28}, (None, b"", ("deadline", "dns"))),
    "slow connect": ([], {"exitcode": 28, "time_namelookup": 0.1}, (None, b"", ("deadline", "connect"))),
    "slow upload": (sent(body=b""), {"exitcode": 28}, (None, b"", ("deadline", "upload"))),
    "slow answer": (sent(), {"exitcode": 28}, (None, b"", ("deadline", "headers"))),
    "broken pipe": (sent(), {"exitcode": 55, "errormsg": "Send failure: Broken pipe"}, (None, b"", ("reset", "headers"))),
    "untrusted": ([], {"exitcode": 60}, (None, b"", ("tls", "tls"))),
    "closed inside the head": ([*sent(), *received(OK[:1])], {}, (None, b"", ("closed", "headers"))),
    "closed before any byte": (sent(), {}, (None, b"", ("closed", "headers"))),
    "an upgrade nobody asked for": (
        [*sent(), *received([b"HTTP/1.1 101 Switching Protocols\r\n", b"\r\n"])],
        {"exitcode": 52, "errormsg": "Empty reply"}, (None, b"", ("protocol", "headers")),
    ),
    "no chunk": (
        [*sent(), *received(CHUNKED, b"zz\r\n")], {"exitcode": 56, "errormsg": "Illegal or missing hexadecimal"},
        (200, b"", ("protocol", "body")),
    ),
    "a head too large": (
        sent(), {"exitcode": 56, "errormsg": "Too large response headers: 307299 > 307200"},
        (None, b"", ("oversize", "headers")),
    ),
    "unheard of": (sent(), {"exitcode": 123}, (None, b"", ("protocol", "headers"))),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "said", "expected"), TRACES.values(), ids=TRACES)
def test_traces(lines, said, expected):
    """Status, body, and how it ended where it did not end well."""
    got = told(lines, {"exitcode": 0, **said}, upload=2)
    error = got["error"] and (got["error"]["kind"], got["error"]["phase"])
    assert (got["status"], got["body_head"], error) == expected


def test_a_tunnel_leaves_the_request_alone():
    """What was said to the proxy is no part of what was said to the service."""
    got = told([*sent(TUNNEL, b""), *received(YES), *sent(), *received(OK, b"{}")])
    assert got["request"]["method"] == "POST"
    assert got["request"]["body_bytes"] == 2
    assert got["conditions"]["proxy"] is True


@pytest.mark.parametrize(
    ("said", "proxied"),
    [
        ("Uses proxy env variable http_proxy == 'http://127.0.0.1:9'", True),
        ("Uses proxy env variable no_proxy == '127.0.0.1'", False),
        ("  Trying 127.0.0.1:9...", False),
    ],
    ids=["a proxy", "none for this host", "none"],
)
def test_a_proxy_of_the_environment_that_cannot_be_reached(said, proxied):
    """Curl names it before it dials, and then has nothing more to say."""
    got = told([f"12:00:00.000000 == Info: {said}"], {"exitcode": 7, "errormsg": "Failed to connect"})
    assert (got["conditions"]["proxy"], got["error"]["kind"]) == (proxied, "connect")


@pytest.mark.parametrize("write_out", ["", "curl: (6) x", "{broken"], ids=["none", "no JSON", "broken"])
def test_without_write_out_the_trace_must_do(write_out):
    """A curl that was killed says nothing at the end."""
    trace = Trace("http://api.test/", body_limit=10)
    for line in sent():
        trace.line(line)
    assert trace.finish(write_out, "interrupted")["error"]["kind"] == "interrupted"


@pytest.mark.parametrize(
    ("code", "kind"), [(52, "closed"), (-9, "interrupted")], ids=["old curl", "a signal"]
)
def test_how_curl_exited_counts_where_it_does_not_say(code, kind):
    """A body that a signal cut short is never whole."""
    trace = Trace("http://api.test/", body_limit=10)
    for line in [*sent(), *received(OK, b"{")]:
        trace.line(line)
    got = trace.finish("", None, code)
    assert got["error"]["kind"] == kind
    assert got["facts"]["complete"] is False


@given(st.lists(st.floats(0, 2), min_size=4, max_size=4))
def test_no_mark_is_after_a_later_one(seconds):
    """The clocks of write-out and trace differ by what curl does between two readings."""
    names = ("time_namelookup", "time_connect", "time_appconnect", "time_total")
    said = dict(zip(names, seconds, strict=True))
    times = told([*sent(), *received(OK, b"{}")], {"exitcode": 0, **said})["timeline"]
    order = [
        times[name]
        for name in ("dns", "connect", "tls", "upload_start", "headers", "last_byte", "end")
        if name in times
    ]
    assert order == sorted(order)


def test_the_limit_is_seen_while_curl_runs():
    """So that it can be ended."""
    trace = Trace("http://api.test/", body_limit=10)
    for line in [*sent(), *received(OK, b"x" * 11, b"x")]:
        trace.line(line)
    assert trace.over_limit
    assert trace.finish("", None)["error"]["kind"] == "limit"


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.data())
def test_any_split_of_chunks_gives_the_same_bytes(chunks, draws):
    """With extensions and trailers, wherever the reads cut."""
    wire = b"".join(b"%X;ext=1\r\n%s\r\n" % (len(c), c) for c in chunks) + b"0\r\nTrailer: x\r\n\r\n"
    cuts = sorted(draws.draw(st.lists(st.integers(0, len(wire)), max_size=6)))
    dechunker = Dechunker()
    got = b"".join(dechunker.feed(wire[a:b]) for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True))
    assert got == b"".join(chunks)
    assert dechunker.done


def test_what_is_not_a_chunk_size_ends_the_body():
    """No junk is taken for content."""
    dechunker = Dechunker()
    assert dechunker.feed(b"2\r\nab\r\nzz\r\ncd") == b"ab"
    assert not dechunker.done
