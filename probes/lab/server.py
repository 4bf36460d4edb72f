"""Who listens, and how does everything end when the lab closes?"""

from __future__ import annotations

import errno
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from probes.errors import UsageError
from probes.lab.connection import Connection, Gone, TooSlow
from probes.lab.http1 import Head, Malformed, Request, response_head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from probes.clock import Clock

Handler = Callable[[Connection, Request], bool]
"""Answers one request; true when the connection may carry another."""


class Server:
    """A thread per connection, so that a handler reads as what happens to one request, top to bottom.

    `greet` sees each connection before its first request; `late` is told of a body that its `uplink` did not bring in
    time, on a connection that ends with it. Listens at once, accepts from `start` on. Raises UsageError where it cannot listen.
    """

    def __init__(
        self,
        handle: Handler,
        clock: Clock,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        greet: Callable[[Connection], None] = lambda _: None,
        late: Callable[[Connection, Head], None] = lambda *_: None,
    ) -> None:
        self._handle = handle
        self._greet = greet
        self._late = late
        self._clock = clock
        self._lock = threading.Lock()
        self._open: set[Connection] = set()
        self._threads: set[threading.Thread] = set()
        self._closing = threading.Event()
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family, backlog=256)
        except (OSError, OverflowError) as fault:
            raise UsageError(f"lab cannot listen on {host} port {port}: {fault}") from None
        self.host = host
        self.port: int = self._listener.getsockname()[1]

    @property
    def root_url(self) -> str:
        """Without a trailing slash."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self) -> Self:
        self._acceptor.start()
        return self

    def close(self) -> None:
        """Ends every connection, waits and transfers included, and joins every thread."""
        self._closing.set()
        # closing a listener does not wake accept(); a connection does
        with socket.socket(self._listener.family) as knock:
            knock.settimeout(1)
            knock.connect_ex(self._listener.getsockname()[:2])
        self._acceptor.join()
        self._listener.close()
        with self._lock:
            connections, threads = list(self._open), list(self._threads)
        for connection in connections:
            connection.wake()
        for thread in threads:
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def dial(self, address: tuple[str, int], patience: float) -> Iterator[Connection]:
        """A connection to `address` that ends with this server.

        Raises OSError: ConnectionRefusedError, or TimeoutError when `patience` seconds pass; Gone on close.
        """
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        with Connection(socket.socket(family), self._clock) as connection:
            try:
                self._track(connection)
                connection.sock.setblocking(False)
                started = connection.sock.connect_ex(address)
                if started == errno.EINPROGRESS:
                    poll = select.poll()
                    poll.register(connection.sock, select.POLLOUT)
                    if not poll.poll(self._clock.machine(patience) * 1000):
                        raise TimeoutError(errno.ETIMEDOUT, "no connection")
                    started = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if started:
                    raise OSError(started, "no connection")
                connection.sock.setblocking(True)
                yield connection
            finally:
                self._untrack(connection)

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                time.sleep(0.01)  # the client gave up in the queue, or there are no file descriptors left
                continue
            if self._closing.is_set():
                sock.close()
            else:
                self._spawn(Connection(sock, self._clock))

    def _serve(self, connection: Connection) -> None:
        try:
            with connection:
                self._track(connection)
                self._talk(connection)
        except Gone:
            pass
        finally:
            self._untrack(connection)
            with self._lock:
                self._threads.discard(threading.current_thread())

    def _talk(self, connection: Connection) -> None:
        self._greet(connection)
        try:
            while (request := connection.next_request()) and self._handle(connection, request):
                connection.rest()
        except Malformed as fault:
            refuse(connection, fault)
        except TooSlow as slow:
            self._late(connection, slow.head)
            connection.linger()

    def _spawn(self, connection: Connection) -> None:
        thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def _track(self, connection: Connection) -> None:
        with self._lock:
            self._open.add(connection)
        if self._closing.is_set():
            raise Gone

    def _untrack(self, connection: Connection) -> None:
        with self._lock:
            self._open.discard(connection)


def refuse(connection: Connection, fault: Malformed) -> None:
    """The bare answer of a server that could not read the request."""
    body = f"{fault}\n".encode()
    fields = (("content-type", "text/plain"), ("content-length", str(len(body))), ("connection", "close"))
    connection.send(response_head(fault.status, fields) + body)
