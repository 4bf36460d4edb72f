"""What does the canary's endpoint answer, and to whom?"""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack

import pytest
from measured import CODES
from prometheus_client.parser import text_string_to_metric_families

from probes.errors import UsageError
from probes.sinks import served
from probes.sinks.metrics import Metrics
from probes.sinks.served import serve


def well():
    return None


@pytest.fixture
def endpoint():
    with serve("127.0.0.1:0", Metrics(CODES), well, well) as running:
        yield running


def ask(running, path, method="GET", body=None):
    connection = http.client.HTTPConnection(running.address, timeout=5)
    try:
        connection.request(method, path, body=body)
        answer = connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def test_metrics_are_served_as_prometheus_reads_them(endpoint):
    """With the type that it asks for, and of the process that serves them."""
    status, body, headers = ask(endpoint, "/metrics")
    assert status == 200
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    names = {family.name for family in text_string_to_metric_families(body.decode())}
    assert "process_resident_memory_bytes" in names


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_canary_that_is_well_says_so(endpoint, path):
    """200, for whoever restarts it or sends it work."""
    assert ask(endpoint, path)[:2] == (200, b"ok\n")


def test_each_question_has_its_own_answer():
    """Not ready yet is no reason to be killed; the reason is one line."""
    with serve("127.0.0.1:0", Metrics(CODES), lambda: "no entry\r\nX: y\ud800", well) as running:
        assert ask(running, "/readyz")[:2] == (503, b"no entry X: y?\n")
        assert ask(running, "/healthz")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/metrics/", 404),
        ("GET", "/METRICS", 404),
        ("GET", "/../etc/passwd", 404),
        ("GET", "/debug/pprof", 404),
        ("POST", "/metrics", 405),
        ("DELETE", "/healthz", 405),
        ("BREW", "/readyz", 405),
    ],
)
def test_nothing_else_is_there(endpoint, method, path, status):
    """And what was asked for is not repeated."""
    told, body, headers = ask(endpoint, path, method)
    assert told == status
    assert path.encode() not in body.replace(b"/", b"") or path == "/"
    assert "server" not in headers


def test_a_query_changes_nothing(endpoint):
    """Some scrapers add one."""
    assert ask(endpoint, "/healthz?now")[0] == 200


def test_head_has_no_body(endpoint):
    """But the length that GET would have."""
    status, body, headers = ask(endpoint, "/metrics", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 0


@pytest.mark.parametrize(
    "sent",
    [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET <script> HTTP/1.1 x\r\n\r\n",
     b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n"],
    ids=["TLS", "no request", "a long path", "many headers"],
)  # fmt: skip
def test_what_is_no_request_is_refused_without_an_echo(endpoint, capfd, sent):
    """And the endpoint goes on."""
    host, _, port = endpoint.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(sent)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert b"script" not in answer
    assert b"aaaa" not in answer
    assert ask(endpoint, "/healthz")[0] == 200
    assert capfd.readouterr().err == ""


def test_readers_that_say_nothing_do_not_pile_up(endpoint):
    """More than a few at once are turned away, and there is room again once they are gone."""
    host, _, port = endpoint.address.rpartition(":")
    with ExitStack() as silent:
        held = [
            silent.enter_context(socket.create_connection((host, int(port)), timeout=5))
            for _ in range(served._AT_ONCE + 1)
        ]
        assert held[-1].recv(1) == b""
    until_free(endpoint)


def test_a_reader_that_drips_is_cut_off(endpoint, monkeypatch):
    """However often it sends a byte: it has so long for the whole of its request."""
    monkeypatch.setattr(served, "_PATIENCE", 0.2)
    host, _, port = endpoint.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=0.1) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nA: ")
        for _ in range(200):
            try:
                connection.sendall(b"a")
                if connection.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    pytest.fail("it is still being listened to")


def until_free(endpoint):
    for _ in range(100):
        try:
            if ask(endpoint, "/healthz")[0] == 200:
                return
        except (http.client.HTTPException, OSError):
            pass
    pytest.fail("nobody is let in again")


@pytest.mark.parametrize(
    "listen",
    ["9469", "127.0.0.1", ":9469", "localhost:port", "127.0.0.1:99999", "a@b:1", "http://a:1", "a:1/x", ""],
)
def test_an_address_that_is_none_is_the_operators_mistake(listen):
    """Named as it stands in the file."""
    with pytest.raises(UsageError, match="is no HOST:PORT"):
        serve(listen, Metrics(CODES), well, well)


def test_a_port_that_is_taken_is_said(endpoint):
    """With the address, before anything is measured."""
    with pytest.raises(UsageError, match=f"listen: {endpoint.address}: Address already in use"):
        serve(endpoint.address, Metrics(CODES), well, well)


def test_it_listens_on_ipv6_too():
    """In brackets, as in a URL."""
    try:
        running = serve("[::1]:0", Metrics(CODES), well, well)
    except UsageError as without:
        pytest.skip(f"no IPv6 here: {without}")
    with running:
        assert running.address.startswith("[::1]:")
        with urllib.request.urlopen(f"http://{running.address}/healthz") as answer:
            assert answer.status == 200


def test_a_closed_endpoint_is_gone(endpoint):
    """Its port is free at once."""
    with serve("127.0.0.1:0", Metrics(CODES), well, well) as other:
        address = other.address
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://{address}/healthz")
    serve(address, Metrics(CODES), well, well).close()
