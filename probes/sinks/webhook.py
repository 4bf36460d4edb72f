"""How does another program hear of an alert?

By a POST of JSON, signed; reports/README.md documents it. A 2xx takes it, and nothing else does: no redirect is
followed, and no answer is read.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import socket
import threading
import time
from concurrent.futures import Future
from dataclasses import asdict
from datetime import UTC
from typing import TYPE_CHECKING, Any

import httpx

from probes.canary import Undelivered

if TYPE_CHECKING:
    from datetime import datetime

    from probes.canary import Deliver, Notice

SCHEMA = "edgeprobe.alert/1"
SIGNATURE, IDENTITY = "edgeprobe-signature", "edgeprobe-notice"
TIMEOUT = 10.0
"""Seconds for all of it, from the name to the status."""


def webhook(url: str, secret: str, *, timeout: float = TIMEOUT) -> Deliver:
    """A sink that POSTs to `url`."""

    def deliver(notice: Notice) -> None:
        body = json.dumps(document(notice), ensure_ascii=True).encode("ascii")
        headers = {
            "content-type": "application/json",
            "user-agent": "edgeprobe",
            IDENTITY: notice.id,
            # Of the machine's clock, as the receiver's is, also where a canary's own runs faster.
            SIGNATURE: signature(secret, body, int(time.time())),
        }
        with asyncio.Runner(loop_factory=_Loop) as runner:
            status = runner.run(_posted(url, body, headers, timeout))
        if not 200 <= status < 300:
            raise Undelivered.answered(status)

    return deliver


class _Loop(asyncio.SelectorEventLoop):
    """The system's resolver can't be interrupted. asyncio's own loop waits for it at its end, and so does the process:
    here it hangs in a thread that nobody waits for.
    """

    async def getaddrinfo(self, host: Any, port: Any, **more: Any) -> Any:
        found: Future[Any] = Future()
        found.set_running_or_notify_cancel()  # or who gives up would cancel it, and the thread could not set it

        def resolve() -> None:
            try:
                found.set_result(socket.getaddrinfo(host, port, **more))
            except (OSError, ValueError) as trouble:
                found.set_exception(trouble)

        threading.Thread(target=resolve, name="resolver", daemon=True).start()
        return await asyncio.wrap_future(found, loop=self)


def signature(secret: str, body: bytes, at: int) -> str:
    """`t=SECONDS,v1=HEX`: HMAC-SHA256 by the secret, of the seconds since 1970, a full stop and the body."""
    signed = hmac.new(secret.encode(), f"{at}.".encode("ascii") + body, hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def document(notice: Notice) -> dict[str, Any]:
    """What is sent. A key is never renamed or removed under one schema."""
    alert = notice.alert
    return {
        "schema": SCHEMA,
        "id": notice.id,
        "told": notice.told.value,
        "made": _time(notice.made),
        "alert": {
            "id": alert.id,
            "key": asdict(alert.key),
            "state": alert.state.value,
            "severity": alert.severity.value,
            "since": _time(alert.since),
            "opened": _time(alert.opened),
            "updated": _time(alert.updated),
            "resolved": _time(alert.resolved) if alert.resolved is not None else None,
            "title": alert.title,
            "text": alert.text,
            "vendor_code": alert.vendor_code,
            "clients": list(alert.clients),
            "routes": list(alert.routes),
            "entries": list(alert.entries),
            "observed": asdict(alert.observed) if alert.observed is not None else None,
            "intervals": alert.intervals,
            "run": alert.run,
            "flaps": alert.flaps,
            "window": alert.window,
        },
    }


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


async def _posted(url: str, body: bytes, headers: dict[str, str], timeout: float) -> int:  # noqa: ASYNC109 - handed on as the one for all of it
    """The status; raises Undelivered in words that hold nothing of the URL."""
    try:
        async with (
            asyncio.timeout(timeout),
            httpx.AsyncClient(follow_redirects=False, timeout=timeout) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            return response.status_code
    except TimeoutError:
        raise Undelivered(f"no answer within {timeout:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as trouble:
        raise Undelivered(f"no answer ({type(trouble).__name__})") from None
