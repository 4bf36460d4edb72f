"""Does curl send what is asked, as itself, and show no secret to the machine?"""

import hashlib
import socket
import threading
from pathlib import Path

import pytest
from wire_server import KEY, answer, ask, good, send, serving, session, trial

from probes.clients import SendLimits
from probes.clients.curl import Sender
from probes.model import EnvRef, Raw


def test_it_is_the_installed_curl_with_its_own_user_agent():
    """Its user agent and Accept are its own, and the version said is the one that sends."""
    with serving(lambda peer, _: peer.send(good("curl"))) as server:
        outcome = send("curl", server.url)
        sent = server.requests[0]
    assert f"\r\nUser-Agent: curl/{Sender.version()}\r\n".encode() in sent
    assert b"\r\nAccept: */*\r\n" in sent
    assert sent.startswith(b"POST /chat/completions HTTP/1.1\r\n")
    assert Sender.unavailable() is None
    assert outcome.returned == "Response: 200, 248 bytes"


def test_a_missing_curl_is_said(monkeypatch, tmp_path):
    """The reason is for people."""
    from probes.clients import curl

    monkeypatch.setenv("PATH", str(tmp_path))
    curl._said.cache_clear()
    try:
        assert Sender.unavailable() == "curl is not installed"
        for version, reason in (("7.69.1", "curl 7.69.1 is too old"), ("7.70.0", "None"), ("10.1", "None")):
            (tmp_path / "curl").write_text(f"#!/bin/sh\necho 'curl {version} (x) libcurl'\n")
            (tmp_path / "curl").chmod(0o755)
            curl._said.cache_clear()
            assert str(Sender.unavailable()).startswith(reason)
    finally:
        curl._said.cache_clear()


def test_no_secret_is_on_the_command_line_or_in_the_environment(monkeypatch):
    """Every process of the machine can read the one, and a crash report the other."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_HEADER", "header-secret")
    seen = {}

    def look(peer, _):
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "comm").read_text() == "curl\n":
                    seen[folder.name] = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            except OSError:
                continue
        peer.send(good("curl"))

    with serving(look) as server:
        headers = {"X-Bypass": EnvRef("MY_HEADER")}
        with session("curl", server.url, headers=headers, environ={"MY_HEADER": "header-secret"}) as opened:
            opened.send(trial("curl"), SendLimits(5.0, 1 << 20))
        assert KEY.encode() in server.requests[0]
        assert b"X-Bypass: header-secret\r\n" in server.requests[0]
    assert seen
    for shown in seen.values():
        assert KEY.encode() not in shown
        assert b"header-secret" not in shown


def test_the_users_curlrc_is_ignored(monkeypatch, tmp_path):
    """An option there would make it another client."""
    (tmp_path / ".curlrc").write_text('user-agent = "mine"\nheader = "X-Rc: 1"\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CURL_HOME", str(tmp_path))
    with serving(lambda peer, _: peer.send(good("curl"))) as server:
        send("curl", server.url)
        assert b"User-Agent: curl/" in server.requests[0]
        assert b"X-Rc" not in server.requests[0]


BODIES = {
    "every byte": bytes(range(256)),
    "a name of a file": b"@/etc/hostname",
    "quotes and line ends": b'"\\\r\n\t\x0b',
    "beyond ASCII": "Grüße, 世界 🙂".encode(),
    "one MiB": b"x" * (1 << 20),
    "more than that": "é".encode() * (1 << 19) + b"xyz",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_arrives_as_it_was(body):
    """To the byte, and its size and digest are recorded; curl asks first where it is large."""
    with serving(lambda peer, _: peer.send(answer())) as server:
        outcome = send("curl", server.url, Raw("POST", "/", (("content-type", "text/plain"),), body))
        sent = server.requests[0].partition(b"\r\n\r\n")[2]
    request = outcome.exchanges[0].request
    assert sent == body
    assert (request.body_bytes, request.body_digest) == (
        len(body),
        f"sha256:{hashlib.sha256(body).hexdigest()}",
    )
    assert outcome.exchanges[0].status == 200
    asked = any(name.lower() == "expect" for name, _ in request.headers)
    assert asked == (len(body) > 1 << 20)


def test_a_salt_beyond_ascii_is_sent_as_utf8():
    """The prompt is text, the wire has bytes."""
    with serving(lambda peer, _: peer.send(good("curl"))) as server, session("curl", server.url) as opened:
        planned = trial("curl")
        planned = type(planned)(planned.label, planned.client, planned.route, planned.request, salt="grüß")
        opened.send(planned, SendLimits(5.0, 1 << 20))
        assert "[grüß] Say hello".encode() in server.requests[0]


def test_ipv6():
    """The address is in brackets where the peer is told."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:

        def run():
            sock, _ = listener.accept()
            with sock:
                sock.recv(65536)
                sock.sendall(answer())

        thread = threading.Thread(target=run)
        thread.start()
        port = listener.getsockname()[1]
        outcome = send("curl", f"http://[::1]:{port}")
        thread.join()
    assert outcome.exchanges[0].error is None
    assert outcome.exchanges[0].conditions["peer"] == f"[::1]:{port}"


@pytest.mark.parametrize(
    ("response", "status", "body"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", 304, b""),
        (
            b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
            200,
            b"x",
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nt: 1\r\n\r\n",
            200,
            b"abc",
        ),
    ],
    ids=["204", "304 with a length", "early hints", "until close", "chunks with extension and trailer"],
)
def test_framings(response, status, body):
    """curl's own reading of where a body ends is ours."""

    def script(peer, _):
        peer.send(response)
        if b"1.0" in response:
            peer.close()

    with serving(script) as server:
        outcome = send("curl", server.url, ask("curl"))
    exchange = outcome.exchanges[0]
    assert (exchange.status, exchange.body_head, exchange.error) == (status, body, None)
    assert outcome.raised is None
