"""How does a user of plain httpx send?"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

import httpx

from probes.clients import Outcome, SendLimits, Setting, dialect
from probes.clients.observed import http_client, observe
from probes.model import Ask, Dial, Raw, Request, Route, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Sender:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    @staticmethod
    def unavailable() -> str | None:
        return None

    @staticmethod
    def version() -> str | None:
        return version("httpx")

    @staticmethod
    def user_agent() -> str | None:
        return f"python-httpx/{version('httpx')}"

    def connect(self, route: Route) -> Session:
        return Session(self._setting, route)


_KEPT = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=None)
"""httpx's default but for the time."""


class Session:
    """One `httpx.Client`. Its own time-outs are off: the trial's deadline is the only limit, and no hidden one.

    The pool is httpx's own, but for a named session, whose connections are to be used again: it does not give up one
    that idles, as httpx does after 5 s, so that what ends it is the peer.
    """

    def __init__(self, setting: Setting, route: Route) -> None:
        self._setting = setting
        self._route = route
        self._http = self._client()
        self._keeps = False

    def _client(self, **options: Any) -> httpx.Client:
        cert = self._setting.secrets.client_cert(self._route)
        made: httpx.Client = http_client(httpx.Client, "httpx", self._route, cert, **options)
        made.timeout = httpx.Timeout(None)
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
        if trial.session is not None and not self._keeps:
            self._http.close()
            self._http, self._keeps = self._client(limits=_KEPT), True
        wire = self._wire(trial)
        return observe(
            self._setting,
            self._route,
            trial.request,
            limits,
            lambda: self._call(wire),
            order=self._order(trial.request),
        )

    def _order(self, _request: Request) -> Sequence[str]:
        """Of header names on the wire, where it is not httpx's own."""
        return ()

    def _wire(self, trial: Trial) -> httpx.Request:
        request = trial.request
        assert not isinstance(request, Dial)
        return (
            self._asked(request, trial.salt)
            if isinstance(request, Ask)
            else self._raw(dialect.filled(request, self._setting.secrets))
        )

    def _asked(self, ask: Ask, salt: str) -> httpx.Request:
        target, secrets = self._setting.target, self._setting.secrets
        method = dialect.method(ask)
        return self._http.build_request(
            method,
            dialect.url(target, self._route, ask),
            content=dialect.encoded(target, ask, salt) if method == "POST" else None,
            headers=dialect.headers(target, self._route, ask, secrets),
        )

    def _raw(self, raw: Raw) -> httpx.Request:
        """To the byte: none of httpx's default headers but those that frame the message."""
        built = self._http.build_request(raw.method, dialect.raw_url(self._route, raw), content=raw.body)
        headers = dialect.raw_headers(self._setting.target, self._route, raw, self._setting.secrets)
        given = {name.lower() for name, _ in headers}
        framing = [
            (n, v) for n, v in built.headers.items() if n in {"host", "content-length"} and n not in given
        ]
        built.headers = httpx.Headers([*framing, *headers])
        return built

    def _call(self, request: httpx.Request) -> str:
        response = self._http.send(request, stream=True)
        try:
            size = sum(len(part) for part in _parts(response))
        finally:
            response.close()
        return f"Response: {response.status_code}, {size} bytes"


def _parts(response: httpx.Response) -> Iterator[bytes]:
    """Raw parts: the recorder decodes; a server that lies about its encoding must not raise here."""
    return response.iter_raw()
