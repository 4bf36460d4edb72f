"""How is a request sent, as which client?

One file per kind of client, each with a `Sender` (a kind that has several modes has one for each): `Sender(setting).connect(route)` is a session, a context manager
whose `send` gives an Outcome and never raises. Kinds are imported when first used: an SDK costs seconds of CPU.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from probes.clock import Clock
from probes.credentials import Secrets
from probes.model import Client, Exchange, Raised, Target, Timeline, WireError, WireRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from probes.model import Case, Route, Trial

KINDS = {
    "openai_sdk": "probes.clients.openai_sdk",
    "anthropic_sdk": "probes.clients.anthropic_sdk",
    "raw_httpx": "probes.clients.raw_httpx",
    "curl": "probes.clients.curl",
    "raw_aiohttp": "probes.clients.raw_aiohttp",
    "raw_node": "probes.clients.raw_node",
    "isolated": "probes.clients.isolated",
    "node_sdk": "probes.clients.node_sdk",
    "emulated": "probes.clients.emulated",
    "dialer": "probes.clients.dialer",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What every sender needs to know of the run."""

    client: Client
    target: Target
    secrets: Secrets
    clock: Clock


@dataclass(frozen=True, slots=True)
class SendLimits:
    """`deadline` in seconds, `body_bytes` decoded. `on_stop` is given a function that ends the call from any thread;
    `may_go_on` is asked before each further request that the client makes by itself, and says why not.
    """

    deadline: float
    body_bytes: int
    on_stop: Callable[[Callable[[str], None]], None] = lambda _stop: None
    may_go_on: Callable[[], str | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Outcome:
    """`exchanges` without ids in wire order; `returned` or `raised` as the caller of the client saw it."""

    exchanges: tuple[Exchange, ...] = ()
    returned: str | None = None
    raised: Raised | None = None


class Session(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def send(self, trial: Trial, limits: SendLimits) -> Outcome: ...


class Sender(Protocol):
    """`unavailable`: why it can't be used on this machine. `version`: of the software that sends. `user_agent`: what it
    announces of its own accord.
    """

    def __init__(self, setting: Setting) -> None: ...
    @staticmethod
    def unavailable() -> str | None: ...
    @staticmethod
    def version() -> str | None: ...
    @staticmethod
    def user_agent() -> str | None: ...
    def connect(self, route: Route) -> Session: ...


_SENDERS = {"sync": "Sender", "async": "AsyncSender", "aiohttp": "AiohttpSender", "h2": "H2Sender"}


def sender_class(client: Client) -> type[Sender]:
    """The sender of a client's kind and mode; raises ImportError where its library is missing."""
    module = importlib.import_module(KINDS[client.kind])
    if client.package is not None:
        return cast("type[Sender]", module.sender_of(client))
    return cast("type[Sender]", getattr(module, _SENDERS[client.mode]))


def unavailable(client: Client) -> str | None:
    """Why the client can't be used on this machine, or `None`."""
    try:
        return sender_class(client).unavailable()
    except ImportError as fault:
        return str(fault)


def announced(client: Client) -> tuple[str | None, str | None, str | None]:
    """(version, user agent, why it can't be used here): of an emulated client what its row says."""
    why = unavailable(client)
    if why is not None:
        return client.version, None, why
    sent = {name.lower(): value for name, value in client.headers}
    sender = sender_class(client)
    return sender.version() or client.version, sent.get("user-agent") or sender.user_agent(), None


def prepared(cases: Sequence[Case]) -> list[Case]:
    """The cases, once the SDKs of their clients are installed: with the versions that were found, where there are some."""
    wanted = [client for case in cases for client in case.clients if client.package is not None]
    if not wanted:
        return list(cases)
    environments = importlib.import_module("probes.clients.environments")
    environments.prepare(wanted)
    return [replace(case, clients=tuple(map(environments.pinned, case.clients))) for case in cases]


def unsuited(client: Client, route: Route) -> str | None:
    """Why the client has nothing to show on a route, or `None`."""
    if client.mode == "h2" and not route.base_url.startswith("https:"):
        return f"HTTP/2 is agreed on in TLS, and route {route.name} is plain http"
    spoken = "2" if client.mode == "h2" else "1.1"
    if route.http_version not in {None, spoken}:
        return f"{client.name} speaks HTTP/{spoken}, and route {route.name} is for HTTP/{route.http_version}"
    if client.package is not None and route.client_cert is not None:
        return f"{client.name} is not given the client certificate of route {route.name}"
    if client.kind in _WITHOUT_PROXIES and (proxy := _proxied(route)) is not None:
        return f"{client.name} knows no proxy, and route {route.name} goes through {proxy}"
    return None


_WITHOUT_PROXIES = {"raw_node", "node_sdk"}


def _proxied(route: Route) -> str | None:
    """What a route goes through, in words that hold no password."""
    if route.proxy is not None:
        return "one"
    parts = urlsplit(route.base_url)
    known = uses_env_proxy(route) and not proxy_bypass(parts.hostname or "") and getproxies()
    return "that of the environment" if known and (parts.scheme in known or "all" in known) else None


def uses_env_proxy(route: Route) -> bool:
    """Whether the environment's proxies count on a route; one that says where to connect goes there itself."""
    return route.env_proxy and route.connect_to is None


def to_exchange(recorded: Mapping[str, Any], *, stream: bool | None) -> Exchange:
    """The recorder's plain dict as an Exchange; its id is given by the runner."""
    request = recorded["request"]
    error = recorded["error"]
    return Exchange(
        id="",
        request=WireRequest(
            method=request["method"],
            url=request["url"],
            headers=tuple(tuple(pair) for pair in request["headers"]),
            body_bytes=request["body_bytes"],
            body_digest=request["body_digest"],
            stream=stream,
        ),
        status=recorded["status"],
        headers=recorded["headers"],
        body_head=recorded["body_head"],
        body_tail=recorded["body_tail"],
        body_bytes=recorded["body_bytes"],
        body_digest=recorded["body_digest"],
        body_encoding=recorded["body_encoding"],
        timeline=Timeline(**recorded["timeline"]),
        facts=recorded["facts"],
        chunks=recorded["chunks"],
        chunk_times=tuple(recorded["chunk_times"]),
        chunk_sizes=tuple(recorded["chunk_sizes"]),
        event_times=tuple(recorded["event_times"]),
        event_kinds=recorded["event_kinds"],
        error=WireError(**error) if error else None,
        conditions=recorded["conditions"],
    )
