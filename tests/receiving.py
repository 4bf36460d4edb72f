"""A receiver of notices on the loopback, which answers with the bytes that it is told to."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

OK = b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n"


def status(code, extra=b""):
    return b"HTTP/1.1 %d Told\r\n%scontent-length: 0\r\n\r\n" % (code, extra)


@dataclass
class Receiver:
    """`answers` are taken in turn, the last one for ever: bytes, or a function of the connection."""

    port: int
    answers: list
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook/very-secret-path"

    def headers(self, number=-1):
        lines = self.heads[number].decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    def wait(self, n):
        """Until so many requests came; a test that waits in vain ends by its time-out."""
        while len(self.bodies) < n:
            time.sleep(0.005)


@contextmanager
def receiving(*answers):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        receiver = Receiver(listener.getsockname()[1], list(answers or [OK]))
        thread = threading.Thread(target=_serve, args=(listener, receiver), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def _serve(listener, receiver):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            _answer(connection, receiver)


def _answer(connection, receiver):
    connection.settimeout(20)
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            return
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(
        next(
            line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        )
    )
    while len(body) < length:
        body += connection.recv(65536)
    receiver.heads.append(head)
    answer = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
    receiver.bodies.append(body)
    if callable(answer):
        answer(connection)
    else:
        connection.sendall(answer)
