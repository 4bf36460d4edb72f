"""The control address and the dead man's: what counts as an answer, and when the second is asked."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from labruns import refused_port
from turned import Wall

from probes.model import Confidence, Finding, Layer, Verdict
from probes.watch import control
from probes.watch.dead_man import DeadMan
from probes.watch.knock import knock, welcome


@contextmanager
def answering(status=200, headers=()):
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers["user-agent"]))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        serving = threading.Thread(target=http.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/ping", asked
        finally:
            http.shutdown()
            serving.join()


@contextmanager
def talking(words: bytes):
    """Says these to whoever connects, and then nothing more; it does not hang up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        kept = []

        def accept():
            try:
                while True:
                    connection, _ = listener.accept()
                    kept.append(connection)
                    connection.sendall(words)
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        listener.shutdown(socket.SHUT_RDWR)
        for connection in kept:
            connection.close()


@pytest.mark.parametrize("status", [200, 204, 401, 404, 500, 503])
def test_any_answer_proves_the_way_out(status):
    """An error of the control is its own matter."""
    with answering(status) as (url, asked):
        assert control.ask(url) == control.Control(ok=True)
    assert asked[0][0] == "/ping"
    assert asked[0][1].startswith("edgeprobe/")


def test_a_redirect_is_an_answer_and_is_not_followed():
    """Where it leads to is not the address that was configured."""
    with refused_port() as port, answering(302, [("location", f"http://127.0.0.1:{port}/")]) as (url, asked):
        assert knock(url) == 302
    assert len(asked) == 1


def test_no_answer_says_why():
    """Refused, silent, babbling; in words, without the address, which may be a secret."""
    with refused_port() as port:
        assert control.ask(f"http://127.0.0.1:{port}/secret") == control.Control(False, "Connection refused")
    with talking(b"") as url:
        assert knock(url, 0.3) in {"no answer in 0.3 s", "no answer in time"}
    with talking(b"\x00\xff garbage\r\n\r\n") as url:
        assert knock(url, 5.0) == "BadStatusLine"
    for wrong in ("http://", "nonsense", "http://[::1", "http://127.0.0.1:99999/"):
        assert isinstance(knock(wrong, 5.0), str)


def test_without_a_control_nothing_is_claimed():
    """Neither that our network works nor that it does not."""
    assert control.ask(None) == control.Control(None)


SURE = {
    "a page that the edge signed": (Layer.EDGE, Confidence.HIGH, False),
    "the origin's own error": (Layer.ORIGIN, Confidence.MEDIUM, False),
    "an edge that is only likely": (Layer.EDGE, Confidence.LOW, True),
    "nobody signed it": (Layer.UNKNOWN, Confidence.HIGH, True),
    "the network": (Layer.NETWORK, Confidence.HIGH, True),
    "our proxy": (Layer.PROXY, Confidence.HIGH, True),
    "no word of how sure": (Layer.EDGE, None, True),
}


@pytest.mark.parametrize(("layer", "confidence", "doubtful"), SURE.values(), ids=SURE)
def test_what_may_be_of_our_own_network(layer, confidence, doubtful):
    """All that was not proven to be made beyond it."""
    found = Finding("x", Verdict.FAIL, "s/k", "k", layer=layer, confidence=confidence)
    assert control.doubtful(found) is doubtful


# --- the dead man's address --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "fault"),
    [(200, None), (204, None), (302, "answered 302"), (404, "answered 404"), ("no", "no")],
)
def test_only_a_welcome_counts(answer, fault):
    """An address that does not take the ping does not watch over us."""
    assert welcome(answer) == fault


def test_it_is_asked_only_while_healthy(capsys):
    """Silence is the alarm; why it falls silent is said once."""
    ill: list[str | None] = [None, "nothing was found", "nothing was found", None]
    with answering() as (url, asked):
        man = DeadMan(url, timedelta(minutes=5), Wall(), lambda: ill.pop(0))
        seen = []
        for _ in range(4):
            man.beat()
            seen.append((len(asked), man.fault is None))
    assert seen == [(1, True), (1, False), (1, False), (2, True)]
    said = capsys.readouterr().err
    assert said.count("nothing was found") == 1
    assert url not in said


def test_it_beats_at_each_interval_until_closed():
    """From the start on; by the canary's own time."""
    beats, third = [], threading.Event()

    class Fast(Wall):
        def wait(self, seconds, wake):
            beats.append(seconds)
            if len(beats) == 3:
                third.set()
                wake.wait(10)
            return wake.is_set()

    with answering() as (url, asked):
        man = DeadMan(url, timedelta(minutes=5), Fast(), lambda: None)
        man.start()
        assert third.wait(20)
        man.close()
    assert beats == [300.0] * 3
    assert len(asked) == 3
