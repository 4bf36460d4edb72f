"""How does a user of plain httpx send?"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Self

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


class Session:
    """One `httpx.Client`. Its own time-outs are off: the trial's deadline is the only limit, and no hidden one."""

    def __init__(self, setting: Setting, route: Route) -> None:
        self._setting = setting
        self._route = route
        cert = setting.secrets.client_cert(route)
        self._http: httpx.Client = http_client(httpx.Client, "httpx", route, cert)
        self._http.timeout = httpx.Timeout(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
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
        return self._asked(request, trial.salt) if isinstance(request, Ask) else self._raw(request)

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
