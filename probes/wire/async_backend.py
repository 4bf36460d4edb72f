"""What do the sockets of an async pool do?

As `backend` for the sync one. Look-up and connect are noted by the session's own event loop (`loop`), because anyio
resolves and races the addresses in one go, and that race is the customer's; a call is ended by cancelling its task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .backend import Connection

if TYPE_CHECKING:
    from collections.abc import Callable

    from .call import CallRecord
    from .tape import Tape


class AsyncStream(Connection):
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the seam's own shape
        tape = self.bind()
        if tape is None:
            await self.inner.write(buffer, timeout)
            return
        started = tape.now()
        try:
            await self.inner.write(buffer, timeout)
        except BaseException as error:
            tape.failed(error, phase="upload")
            raise
        tape.wrote(buffer, started)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        tape = self.tape
        if tape is not None:
            tape.unread.asked(tape.now())
        try:
            data: bytes = await self.inner.read(max_bytes, timeout)
        except BaseException as error:
            if tape is not None:
                tape.failed(error)
            raise
        if tape is not None and data:
            tape.read(data)
        return data

    async def start_tls(
        self,
        ssl_context: Any,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> AsyncStream:
        found = self.current()
        try:
            inner = await self.inner.start_tls(ssl_context, server_hostname, timeout)
        except BaseException as error:
            if found is not None:
                found[1].failed(error, phase="tls")
            if not isinstance(
                error, Exception
            ):  # cancelled: httpcore 1.0.9 and httpcore2 2.16 then leave the socket open
                await self.inner.aclose()
            raise
        if found is not None:
            self.secured(found[1])
        return AsyncStream(inner, self.current)

    async def aclose(self) -> None:
        await self.inner.aclose()


class AsyncBackend:
    def __init__(self, inner: Any, current: Callable[[], tuple[CallRecord, Tape] | None]) -> None:
        self._inner = inner
        self._current = current

    async def connect_tcp(self, host: str, port: int, **more: Any) -> AsyncStream:
        found = self._current()
        if found is None:
            return AsyncStream(await self._inner.connect_tcp(host, port, **more), self._current)
        call, tape = found
        host, port = call.settings.get("connect_to") or (host, port)
        try:
            inner = await self._inner.connect_tcp(host, port, **more)
        except BaseException as error:
            tape.failed(error, phase="connect")
            raise
        return AsyncStream(inner, self._current)

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> Any:
        return await self._inner.connect_unix_socket(*args, **kwargs)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
