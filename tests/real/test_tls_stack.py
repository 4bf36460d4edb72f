"""Is a refusal by the TLS hello told from one by headers? The same header bytes over two stacks, with the curl that is
installed (the field's case 5).
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from random import Random

import httpx
import pytest
import trustme
from processes import program

from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.model import Factor, Layer, Verdict

pytestmark = [pytest.mark.real, pytest.mark.realtime]
API = b'{"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}'
BLOCKED = b"error code: 1010"
_HELLO_HEAD = 5 + 4 + 2 + 32  # record, handshake, version, random


def fingerprint(hello: bytes) -> tuple[bytes, tuple[int, ...]]:
    """The cipher suites that a TLS client offers and the types of its extensions, in its order: RFC 8446, 4.1.2.

    Where Python and curl are linked to one OpenSSL, their suites may be the same; what they ask for beyond is not.
    """
    at = _HELLO_HEAD + 1 + hello[_HELLO_HEAD]
    size = int.from_bytes(hello[at : at + 2])
    suites = hello[at + 2 : at + 2 + size]
    at += 2 + size
    at += 1 + hello[at] + 2  # compression methods, the length of the extensions
    types = []
    while at + 4 <= len(hello):
        types.append(int.from_bytes(hello[at : at + 2]))
        at += 4 + int.from_bytes(hello[at + 2 : at + 4])
    return suites, tuple(types)


class Fingerprinting:
    """An API over TLS whose edge refuses one fingerprint by Cloudflare's 1010, whatever the headers say."""

    def __init__(self, authority: trustme.CA, passes: float = 0.0) -> None:
        """`passes`: the share of what it refuses that it lets through."""
        self._passes, self._chance = passes, Random(1)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(self._context)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.seen: list[tuple[bytes, tuple[int, ...]]] = []
        self.refused: tuple[bytes, tuple[int, ...]] | None = None

    def serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                accepted, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(accepted,), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _answer(self, accepted: socket.socket) -> None:
        hello = fingerprint(accepted.recv(4096, socket.MSG_PEEK))
        self.seen.append(hello)
        with suppress(OSError), self._context.wrap_socket(accepted, server_side=True) as secured:
            head, _, body = self._read(secured).partition(b"\r\n\r\n")
            length = next((int(x.split(b":")[1]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")), 0)  # fmt: skip
            while len(body) < length:
                body += secured.recv(65536)
            refuses = hello == self.refused and self._chance.random() >= self._passes
            secured.sendall(self._said(refuses=refuses))

    def _read(self, secured: ssl.SSLSocket) -> bytes:
        got = b""
        while b"\r\n\r\n" not in got:
            if not (data := secured.recv(65536)):
                raise ConnectionError
            got += data
        return got

    @staticmethod
    def _said(*, refuses: bool) -> bytes:
        status, kind, body = (b"403 Forbidden", b"text/plain", BLOCKED) if refuses else (b"401 Unauthorized", b"application/json", API)  # fmt: skip
        marks = b"server: cloudflare\r\ncf-ray: 8c0ffee0ddba11ad-FRA\r\nconnection: close\r\n"
        return b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n%b\r\n%b" % (status, kind, len(body), marks, body)  # fmt: skip


@pytest.fixture
def edge(tmp_path, monkeypatch):
    program("curl")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    for stronger in ("SSL_CERT_DIR", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(stronger, raising=False)
    with running(Fingerprinting(authority)) as server:
        yield server


@contextmanager
def running(server):
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def identity(edge):
    target = target_from_flags(f"https://127.0.0.1:{edge.port}/v1", "openai", "m", no_key=True, env_proxy=False)  # fmt: skip
    return conduct(Order(("identity",), target, only=("openai-py", "httpx", "curl"), seed=7), Secrets(dict(os.environ)))  # fmt: skip


def test_a_rule_by_the_tls_hello(edge):
    """Python's stack is refused whatever its headers; its very header bytes over curl's stack are let pass."""
    httpx.post(f"https://127.0.0.1:{edge.port}/v1/chat/completions", json={})
    edge.refused = edge.seen[0]
    run = identity(edge)
    [found] = [f for f in run.findings if f.verdict is not Verdict.PASS]
    assert (found.code, found.verdict, found.factor) == ("blocked.client", Verdict.FAIL, Factor.TLS)
    assert (found.layer, found.product, found.vendor_code) == (Layer.EDGE, "Cloudflare", "1010")
    assert found.client == "openai-py"
    assert "httpx" in found.title
    assert "the same headers sent by curl are let pass" in dict(found.detail)["because"]
    assert "third TLS stack" in found.next_test
    assert edge.refused in edge.seen
    assert len(set(edge.seen)) > 1


def test_no_rule(edge):
    """Two stacks that are let pass bear no trouble."""
    run = identity(edge)
    assert {f.code for f in run.findings} == {"ok"}
