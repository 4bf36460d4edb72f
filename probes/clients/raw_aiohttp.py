"""How would the same bytes come from aiohttp?

Its sockets and its TLS; the headers are the trial's, in order and case.
"""

from __future__ import annotations

import ssl
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

import aiohttp
from yarl import URL

from probes.clients import Outcome, SendLimits, Setting, uses_env_proxy
from probes.clients.as_given import Given, given
from probes.clients.observed import observe
from probes.wire import aiohttp_session
from probes.wire.backend import FAMILIES
from probes.wire.loop import LoopThread

if TYPE_CHECKING:
    from probes.model import Route, Trial

_OF_ITS_OWN = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Sender:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    @staticmethod
    def unavailable() -> str | None:
        return None

    @staticmethod
    def version() -> str | None:
        return version("aiohttp")

    @staticmethod
    def user_agent() -> str | None:
        """None: it sends the headers that it is given."""
        return None

    def connect(self, route: Route) -> Session:
        return Session(self._setting, route)


class Session:
    """One session of aiohttp, on a loop of its own. Its own time-outs are off: the trial's deadline is the only limit."""

    def __init__(self, setting: Setting, route: Route) -> None:
        self._setting = setting
        self._route = route

    def __enter__(self) -> Self:
        self._loop = LoopThread()
        self._http = self._loop.run(self._opened())
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._loop.run(self._http.close())
        finally:
            self._loop.close()

    async def _opened(self) -> aiohttp.ClientSession:
        route = self._route
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(family=FAMILIES[route.family], ssl=self._context()),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_OF_ITS_OWN,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            trust_env=uses_env_proxy(route),
            trace_configs=[aiohttp_session.trace()],
        )

    def _context(self) -> ssl.SSLContext:
        """As aiohttp makes its own (connector.py, `_make_ssl_context`), with what the environment trusts now."""
        context = ssl.create_default_context()
        context.set_alpn_protocols(("http/1.1",))
        if (cert := self._setting.secrets.client_cert(self._route)) is not None:
            context.load_cert_chain(*cert)
        return context

    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
        asked = given(self._setting, self._route, trial)
        call = partial(self._call, asked)
        return observe(self._setting, self._route, trial.request, limits, call)

    def _call(self, asked: Given) -> str:
        more: dict[str, Any] = {"proxy": self._route.proxy} if self._route.proxy else {}
        status, size = self._loop.run(
            aiohttp_session.exchange(
                self._http,
                asked.method,
                URL(asked.url, encoded=True),
                asked.headers,
                data=asked.body or None,
                **more,
            )
        )
        return f"Response: {status}, {size} bytes"
