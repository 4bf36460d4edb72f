"""Does the lab end at once and stay on time under load?"""

import json
import selectors
import socket
import threading
import time
from contextlib import ExitStack

import pytest
from conftest import CLOCK, ask, send

from probes.clock import Clock
from probes.errors import UsageError
from probes.lab import LAB_KEY, PREFILL, TPOT, serve


def opened(lab, body):
    """A connection whose request is under way."""
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {LAB_KEY}\r\n"
    sock = socket.create_connection(("127.0.0.1", lab.edge.server.port))
    sock.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    return sock


@pytest.mark.parametrize(
    ("faults", "body"),
    [
        pytest.param(["silent"], ask(), id="hang"),
        pytest.param([], ask(), id="prefill"),
        pytest.param([], ask(stream=True), id="stream"),
        pytest.param([], None, id="idle"),
    ],
)
def test_close_is_quick_while_connections_wait(faults, body):
    """Closing ends every wait and leaves no thread behind."""
    before, took = threading.active_count(), []
    for _ in range(3):
        with ExitStack() as socks, serve(faults, clock=Clock(1), prefill=60) as lab:
            for _ in range(8):
                address = ("127.0.0.1", lab.edge.server.port)
                socks.enter_context(socket.create_connection(address) if body is None else opened(lab, body))
            time.sleep(0.05)
            began = time.monotonic()
            leave = socks.pop_all()
        took.append(time.monotonic() - began)
        leave.close()
        assert threading.active_count() == before
    assert min(took) < 0.05


def test_leaving_client_frees_the_origin():
    """Both hops notice that the client has gone, long before the answer is due."""
    with serve(clock=Clock(1), prefill=60) as lab:
        opened(lab, ask()).close()
        due = time.monotonic() + 2
        while not (lab.origin.requests and lab.origin.requests[0].ended is False):
            assert time.monotonic() < due
            time.sleep(0.005)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        pytest.param(b"nonsense\r\n\r\n", 400, id="no HTTP"),
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000, 431, id="endless head"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, id="negative length"),
        pytest.param(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, id="bad chunk"),
    ],
)
def test_unreadable_requests_are_refused(lab, raw, status):
    """The connection ends with a bare answer."""
    with socket.create_connection(("127.0.0.1", lab.edge.server.port)) as sock:
        sock.sendall(raw)
        assert sock.recv(65536).startswith(f"HTTP/1.1 {status} ".encode())


def test_both_address_families():
    """The lab can live on ::1."""
    with serve(clock=CLOCK, host="::1") as lab:
        assert lab.base_url.startswith("http://[::1]:")
        assert send(lab.base_url, ask()).status == 200


def test_taken_port_is_a_usage_error(lab):
    """Two labs cannot share a port."""
    with pytest.raises(UsageError, match="cannot listen"), serve(clock=CLOCK, port=lab.edge.server.port):
        pass


@pytest.mark.xdist_group("timing")
def test_thirty_streams_keep_their_schedule():
    """Every stream is whole and in order behind the edge, and lag does not add up from token to token."""
    clock, tokens = Clock(0.02), 80
    with serve(clock=clock) as lab, selectors.DefaultSelector() as waiting:
        socks = [opened(lab, ask("count", tokens, stream=True)) for _ in range(30)]
        seen: dict[socket.socket, list[float]] = {sock: [] for sock in socks}
        for sock in socks:
            waiting.register(sock, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                data = key.fileobj.recv(65536)
                fresh = data.count(b'"content":"') - data.count(b'"content":""')
                seen[key.fileobj] += [clock.now()] * fresh
                if b"[DONE]" in data:
                    waiting.unregister(key.fileobj)
                    key.fileobj.close()
        last = sorted(arrival.sent[-1] - arrival.at for arrival in lab.origin.requests)
    assert [len(times) for times in seen.values()] == [tokens] * 30
    assert all(times == sorted(times) for times in seen.values())
    # A schedule of relative waits would have lost the overhead of each of the 80 tokens, some 50 lab ms, by its end.
    assert last[len(last) // 2] - PREFILL - (tokens - 1) * TPOT < 8 * TPOT
