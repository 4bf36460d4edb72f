"""What does aiohttp say of an exchange?

A transport that rides on aiohttp makes its session in `get_client`; to each one made there a `TraceConfig` is added.
What aiohttp does not tell stays unknown: the peer and the TLS of a reused connection, and when the socket had taken a
body that is larger than its buffer.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .call import current, on_tape, under_way
from .transport import edited, end_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tape import Tape

_BUFFERED = 64 * 1024
"""Bytes that asyncio takes from a writer before the socket has (asyncio/transports.py, `_FlowControlMixin`)."""


def observe_sessions(transport: Any) -> None:
    """Have every session that `transport` makes observed."""
    make = transport.get_client

    def get_client() -> Any:
        session = make()
        session.trace_configs.append(trace())
        return session

    transport.get_client = get_client


def trace() -> Any:
    """Each signal is sent in the task of its request, before aiohttp goes on."""
    made = importlib.import_module("aiohttp").TraceConfig()
    for name, heard in _SIGNALS.items():
        getattr(made, name).append(heard)
    made.freeze()
    return made


async def exchange(
    session: Any, method: str, url: Any, headers: Sequence[tuple[str, str]], **more: Any
) -> tuple[int, int]:
    """(status, bytes on the wire) of one request of a session that `trace` observes and that decodes nothing; `headers`
    are all that is sent, in their order.
    """
    call = under_way.get()
    assert call is not None
    tape = call.begin()
    tape.url = str(url)
    tape.conditions["proxy"] = "proxy" in more
    if (dialled := call.settings["connect_to"]) is not None:
        if url.scheme == "https":
            more["server_hostname"] = url.host
        url = url.with_host(dialled[0]).with_port(dialled[1])
    token = on_tape.set(tape)
    try:
        end_with(call)
        async with session.request(
            method, url, allow_redirects=False, trace_request_ctx=headers, **more
        ) as response:
            version = f"HTTP/{response.version.major}.{response.version.minor}"
            tape.head(response.status, response.raw_headers, version)
            size = 0
            async for part in response.content.iter_any():
                tape.body(part)
                size += len(part)
            tape.whole()
    except BaseException as error:
        tape.failed(error)
        raise
    finally:
        on_tape.reset(token)
        tape.ended(call.stopped)
    return response.status, size


async def _creating(_session: Any, _context: Any, _what: Any) -> None:
    if (tape := _tape()) is not None:
        tape.phase = "connect"


async def _created(_session: Any, _context: Any, _what: Any) -> None:
    if (tape := _tape()) is not None:
        tape.conditions["connection"] = "new"
        tape.phase = "headers"
        if tape.url.startswith("https:"):
            tape.mark("tls")


async def _reused(_session: Any, _context: Any, _what: Any) -> None:
    if (tape := _tape()) is not None:
        tape.conditions["connection"] = "reused"


async def _headers_sent(_session: Any, context: Any, what: Any) -> None:
    found = current()
    if found is None:
        return
    call, tape = found
    if (given := getattr(context, "trace_request_ctx", None)) is not None:
        what.headers.clear()
        what.headers.extend(given)
    if call.settings["edits"]:
        _edit(what.headers, call.settings["edits"])
    lines = [f"{name}: {value}\r\n" for name, value in what.headers.items()]
    head = f"{what.method} {what.url.raw_path_qs} HTTP/1.1\r\n{''.join(lines)}\r\n"
    tape.wrote(head.encode("utf-8"), tape.now())


async def _chunk_sent(_session: Any, _context: Any, what: Any) -> None:
    if (tape := _tape()) is not None:
        tape.wrote(what.chunk, tape.now())
        if tape.sent_body > _BUFFERED:
            tape.marks.pop("upload_end", None)


async def _answered(_session: Any, _context: Any, what: Any) -> None:
    if (tape := _tape()) is not None:
        tape.reads_seen = False
        tape.read(b"HTTP/1.1 ")  # aiohttp shows no bytes, but it took these for a response
        _note_tls(tape, what.response.connection)


_SIGNALS = {
    "on_connection_create_start": _creating,
    "on_connection_create_end": _created,
    "on_connection_reuseconn": _reused,
    "on_request_headers_sent": _headers_sent,
    "on_request_chunk_sent": _chunk_sent,
    "on_request_end": _answered,
}


def _tape() -> Tape | None:
    found = current()
    return found[1] if found is not None else None


def _edit(headers: Any, edits: Any) -> None:
    """In place, before aiohttp writes them: what is given to a request is not yet all that is sent."""
    raw = [(name.encode("utf-8"), value.encode("utf-8")) for name, value in headers.items()]
    changed = [(name.decode("utf-8"), value.decode("utf-8")) for name, value in edited(raw, edits)]
    headers.clear()
    headers.extend(changed)


def _note_tls(tape: Tape, connection: Any) -> None:
    """`connection` is gone where the whole answer came with its head."""
    transport = connection.transport if connection is not None else None
    secured = transport.get_extra_info("ssl_object") if transport is not None else None
    if secured is not None:
        tape.note_tls(secured)
