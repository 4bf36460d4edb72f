"""Does every client end in time, and say alike how it ended?"""

import gzip
import socket
import threading
import time
import tracemalloc
from contextlib import contextmanager, nullcontext

import pytest
from wire_server import (
    AIOHTTP,
    CLIENTS,
    STREAM_HEAD,
    answer,
    ask,
    authority,
    black_hole,
    chunk,
    delta,
    good,
    send,
    server_context,
    serving,
    warm,
)

from probes.stop import Stop

DEADLINE = 0.4
SLACK = 0.3
HALF = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n" + b'{"half": 1'
CLOSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\nconnection: close\r\n\r\n"


def silent(peer, _):
    peer.wait()


def headers_then_silence(peer, _):
    peer.send(HALF[: HALF.index(b"{")])
    peer.wait()


def a_byte_now_and_then(peer, _):
    peer.send(HALF)
    for _ in range(20):
        peer.pause(0.15)
        peer.send(b" ")


def endless(peer, _):
    peer.send(STREAM_HEAD)
    while not peer.server.over.is_set():
        peer.send(chunk(delta("word ") * 8))
        peer.pause(0.005)


def endless_until_close(peer, _):
    peer.send(CLOSE_HEAD % b"text/event-stream")
    while not peer.server.over.is_set():
        peer.send(delta("word ") * 8)
        peer.pause(0.005)


def slow_until_close(peer, _):
    peer.send(CLOSE_HEAD % b"application/json" + b'{"half": 1')
    peer.wait()


def flood(peer, _):
    peer.send(STREAM_HEAD)
    while not peer.server.over.is_set():
        peer.send(chunk(delta("word ") * 200))


def reset_before_answer(peer, _):
    peer.reset()


def close_before_answer(peer, _):
    peer.close()


def close_inside_length(peer, _):
    peer.send(HALF)
    peer.close()


def close_inside_chunks(peer, _):
    peer.send(STREAM_HEAD + chunk(delta("one")))
    peer.close()


def reset_inside_body(peer, _):
    peer.send(HALF)
    peer.pause(0.05)
    peer.reset()


def not_http(peer, _):
    peer.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    peer.close()


def not_http_cut(peer, _):
    peer.send(b"\x15\x03\x01\x00\x02\x02\x46")  # what a TLS server says to a plain request
    peer.close()


def not_http_reset(peer, _):
    peer.send(b"220 mail ESMTP\r\n")
    peer.pause(0.1)
    peer.reset()


def upgrade(peer, _):
    peer.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    peer.close()


def close_inside_head(peer, _):
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Ty")
    peer.close()


def negative_length(peer, _):
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello")
    peer.close()


def nul_in_head(peer, _):
    peer.send(b"HTTP/1.1 200 OK\r\nX-A: a\x00b\r\nContent-Length: 2\r\n\r\nhi")
    peer.close()


def giant_header(peer, _):
    peer.send(b"HTTP/1.1 200 OK\r\nX-Big: " + b"a" * 400_000 + b"\r\n\r\n")
    peer.close()


def many_large_headers(peer, _):
    lines = [b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(400)]
    peer.send(b"HTTP/1.1 200 OK\r\n" + b"".join(lines) + b"\r\n")
    peer.close()


def endless_headers(peer, _):
    peer.send(b"HTTP/1.1 200 OK\r\n")
    while not peer.server.over.is_set():
        peer.send(b"X-More: and more\r\n" * 100)


def endless_not_http(peer, _):
    while not peer.server.over.is_set():
        peer.send(b"SSH-" + b"a" * 60_000)


def no_status(peer, _):
    peer.send(b"HTTP/1.1 000 What\r\nContent-Length: 2\r\n\r\nhi")
    peer.close()


def no_chunk(peer, _):
    peer.send(STREAM_HEAD + b"ZZZ\r\nhello\r\n0\r\n\r\n")
    peer.close()


FAULTS = {
    "silent": (silent, "deadline", "headers"),
    "headers then silence": (headers_then_silence, "deadline", "body"),
    "a byte now and then": (a_byte_now_and_then, "deadline", "body"),
    "endless": (endless, "deadline", "body"),
    "endless until close": (endless_until_close, "deadline", "body"),
    "slow until close": (slow_until_close, "deadline", "body"),
    "reset before the answer": (reset_before_answer, "reset", "headers"),
    "close before the answer": (close_before_answer, "closed", "headers"),
    "close inside content-length": (close_inside_length, "closed", "body"),
    "close inside chunks": (close_inside_chunks, "closed", "body"),
    "reset inside the body": (reset_inside_body, "reset", "body"),
    "close inside the head": (close_inside_head, "closed", "headers"),
    "not HTTP": (not_http, "protocol", "headers"),
    "not HTTP, cut": (not_http_cut, "protocol", "headers"),
    "not HTTP, reset": (not_http_reset, "protocol", "headers"),
    "upgrade": (upgrade, "protocol", "headers"),
    "negative length": (negative_length, "protocol", "headers"),
    "NUL in the head": (nul_in_head, "protocol", "headers"),
    "giant header": (giant_header, "oversize", "headers"),
    "many large headers": (many_large_headers, "oversize", "headers"),
    "endless headers": (endless_headers, "oversize", "headers"),
    "endless, not HTTP": (endless_not_http, "protocol", "headers"),
    "no status": (no_status, "protocol", "headers"),
    "no chunk": (no_chunk, "protocol", "body"),
}


STREAMS = {endless, endless_until_close, close_inside_chunks}

# It makes the same error of a reset and of a close inside a body, reads a first chunk before it gives the head, and
# takes any status for an answer.
BY_AIOHTTP = {
    reset_inside_body: ("closed", "body"),
    no_chunk: ("protocol", "headers"),
    upgrade: None,
    no_status: None,
}


def ended(outcome):
    error = outcome.exchanges[-1].error
    return (error.kind, error.phase) if error else None


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("script", "kind", "phase"), FAULTS.values(), ids=FAULTS)
def test_kind_and_phase_of_a_fault_are_the_same_for_every_client(client, script, kind, phase):
    """One fault, any client, one word for it, within the deadline."""
    with serving(script) as server:
        warm(client)
        began = time.monotonic()
        outcome = send(client, server.url, deadline=DEADLINE, stream=script in STREAMS)
        took = time.monotonic() - began
    seen = BY_AIOHTTP.get(script, (kind, phase)) if client in AIOHTTP else (kind, phase)
    assert ended(outcome) == seen
    assert took < DEADLINE + SLACK
    quiet = client == "curl" and script is close_inside_head  # it exits with 0 and shows nothing
    assert outcome.raised is not None or kind == "deadline" or quiet
    assert outcome.exchanges[-1].timeline.end is not None


@contextmanager
def refusing():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@contextmanager
def over_tls(script, tls=None):
    with serving(script, tls) as server:
        yield f"https://localhost:{server.port}"


@contextmanager
def tls_that_resets():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            sock, _ = listener.accept()
            sock.recv(10)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"https://localhost:{listener.getsockname()[1]}"
        thread.join()


PLACES = {
    "black hole": (black_hole, "deadline", "connect"),
    "refused": (refusing, "connect", "connect"),
    "no such name": (lambda: nullcontext("http://nothing.invalid"), "dns", "dns"),
    "TLS that hangs": (lambda: over_tls(silent), "deadline", "tls"),
    "TLS that resets": (tls_that_resets, "reset", "tls"),
    "unknown issuer": (lambda: over_tls(silent, server_context()), "tls", "tls"),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("place", "kind", "phase"), PLACES.values(), ids=PLACES)
def test_what_never_becomes_a_connection_is_told_alike(client, place, kind, phase):
    """Name, connect and TLS are phases of their own, with nothing sent."""
    with place() as url:
        warm(client)
        began = time.monotonic()
        outcome = send(client, url, deadline=DEADLINE if kind == "deadline" else 5)
        took = time.monotonic() - began
    exchange = outcome.exchanges[-1]
    assert ended(outcome) == (kind, phase)
    assert outcome.raised is not None
    assert exchange.status is None
    assert exchange.timeline.headers is None
    assert kind != "deadline" or took < DEADLINE + SLACK


def test_a_handshake_that_did_not_end_has_no_mark():
    """The connection was there, TLS was not."""
    with over_tls(silent) as url:
        outcome = send("httpx", url, deadline=DEADLINE)
    timeline = outcome.exchanges[0].timeline
    assert timeline.connect is not None
    assert timeline.tls is None


@pytest.mark.parametrize("client", CLIENTS)
def test_a_body_without_end_is_ended_at_the_limit(client):
    """A flood stops at the decoded limit, long before the deadline."""
    with serving(flood) as server:
        warm(client)
        began = time.monotonic()
        outcome = send(client, server.url, stream=True, deadline=10, body_bytes=300_000)
    assert ended(outcome) == ("limit", "body")
    assert time.monotonic() - began < 5
    assert 300_000 < outcome.exchanges[0].body_bytes < 700_000
    assert outcome.exchanges[0].facts["complete"] is False


def coded(codings, body):
    def script(peer, _):
        headers = [("content-type", "application/json"), ("content-encoding", codings)]
        peer.send(answer(body, headers=headers))

    return script


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("codings", "packed"), [("gzip, gzip", 2), ("gzip, gzip, gzip, gzip", 4)], ids=["two", "four"]
)
def test_a_bomb_in_a_list_of_codings_never_reaches_the_client(client, codings, packed):
    """It is ended before the client could inflate it: 96 MiB in a few hundred bytes."""
    bomb = bytes(96 * 1024 * 1024)
    for _ in range(packed):
        bomb = gzip.compress(bomb)
    warm(client)
    with serving(coded(codings, bomb)) as server:
        tracemalloc.start()
        outcome = send(client, server.url, deadline=30, body_bytes=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    exchange = outcome.exchanges[0]
    assert exchange.error.kind == "limit"
    assert exchange.status == 200
    assert outcome.returned is None
    assert exchange.chunks <= 1
    assert peak < 16 * 1024 * 1024


@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_coded_twice_is_read(client):
    """As unusual as it is legal."""
    twice = gzip.compress(gzip.compress(good(client).partition(b"\r\n\r\n")[2]))
    with serving(coded("gzip, gzip", twice)) as server:
        outcome = send(client, server.url)
    assert outcome.exchanges[0].error is None
    assert outcome.exchanges[0].body_head.startswith(b"{")
    assert outcome.returned is not None


@pytest.mark.parametrize("client", ["openai-py", "anthropic-py"])
def test_a_redirect_that_may_not_be_followed_ends_the_call(client):
    """Nothing of it is sent, and the tape says why."""

    def loop(peer, _):
        peer.send(answer(b"", "307 Temporary Redirect", [("location", "/again")]))

    answers = iter([None, None, "enough"])
    with serving(loop) as server:
        outcome = send(client, server.url, may_go_on=lambda: next(answers))
        assert len(server.requests) == 3
    assert [exchange.status for exchange in outcome.exchanges] == [307, 307, 307, None]
    last = outcome.exchanges[-1]
    assert (last.error.kind, last.error.text) == ("limit", "enough")
    assert last.timeline.upload_start is None
    assert outcome.raised is not None


@pytest.mark.parametrize(
    "place", ["silent", "endless", "endless until close", "slow until close", "black hole", "TLS that hangs"]
)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_stop_from_another_thread_ends_every_client_at_once(client, place):
    """Ctrl-C must not wait for a deadline, whatever the client blocks on."""
    url_of = {
        "silent": lambda: serving(silent),
        "endless": lambda: serving(endless),
        "endless until close": lambda: serving(endless_until_close),
        "slow until close": lambda: serving(slow_until_close),
        "black hole": black_hole,
        "TLS that hangs": lambda: over_tls(silent),
    }[place]
    stop = Stop()
    with url_of() as where, stop.listening() as on_stop:
        url = getattr(where, "url", where)
        warm(client)
        timer = threading.Timer(0.3, stop, ("interrupted",))
        timer.start()
        began = time.monotonic()
        outcome = send(client, url, stream=place.startswith("endless"), deadline=30, on_stop=on_stop)
        took = time.monotonic() - began
        timer.join()
    assert outcome.exchanges[-1].error.kind == "interrupted"
    assert 0.1 < took < 5


@pytest.mark.parametrize("client", CLIENTS)
def test_a_call_after_the_stop_is_ended_before_it_reaches_the_server(client):
    """A stop that came first lets nothing through that needs a connection."""
    stop = Stop()
    stop("interrupted")
    with serving(silent) as server, stop.listening() as on_stop:
        warm(client)
        began = time.monotonic()
        outcome = send(client, server.url, deadline=30, on_stop=on_stop)
        assert time.monotonic() - began < 10
        assert server.requests == []
    assert outcome.exchanges[-1].error.kind == "interrupted"


@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_that_came_before_the_upload_was_over_is_no_fault(client):
    """A server that refuses a large body early and hangs up has answered."""

    def run(listener):
        sock, _ = listener.accept()
        with sock:
            sock.recv(2000)
            sock.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\n{}")
            time.sleep(0.2)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=run, args=(listener,))
        thread.start()
        outcome = send(client, f"http://127.0.0.1:{listener.getsockname()[1]}", ask(client), deadline=2)
        thread.join()
    assert outcome.exchanges[0].status == 413
    assert outcome.exchanges[0].error is None


@pytest.mark.parametrize("client", CLIENTS)
def test_a_good_answer_over_tls_is_whole(client, monkeypatch, tmp_path):
    """With its authority trusted the same server gives no error, and all marks are in order."""
    authority().cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    for other in ("CURL_CA_BUNDLE", "SSL_CERT_DIR"):
        monkeypatch.delenv(other, raising=False)
    with serving(lambda peer, _: peer.send(good(client)), server_context()) as server:
        outcome = send(client, server.url)
    exchange, times = outcome.exchanges[0], outcome.exchanges[0].timeline
    assert exchange.error is None, exchange.error
    assert outcome.returned
    assert exchange.facts["complete"]
    order = [times.dns, times.connect, times.tls, times.upload_start, times.upload_end, times.headers]
    order += [times.first_byte, times.last_byte, times.end]
    assert None not in order
    assert order == sorted(order)
