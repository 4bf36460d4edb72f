"""How does a user of another version of a Python SDK send?

Each call is a process of that version's own environment, in which `wire/worker.py` observes it.
"""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from probes.clients import (
    Outcome,
    SendLimits,
    Setting,
    dialect,
    environments,
    program,
    reasoning,
    to_exchange,
    uses_env_proxy,
)
from probes.clients.observed import address
from probes.model import Ask, Raised
from probes.wire import worker
from probes.wire.tape import Tape

if TYPE_CHECKING:
    from probes import clients
    from probes.model import Client, Route, Trial

_GRACE = 3.0
"""Machine seconds after its deadline in which a call has to come back that its own interpreter ended."""


@lru_cache
def sender_of(client: Client) -> type[Sender]:
    """The sender of one version."""
    return type("Sender", (Sender,), {"client": client})


class Sender:
    client: ClassVar[Client]

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @classmethod
    def unavailable(cls) -> str | None:
        return environments.missing(cls.client)

    @classmethod
    def version(cls) -> str | None:
        """The one that was installed for what was asked for; each call checks that it is what ran."""
        found = environments.of(cls.client)
        return found.version if found is not None else cls.client.version

    @classmethod
    def user_agent(cls) -> str | None:
        """Not known before it has sent."""
        return None

    def connect(self, route: Route) -> clients.Session:
        return Session(self, route)


class Session:
    """Every call is a process and a connection of its own."""

    def __init__(self, sender: Sender, route: Route) -> None:
        self._sender = sender
        self._route = route

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
        request, setting, route = trial.request, self._sender.setting, self._route
        assert isinstance(request, Ask)
        found = environments.of(self._sender.client)
        assert found is not None
        heard: dict[str, Any] = {}

        def hear(said: dict[str, Any]) -> bool:
            heard.update(said)
            return said.get("e") != "result"

        job = {**told(setting, route, trial, limits), "package": self._sender.client.package}
        command = [str(environments.interpreter(found.folder)), "-I", str(worker.__file__)]
        seconds = setting.clock.machine(limits.deadline) + _GRACE
        ran = program.run(command, json.dumps(job).encode(), limits, seconds, hear)
        if heard.get("e") != "result":
            return unheard(dialect.url(setting.target, route, request), ran, stream=request.stream)
        if heard["version"] != found.version:
            said = f"{self._sender.client.package} {heard['version']} ran in place of {found.version}"
            return Outcome(raised=Raised("probes.WrongVersion", said))
        exchanges = tuple(to_exchange(_bytes(each), stream=request.stream) for each in heard["exchanges"])
        raised = Raised(*heard["raised"]) if heard["raised"] else None
        return Outcome(exchanges, heard["returned"], raised)


def told(setting: Setting, route: Route, trial: Trial, limits: SendLimits) -> dict[str, Any]:
    """What a program has to know of a call, whichever SDK it has."""
    request = trial.request
    assert isinstance(request, Ask)
    return {
        "api": setting.target.api,
        "model": request.model or setting.target.model,
        "endpoint": request.endpoint,
        "key": dialect.key(setting.target, request, setting.secrets),
        "base_url": route.base_url,
        "headers": setting.secrets.headers(route),
        "arguments": reasoning.as_arguments(dialect.body(setting.target, request, trial.salt)),
        "given": request.given is not None,
        "streamed": request.stream,
        "edits": dict(request.edits),
        "connect_to": address(route.connect_to),
        "family": route.family,
        "proxy": route.proxy,
        "env_proxy": uses_env_proxy(route),
        "deadline": limits.deadline,
        "scale": setting.clock.scale,
        "body_limit": limits.body_bytes,
    }


def unheard(url: str, ran: program.Ran, *, stream: bool | None) -> Outcome:
    """Of a program that was ended, or that ended, before it said what came of its call."""
    if ran.stopped is None:
        last = ran.complaint.splitlines()[-1:] or ["it ended without a word"]
        return Outcome(raised=Raised("probes.Died", last[0]))
    tape = Tape(lambda: ran.elapsed, 0)
    tape.url = url
    tape.ended(ran.stopped)
    return Outcome((to_exchange(tape.result(), stream=stream),), None, Raised("probes.Ended", ran.stopped))


def _bytes(told: dict[str, Any]) -> dict[str, Any]:
    return {**told, **{name: base64.b64decode(told[name]) for name in ("body_head", "body_tail")}}
