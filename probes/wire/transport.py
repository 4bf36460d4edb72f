"""Which request and which response do the bytes below belong to?

The upper of the recorder's two seams: each class stands in for a transport of an httpx-family client, ties what its
sockets do to one request, and sees the body without its transfer coding.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from .call import on_tape, under_way
from .content import BodyLimit
from .tape import Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from .call import CallRecord
    from .tape import Tape


class _Seam:
    def __init__(self, inner: Any, family: Any, *, proxy: bool = False) -> None:
        self._inner = inner
        self._family = family
        self._proxy = proxy

    @contextmanager
    def _taped(self, call: CallRecord, request: Any) -> Iterator[Tape]:
        """The request's own tape, current until its response has begun; one that may not be sent ends there."""
        if call.stopped is not None and call.repeats:
            raise Refused(
                "the call has ended"
            )  # and a client that paused before it tries again does not know
        refused = call.settings["on_request"]() if call.tapes else None
        tape = call.begin()
        tape.url = str(request.url)
        if refused is not None:
            error = Refused(refused)
            tape.failed(error, phase="connect")
            tape.ended(None)
            raise error
        tape.conditions["proxy"] = self._proxy
        token = on_tape.set(tape)
        try:
            yield tape
        except BaseException as error:
            tape.failed(error)
            tape.ended(call.stopped)
            raise
        finally:
            on_tape.reset(token)

    def _edit(self, call: CallRecord, request: Any) -> None:
        if call.settings["edits"]:
            request.headers = self._family.Headers(edited(request.headers.raw, call.settings["edits"]))

    @contextmanager
    def _dialling(self, _call: CallRecord, _request: Any) -> Iterator[None]:
        """What has to be said in the request itself for another address to be dialled."""
        yield

    def _headed(self, response: Any, tape: Tape) -> BodyLimit | None:
        """The response's head is on the tape; the bound that it alone has reached, if it has."""
        version = response.extensions.get("http_version", b"HTTP/1.1").decode("ascii", "replace")
        try:
            tape.head(response.status_code, response.headers.raw, version)
        except BodyLimit as limit:
            return limit
        return None


class Transport(_Seam):
    def handle_request(self, request: Any) -> Any:
        call = under_way.get()
        if call is None:
            return self._inner.handle_request(request)
        self._edit(call, request)
        with self._taped(call, request) as tape:
            response = self._inner.handle_request(request)
        if (limit := self._headed(response, tape)) is not None:
            response.stream.close()
            tape.ended(call.stopped)
            raise limit
        response.stream = _observer(_Body, self._family.SyncByteStream)(response.stream, tape, call)
        return response

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._inner.__exit__(*exc_info)


class AsyncTransport(_Seam):
    async def handle_async_request(self, request: Any) -> Any:
        call = under_way.get()
        if call is None:
            return await self._inner.handle_async_request(request)
        self._edit(call, request)
        with self._taped(call, request) as tape, self._dialling(call, request):
            end_with(call)
            response = await self._inner.handle_async_request(request)
        if (limit := self._headed(response, tape)) is not None:
            await response.stream.aclose()
            tape.ended(call.stopped)
            raise limit
        response.stream = _observer(_AsyncBody, self._family.AsyncByteStream)(response.stream, tape, call)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._inner.__aexit__(*exc_info)


def end_with(call: CallRecord) -> None:
    """A stop of the call cancels the task that makes it; one that came before lets nothing be sent."""
    if call.stopped is not None:
        raise asyncio.CancelledError
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        loop.call_soon_threadsafe(task.cancel)

    call.when_stopped(cancel)


class AiohttpTransport(AsyncTransport):
    """One that rides on aiohttp has no network backend: what it is told to dial is said in the request's URL.

    Its edits are made by `aiohttp_session`, since aiohttp adds headers of its own to a request that lacks them.
    """

    def _edit(self, call: CallRecord, request: Any) -> None:
        pass

    @contextmanager
    def _dialling(self, call: CallRecord, request: Any) -> Iterator[None]:
        dialled, url = call.settings["connect_to"], request.url
        if dialled is None:
            yield
            return
        if url.scheme == "https":
            request.extensions = {**request.extensions, "sni_hostname": url.host}
        request.url = url.copy_with(host=dialled[0], port=dialled[1])
        try:
            yield
        finally:
            request.url = url


def edited(raw: list[tuple[bytes, bytes]], edits: Mapping[str, str | None]) -> list[tuple[bytes, bytes]]:
    """The same headers in the same order and case, but for the edited ones."""
    given = {name.lower(): None if value is None else value.encode() for name, value in edits.items()}
    prefixes = tuple(name.removesuffix("*") for name in given if name.endswith("*"))
    out = []
    for name, value in raw:
        key = name.decode("latin-1").lower()
        if key in given:
            if (replaced := given.pop(key)) is not None:
                out.append((name, replaced))
        elif not (prefixes and key.startswith(prefixes)):
            out.append((name, value))
    out += [(key.encode(), value) for key, value in given.items() if value is not None]
    return out


class _Observed:
    def __init__(self, inner: Any, tape: Tape, call: CallRecord) -> None:
        self._inner = inner
        self._tape = tape
        self._call = call

    @contextmanager
    def _iterating(self) -> Iterator[None]:
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            self._tape.failed(error)
            raise
        if self._call.stopped is None or self._tape.framed:
            self._tape.whole()


class _Body(_Observed):
    def __iter__(self) -> Iterator[bytes]:
        with self._iterating():
            for part in self._inner:
                self._tape.body(part)
                yield part

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            self._tape.ended(self._call.stopped)


class _AsyncBody(_Observed):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._iterating():
            async for part in self._inner:
                self._tape.body(part)
                yield part

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            self._tape.ended(self._call.stopped)


_observers: dict[type, type] = {}


def _observer(body: type, stream: type) -> type:
    """The family asserts that a response's stream is its own kind of byte stream, so the observer is made one."""
    if stream not in _observers:
        _observers[stream] = type(body.__name__, (body, stream), {})
    return _observers[stream]
