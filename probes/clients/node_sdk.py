"""How does a user of an SDK for Node send, or of Node's own fetch?

Each call is a process. Its sockets are observed, below whichever HTTP library the SDK has, so that all of its bytes and
times are known; only what the SDK itself does between them is not.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from probes.clients import Outcome, SendLimits, dialect, environments, isolated, program, to_exchange
from probes.clients.raw_node import FOLDER, dialled, installed, no_node
from probes.model import Ask, Raised
from probes.wire.reported import Reported

if TYPE_CHECKING:
    from probes.model import Client, Route, Trial


@lru_cache
def sender_of(client: Client) -> type[Sender]:
    """The sender of one version."""
    return type("Sender", (Sender,), {"client": client})


class Sender(isolated.Sender):
    @classmethod
    def unavailable(cls) -> str | None:
        return no_node() or environments.missing(cls.client)

    @classmethod
    def version(cls) -> str | None:
        return installed() if cls.client.package == environments.BARE else super().version()

    def connect(self, route: Route) -> Session:
        return Session(self, route)


class Session(isolated.Session):
    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
        request, setting, route = trial.request, self._sender.setting, self._route
        assert isinstance(request, Ask)
        if (found := environments.of(self._sender.client)) is None:
            return isolated.absent(self._sender.client)
        url = dialect.url(setting.target, route, request)
        wire = Reported(url, body_limit=limits.body_bytes, scale=setting.clock.scale, streamed=request.stream)
        heard: dict[str, Any] = {}

        def hear(said: dict[str, Any]) -> bool:
            if said["e"] in {"version", "result"}:
                heard.update(said)
            wire.event(said)
            return said["e"] != "result" and not wire.over_limit

        job = {
            **isolated.told(setting, route, trial, limits),
            "package": self._sender.client.package,
            "folder": str(found.folder),
            "dialled": dialled(route),
            "url": url,
            "method": dialect.method(request),
            "plain": dialect.headers(setting.target, route, request, setting.secrets),
            "body": dialect.encoded(setting.target, request, trial.salt).decode("utf-8"),
        }
        seconds = setting.clock.machine(limits.deadline)
        ran = program.run(["node", str(FOLDER / "sdk.js")], json.dumps(job).encode(), limits, seconds, hear)
        exchanges = tuple(
            to_exchange(each, stream=request.stream) for each in wire.results(ran.stopped, ran.elapsed)
        )
        version = self._sender.version()
        if heard.get("version") not in {None, version}:
            said = f"{self._sender.client.package} {heard['version']} ran in place of {version}"
            return Outcome(raised=Raised("probes.WrongVersion", said))
        if "returned" not in heard and not exchanges:
            return isolated.unheard(url, ran, setting.clock.scale, stream=request.stream)
        raised = Raised(*heard["raised"]) if heard.get("raised") else None
        if "returned" not in heard:
            raised = Raised("probes.Ended", ran.stopped or "the limit of the body")
        return Outcome(exchanges, heard.get("returned"), raised)
