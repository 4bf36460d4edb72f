"""What stands behind a server that is recorded: origins that are healthy, wrong, slow, broken or not there."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ID = "req_0123456789abcdef0123456789abcdef"  # in the form of OpenAI's
_CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1764403200,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


def _json(status: str, document: object, *, promised: int | None = None) -> bytes:
    body = json.dumps(document).encode()
    head = (
        f"HTTP/1.1 {status}\r\nServer: uvicorn\r\nContent-Type: application/json\r\nX-Request-Id: {_ID}\r\n"
        f"Content-Length: {promised or len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _error(message: str, kind: str, code: str | None) -> dict[str, object]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# To a POST. `None` says nothing for as long as the recording takes.
_ANSWERS: Mapping[str, bytes | None] = {
    "healthy": _json("200 OK", _CHAT),
    "keyless": _json(
        "401 Unauthorized",
        _error("Incorrect API key provided: sk-test.", "invalid_request_error", "invalid_api_key"),
    ),
    "invalid": _json(
        "400 Bad Request", _error("max_tokens is too large: 5.", "invalid_request_error", "invalid_value")
    ),
    "modelless": _json(
        "404 Not Found",
        _error("The model `m` does not exist.", "invalid_request_error", "model_not_found"),
    ),
    "limited": _json(
        "429 Too Many Requests", _error("Rate limit reached for requests", "requests", "rate_limit_exceeded")
    ),
    "busy": _json("503 Service Unavailable", _error("The model is overloaded.", "server_error", None)),
    # What a second proxy behind the first would say in its own name.
    "empty": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "stopping": _json("200 OK", _CHAT, promised=5000),
    "closing": b"",
    # A wrong status line would be handed on by nginx 1.22 as HTTP/0.9; a header that is none makes it answer itself.
    "garbled": b"HTTP/1.1 200 OK\r\nX-Bad\x00: 1\r\n\r\n",
    "fat": b"HTTP/1.1 200 OK\r\nX-Fat: " + b"a" * 70_000 + b"\r\n\r\n",
    "silent": None,
    "leaving": b"",
}


def _models(name: str) -> bytes:
    models = [{"id": name, "object": "model", "created": 1, "owned_by": "origin"}]
    return _json("200 OK", {"object": "list", "data": models})


@contextmanager
def origins() -> Iterator[dict[str, int]]:
    """The port of each; `refused` takes no connection.

    A GET gets what a healthy model server says of itself, whose model is called like the origin; `GET /leave` ends it.
    """
    over = threading.Event()
    servers = {name: _origin(name, answer, over) for name, answer in _ANSWERS.items()}
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and never listens, so that nobody else is given this port meanwhile
        try:
            ports = {name: server.server_address[1] for name, server in servers.items()}
            yield {**ports, "refused": held.getsockname()[1]}
        finally:
            over.set()
            for server in servers.values():
                server.shutdown()
                server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever is recorded may hang up at any time."""


def _origin(name: str, answer: bytes | None, over: threading.Event) -> _Server:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            method, path = _request(self.rfile)
            if path == "/leave":
                server.shutdown()
                server.server_close()
                self.wfile.write(_models(name))
            elif method == "GET":
                self.wfile.write(_models(name))
            elif answer is None:
                over.wait(60)
            else:
                self.wfile.write(answer)
                if name == "stopping":
                    over.wait(0.3)  # for Varnish to have begun its answer, which else is a 503 now and then

    server = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server


def _request(lines: BinaryIO) -> tuple[str, str]:
    """Method and path; read to its end, as closing before would reset the connection."""
    method, path, length = *[*lines.readline().decode().split(), "", ""][:2], 0
    while header := lines.readline().strip().lower():
        name, _, value = header.partition(b":")
        if name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            length = -1
    while length < 0 and (size := int(lines.readline(), 16)):
        lines.read(size + 2)
    lines.read(max(length, 0))
    return method, path
