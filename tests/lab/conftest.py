"""How do the lab's tests talk to it?"""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass

import pytest

from probes.clock import Clock
from probes.lab import LAB_KEY, MODEL, serve

CLOCK = Clock(0.004)


@dataclass
class Reply:
    """One response read to the end of its connection; `end` is `closed` or `reset`."""

    status: int | None
    fields: list[tuple[str, str]]
    wire: bytes
    end: str
    seconds: float

    def get(self, name):
        return next((value for key, value in self.fields if key.lower() == name), None)

    @property
    def tidy(self):
        """Whether the framing says that the body is whole."""
        if self.get("transfer-encoding") == "chunked":
            return self.wire.endswith(b"0\r\n\r\n")
        return len(self.wire) == int(self.get("content-length"))

    @property
    def body(self):
        if self.get("transfer-encoding") != "chunked":
            return self.wire
        body, rest = b"", self.wire
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body += rest[: int(size, 16)]
            rest = rest[int(size, 16) + 2 :]
        return body

    @property
    def json(self):
        return json.loads(self.body)


def ask(content="hi", cap=None, **more):
    """A body that both dialects take when `cap` is given."""
    cap = {"max_tokens": cap} if cap else {}
    return {"model": MODEL, "messages": [{"role": "user", "content": content}], **cap, **more}


def send(url, body=None, *, method="POST", path="/v1/chat/completions", key=LAB_KEY, headers=(), clock=CLOCK):
    """One request on a connection of its own; `body` is JSON or bytes, `headers` are pairs."""
    host, port = url.removeprefix("http://").removesuffix("/v1").rsplit(":", 1)
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    fields = [("Host", f"{host}:{port}"), ("Connection", "close"), ("Content-Length", str(len(data)))]
    if key:
        fields.append(("Authorization", f"Bearer {key}"))
    lines = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in (*fields, *headers)), "", ""]
    began = time.monotonic()
    with socket.create_connection((host.strip("[]"), int(port)), timeout=10) as sock:
        raw, end = b"", "closed"
        try:
            sock.sendall("\r\n".join(lines).encode() + data)
            while part := sock.recv(65536):
                raw += part
        except ConnectionResetError:
            end = "reset"
    seconds = (time.monotonic() - began) / clock.scale
    head, _, wire = raw.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    status = int(first.split(" ")[1]) if first else None
    return Reply(status, [tuple(line.split(": ", 1)) for line in rest], wire, end, seconds)


@pytest.fixture
def lab():
    """A healthy lab."""
    with serve(clock=CLOCK) as running:
        yield running


def settled(arrival, within=5.0):
    """The arrival once the origin has noted its end, which it does just after the other side has all of it."""
    give_up = time.monotonic() + within
    while arrival.ended is None and time.monotonic() < give_up:
        time.sleep(0.001)
    return arrival
