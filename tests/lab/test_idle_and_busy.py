"""Do faults that look at idle times and at what is under way befall those requests, and no others?"""

from __future__ import annotations

import socket
import threading
import time

import pytest
from conftest import ask, send

from probes.clock import Clock
from probes.lab import LAB_KEY, serve

CLOCK = Clock(0.02)
"""20 s, from which the faults act, are 0.4 s."""
REQUEST = f"GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {LAB_KEY}\r\n\r\n".encode()


def exchange(sock):
    """`answered`, `closed` or `reset`."""
    try:
        sock.sendall(REQUEST)
        raw = b""
        while b"\r\n\r\n" not in raw or not raw.endswith(b"}"):
            data = sock.recv(65536)
            if not data:
                return "closed"
            raw += data
    except ConnectionResetError:
        return "reset"
    return "answered"


def on_one_connection(fault, *idle):
    with serve([fault] if fault else [], clock=CLOCK) as running:
        port = running.edge.server.port
        with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
            found = []
            for seconds in idle:
                time.sleep(CLOCK.machine(seconds))
                found.append(exchange(sock))
            return found


@pytest.mark.parametrize(
    "fault, end",
    [("idle-reset", "reset"), ("idle-eof", "closed"), ("idle-close", "closed"), (None, "answered")],
)
def test_idle_connections(fault, end):
    """The first request never meets it, nor does one soon after another."""
    assert on_one_connection(fault, 30, 0, 30) == ["answered", "answered", end]


def test_a_connection_is_closed_while_it_idles():
    """Without a further request."""
    with serve(["idle-close"], clock=CLOCK) as running:
        port = running.edge.server.port
        with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
            assert exchange(sock) == "answered"
            assert sock.recv(1) == b""


def test_only_what_is_under_way_at_the_same_time_counts():
    """Four wait for their answers, so the fifth is refused; when they are over, one is served again."""
    with serve(["busy-503"], clock=CLOCK, prefill=100.0, tpot=0.02) as running:
        url = running.base_url

        def one():
            replies.append(send(url, ask(), clock=CLOCK).status)

        replies: list[int] = []
        first = [threading.Thread(target=one) for _ in range(4)]
        for thread in first:
            thread.start()
        give_up = time.monotonic() + 5
        while len(running.origin.requests) < 4 and time.monotonic() < give_up:
            time.sleep(0.005)
        assert send(url, ask(), clock=CLOCK).status == 503
        for thread in first:
            thread.join()
        assert replies == [200] * 4
        assert send(url, ask(), clock=CLOCK).status == 200
