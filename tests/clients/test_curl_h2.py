"""Does curl speak HTTP/2 as it does alone, and say alike how a stream ended?"""

import ssl
import time
from contextlib import suppress

import h2.config
import h2.connection
import h2.events
import pytest
from wire_server import KEY, answer, ask, authority, good, send, serving

from probes import clients
from probes.clients.curl import H2Sender
from probes.config import clients as declared
from probes.model import Route

HEAD = [(":status", "200"), ("content-type", "application/json"), ("server", "a"), ("server", "b")]
BODY = good("curl").partition(b"\r\n\r\n")[2]


class Http2:
    """An HTTP/2 server for one connection: `end(connection, stream)` is what it does once a request is whole."""

    def __init__(self, end):
        self.end = end
        self.requests = []
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority().issue_cert("localhost", "127.0.0.1").configure_cert(self.tls)
        self.tls.set_alpn_protocols(["h2"])

    def __call__(self, sock):
        connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        connection.initiate_connection()
        body, goes_on = b"", True
        with suppress(OSError):
            sock.sendall(connection.data_to_send())
            while goes_on and (data := sock.recv(65536)):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        self.requests.append(event.headers)
                    elif isinstance(event, h2.events.DataReceived):
                        body += event.data
                    elif isinstance(event, h2.events.StreamEnded):
                        self.requests.append(body)
                        done = self.end(connection, event.stream_id)
                        goes_on = done is not False
                        for _ in done or ():
                            sock.sendall(connection.data_to_send())
                            time.sleep(0.1)
                sock.sendall(connection.data_to_send())


def whole(connection, stream):
    connection.send_headers(stream, HEAD)
    connection.send_data(stream, BODY[:20])
    connection.send_data(stream, BODY[20:], end_stream=True)


def half(connection, stream):
    connection.send_headers(stream, HEAD)
    connection.send_data(stream, BODY[:20])


def rst(connection, stream):
    connection.reset_stream(stream, error_code=2)


def rst_inside(connection, stream):
    """After a while: of a reset that comes with the head, curl 7.88 shows the head no more."""
    half(connection, stream)
    yield
    rst(connection, stream)


def more_headers_than_it_takes(connection, stream):
    connection.send_headers(stream, HEAD + [(f"x-{n}", "a" * 1000) for n in range(400)])


def goaway(connection, stream):
    connection.close_connection(error_code=11)
    return False


def goaway_inside(connection, stream):
    half(connection, stream)
    return goaway(connection, stream)


def close_inside(connection, stream):
    half(connection, stream)
    return False


def silent(connection, stream):
    pass


@pytest.fixture(autouse=True)
def _trusted(monkeypatch, tmp_path):
    authority().cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    for other in ("CURL_CA_BUNDLE", "SSL_CERT_DIR"):
        monkeypatch.delenv(other, raising=False)


def asked(end, **more):
    """What curl-h2 makes of a server that ends so, and what that server got."""
    server = Http2(end)
    with serving(lambda peer, _: peer.send(answer()), server.tls, whole=server) as served:
        return send("curl-h2", served.url, **more), server.requests


def test_a_good_answer():
    """Header blocks without a reason phrase, pseudo-headers as a request line, repeated values apart."""
    outcome, (headers, body) = asked(whole)
    exchange = outcome.exchanges[0]
    assert (exchange.error, exchange.status, exchange.body_head) == (None, 200, BODY)
    assert exchange.conditions["http_version"] == "HTTP/2"
    assert exchange.headers["server"] == ["a", "b"]
    assert exchange.facts["complete"]
    assert exchange.request.method == "POST"
    sent = {name.lower(): value for name, value in exchange.request.headers if name.lower() != "host"}
    assert sent == {name: value for name, value in headers if not name.startswith(":")}
    assert sent["authorization"] == f"Bearer {KEY}"
    assert exchange.request.body_bytes == len(body)
    times = exchange.timeline
    order = [
        times.dns,
        times.connect,
        times.tls,
        times.upload_start,
        times.upload_end,
        times.headers,
        times.first_byte,
    ]
    assert order == sorted(order)


ENDS = {
    "more headers than it takes": (more_headers_than_it_takes, "oversize", "headers"),
    "RST_STREAM before the answer": (rst, "reset", "headers"),
    "RST_STREAM inside the body": (rst_inside, "reset", "body"),
    "GOAWAY before the answer": (goaway, "closed", "headers"),
    "GOAWAY inside the body": (goaway_inside, "closed", "body"),
    "close inside the body": (close_inside, "closed", "body"),
    "silent": (silent, "deadline", "headers"),
    "silent inside the body": (half, "deadline", "body"),
}


@pytest.mark.parametrize(("end", "kind", "phase"), ENDS.values(), ids=ENDS)
def test_an_end_is_told_as_of_any_other_client(end, kind, phase):
    """A stream that is reset is a reset, a connection that goes away is closed."""
    outcome, _ = asked(end, deadline=0.6)
    error = outcome.exchanges[0].error
    assert (error.kind, error.phase) == (kind, phase), error
    assert (outcome.exchanges[0].status == 200) == (phase == "body")


def test_edits_are_made_there_too():
    """In lower case, as HTTP/2 has them."""
    request = ask("curl-h2", edits={"user-agent": "X", "accept": None, "x-probe": "1"})
    _, (headers, _) = asked(whole, request=request)
    assert dict(headers)["user-agent"] == "X"
    assert dict(headers)["x-probe"] == "1"
    assert "accept" not in dict(headers)


def test_a_server_without_it_is_asked_over_http_1():
    """What was agreed on is said, not what was hoped for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("localhost").configure_cert(context)
    with serving(lambda peer, _: peer.send(good("curl")), context) as server:
        exchange = send("curl-h2", server.url).exchanges[0]
    assert (exchange.error, exchange.conditions["http_version"]) == (None, "HTTP/1.1")


def test_plain_http_has_nothing_to_show():
    """HTTP/2 is agreed on in TLS: the client is left out there, with the reason."""
    client = declared()["curl-h2"]
    assert clients.unsuited(client, Route("edge", "https://a/v1")) is None
    assert (
        clients.unsuited(client, Route("edge", "http://a/v1"))
        == "HTTP/2 is agreed on in TLS, and route edge is plain http"
    )
    assert clients.unsuited(declared()["curl"], Route("edge", "http://a/v1")) is None
    only = Route("edge", "https://a/v1", http_version="2")
    assert clients.unsuited(client, only) is None
    assert clients.unsuited(declared()["curl"], only) == "curl speaks HTTP/1.1, and route edge is for HTTP/2"


def test_a_curl_without_http_2_is_said(monkeypatch, tmp_path):
    """As one that is missing or too old is."""
    from probes.clients import curl

    monkeypatch.setenv("PATH", str(tmp_path))
    for features, reason in (("SSL", "curl 8.0.1 was built without HTTP/2"), ("HTTP2 SSL", None)):
        (tmp_path / "curl").write_text(f"#!/bin/sh\necho 'curl 8.0.1 (x)'\necho 'Features: {features}'\n")
        (tmp_path / "curl").chmod(0o755)
        curl._said.cache_clear()
        assert H2Sender.unavailable() == reason
    curl._said.cache_clear()
