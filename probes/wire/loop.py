"""On what does a session of an async client run?

One event loop on one thread for the session's life, so that its pool outlives a call, as in a customer's program. The
loop is asyncio's own but for three public methods, which note that a name was resolved, a socket connected, a tunnel secured.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from .backend import FAMILIES
from .call import current

if TYPE_CHECKING:
    import socket
    from collections.abc import Coroutine

T = TypeVar("T")
_TURNS = 3
"""Of the loop, until a transport that was aborted inside a TLS handshake has closed its socket."""


class _Loop(asyncio.SelectorEventLoop):
    async def getaddrinfo(self, host: Any, port: Any, **more: Any) -> Any:
        found = current()
        if found is None:
            return await super().getaddrinfo(host, port, **more)
        call, tape = found
        if call.settings["family"] is not None:
            more["family"] = FAMILIES[call.settings["family"]]
        try:
            got = await super().getaddrinfo(host, port, **more)
        except BaseException as error:
            tape.failed(error, phase="dns")
            raise
        tape.mark("dns")
        return got

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Addresses are raced: the first that connects gives the mark, and a failure is not yet the exchange's."""
        await super().sock_connect(sock, address)
        found = current()
        if found is not None:
            tape = found[1]
            tape.marks.setdefault("connect", tape.now())
            if tape.url.startswith("https:") and not tape.conditions["proxy"]:
                tape.phase = "tls"
            host, port = address[:2]
            tape.conditions["peer"] = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def start_tls(self, *args: Any, **more: Any) -> Any:
        found = current()
        if found is not None:
            found[1].phase = "tls"
        return await super().start_tls(*args, **more)


class LoopThread:
    """Close it when the session is over."""

    def __init__(self) -> None:
        self._loop = _Loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="edgeprobe-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns or raises; it sees the context of the thread that waits here.

        Raises `concurrent.futures.CancelledError` when its task was cancelled.
        """
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Ends the thread once what was left unfinished has been cancelled."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        for _ in range(_TURNS):
            self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()
