"""What is asked of a recorded server, and what came back on the wire?"""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from processes import program

PASSED_ON = {
    "healthy origin": "healthy",
    "origin refuses the key": "keyless",
    "origin overloaded": "busy",
    "origin's own empty 502": "empty",
    "origin stops in mid-body": "stopping",
}
_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class Case:
    """One request. `passed_on`: what comes back is the origin's, so that it shows marks of transit only."""

    port: int
    request: bytes
    passed_on: bool = False
    repeats: int = 1
    """The last answer counts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One response: its lines as they were sent, without its date, and its body without framing.

    `cut`: the connection ended before the body did.
    """

    status: str
    headers: tuple[str, ...]
    body: str
    cut: bool = False

    @property
    def code(self) -> int:
        return int(self.status.split()[1])

    @property
    def values(self) -> dict[str, list[str]]:
        """Name in lower case → its values."""
        found: dict[str, list[str]] = {}
        for line in self.headers:
            name, _, value = line.partition(":")
            found.setdefault(name.lower(), []).append(value.strip())
        return found


@dataclass(frozen=True, slots=True)
class Product:
    """`running` starts it in front of the origins' ports and gives what to ask; `version` is of what is installed."""

    name: str
    version: Callable[[], str]
    running: Callable[[Mapping[str, int]], AbstractContextManager[dict[str, Case]]]

    def server(self) -> str:
        """Such as `nginx/1.22.1`."""
        return f"{self.name}/{self.version()}"


def told_by(name: str, *flags: str) -> str:
    """The version that a program tells of itself, or of what it is asked about."""
    command = [program(name), *flags]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found = re.search(r"\d+\.\d+(?:\.\d+)*", told.stdout + told.stderr)
    assert found is not None, told
    return found[0]


def post(path: str, *, size: int | None = None, body: bytes = b"{}", extra: str = "") -> bytes:
    """`size`: what is announced, where it is not that of the body."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: test\r\nAccept: */*\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body) if size is None else size}\r\n"
        f"Connection: close\r\n{extra}\r\n"
    )
    return head.encode() + body


def passed_on(port: int) -> dict[str, Case]:
    """What a reverse proxy hands on, where it sends `/name` to the origin of that name."""
    return {name: Case(port, post(f"/{origin}"), passed_on=True) for name, origin in PASSED_ON.items()}


def chat(model: str, *, path: str = "/v1/chat/completions", extra: str = "", **more: object) -> bytes:
    """A question that any model API takes."""
    body = {"model": model, "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}], **more}
    return post(path, body=json.dumps(body).encode(), extra=extra)


def answer(case: Case) -> Answer | None:
    """What comes back before the other side closes; None where nothing does."""
    for _ in range(case.repeats):
        got = _exchange(case.request, case.port)
    return _parsed(got)


def _exchange(request: bytes, port: int) -> bytes:
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=_WITHIN) as connection:
        try:
            connection.sendall(request)
            while piece := connection.recv(65536):
                got += piece
        except (ConnectionResetError, BrokenPipeError):  # a server may cut off a body that it does not want
            pass
    return got


def _parsed(got: bytes) -> Answer | None:
    if not got:
        return None
    head, _, body = got.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    kept = tuple(line for line in lines if not line.lower().startswith("date:"))
    told = Answer(status, kept, "").values
    if told.get("transfer-encoding") == ["chunked"]:
        body, cut = _joined(body)
    else:
        cut = len(body) < int(told.get("content-length", ["0"])[0])
    return Answer(status, kept, body.decode(), cut)


def _joined(chunks: bytes) -> tuple[bytes, bool]:
    body = b""
    while found := re.match(rb"([0-9a-fA-F]+)[^\n]*\r\n", chunks):
        size, start = int(found[1], 16), found.end()
        if size == 0:
            return body, False
        body += chunks[start : start + size]
        chunks = chunks[start + size + 2 :]
    return body, True
