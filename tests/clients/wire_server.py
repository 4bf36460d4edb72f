"""How do the tests of clients talk to a server whose every byte they choose?"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from contextlib import contextmanager, suppress
from functools import cache

import trustme

from probes import config
from probes.clients import SendLimits, Setting, sender_class
from probes.clock import Clock
from probes.credentials import Secrets
from probes.model import Ask, Route, Target, Trial

KEY = "sk-test-not-a-secret-0000"
DECLARED = config.clients()
CLIENTS = tuple(n for n, c in DECLARED.items() if c.genuine and not c.apart and c.mode != "h2")
EMULATED = tuple(name for name, client in DECLARED.items() if not client.genuine)
HTTPX_FAMILY = tuple(name for name in CLIENTS if name != "curl")
AIOHTTP = tuple(name for name in CLIENTS if name.endswith("-aiohttp"))
POOLED = tuple(name for name in HTTPX_FAMILY if name not in AIOHTTP)


class Peer:
    """One accepted connection."""

    def __init__(self, server, sock):
        self.server = server
        self.sock = sock
        self.ahead = b""

    def request(self):
        """The next request in full, as bytes; `None` when the client is done."""
        raw = self.ahead
        while (end := raw.find(b"\r\n\r\n")) < 0:
            data = self.sock.recv(65536)
            if not data:
                return None
            raw += data
        head = raw[:end].lower()
        size = int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        if b"expect: 100-continue" in head:
            self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        while len(raw) < end + 4 + size:
            data = self.sock.recv(65536)
            if not data:
                return None
            raw += data
        self.ahead = raw[end + 4 + size :]
        self.server.requests.append(raw[: end + 4 + size])
        return raw[: end + 4 + size]

    def send(self, data):
        self.sock.sendall(data)

    def wait(self):
        """Until the client leaves or the test is over."""
        while self.sock.recv(65536):
            pass

    def pause(self, seconds):
        self.server.over.wait(seconds)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


class Server:
    def __init__(self, script, tls=None, whole=None):
        self.requests: list[bytes] = []
        self.peers: list[Peer] = []
        self.over = threading.Event()
        self._script = script
        self._whole = whole
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://{'localhost' if tls else '127.0.0.1'}:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self):
        while True:
            sock, _ = self._listener.accept()
            if self.over.is_set():
                sock.close()
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock):
        peer = Peer(self, sock)
        self.peers.append(peer)
        with suppress(OSError, ValueError):
            if self._tls:
                peer.sock = self._tls.wrap_socket(sock, server_side=True)
            if self._whole:
                self._whole(peer.sock)
                peer.close()
            while (raw := peer.request()) is not None:
                self._script(peer, raw)
        peer.close()
        sock.close()

    def close(self):
        self.over.set()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            pass
        for peer in self.peers:
            with suppress(OSError):
                peer.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()


@contextmanager
def serving(script, tls=None, whole=None):
    """A server that calls `script(peer, request)` for each request; a script that closes ends the connection.

    `whole` is given each connection's socket instead, to speak another protocol on it.
    """
    server = Server(script, tls, whole)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def black_hole():
    """A port whose queue is full: connecting to it takes for ever."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            fillers.append(filler)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            for filler in fillers:
                filler.close()


def proxying(peer, raw):
    """A forward proxy: passes on what names a URL, opens a tunnel where asked to."""
    method, target, _ = raw.split(b" ", 2)
    where = target if method == b"CONNECT" else target.split(b"/")[2]
    host, _, port = where.decode().partition(":")
    with socket.create_connection((host, int(port))) as inside:
        if method == b"CONNECT":
            peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            inside.sendall(raw)
        back = threading.Thread(target=_pass, args=(inside, peer.sock))
        back.start()
        _pass(peer.sock, inside)
        back.join()
    peer.close()


def _pass(source, sink):
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@cache
def authority():
    return trustme.CA()


@cache
def server_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("localhost", "127.0.0.1", "api.test").configure_cert(context)
    return context


def answer(body=b"{}", status="200 OK", headers=(("content-type", "application/json"),)):
    """A response whole, with its length."""
    lines = [f"HTTP/1.1 {status}", *(f"{n}: {v}" for n, v in headers), f"content-length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CHAT = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}  # fmt: skip
MESSAGE = {
    "id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Hi."}], "usage": {"input_tokens": 9, "output_tokens": 2},
}  # fmt: skip


def good(client):
    """The bytes of a good answer in the client's dialect."""
    return answer(json.dumps(MESSAGE if api_of(client) == "anthropic" else CHAT).encode())


def delta(text):
    """One event of a chat stream."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def api_of(client):
    return DECLARED[client].api or "openai"


def ask(client, **more):
    return Ask("messages" if api_of(client) == "anthropic" else "chat", **more)


def setting(client, route, clock=None, environ=None, api=None):
    target = Target(
        name="test", api=api or api_of(client), model="m", routes={route.name: route}, key_env="TEST_KEY"
    )
    return Setting(DECLARED[client], target, Secrets({"TEST_KEY": KEY, **(environ or {})}), clock or Clock())


def session(client, url, *, clock=None, environ=None, **route):
    made = setting(client, Route("edge", url, **route), clock, environ)
    return sender_class(made.client)(made).connect(made.target.routes["edge"])


def trial(client, request=None, **more):
    return Trial(label="t", client=client, route="edge", request=request or ask(client, **more))


@cache
def warm(client):
    """One call, for what a client imports and makes only once: it is not what a test measures."""
    with serving(lambda peer, _: peer.send(good(client))) as server, session(client, server.url) as opened:
        opened.send(trial(client), SendLimits(30, 1 << 20))


def send(
    client,
    url,
    request=None,
    *,
    deadline=5.0,
    body_bytes=1 << 25,
    on_stop=None,
    may_go_on=None,
    stream=False,
    **route,
):
    """One call on a connection of its own."""
    warm(client)
    limits = SendLimits(deadline, body_bytes, on_stop or (lambda _stop: None), may_go_on or (lambda: None))
    with session(client, url, **route) as open_session:
        return open_session.send(trial(client, request, stream=stream), limits)
