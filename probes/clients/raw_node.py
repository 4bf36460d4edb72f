"""How would the same bytes come from Node?

A process with Node's own TLS and sockets; the head is the trial's to the byte, and nothing of Node's HTTP is in it.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from probes.clients import Outcome, SendLimits, Setting, program, to_exchange
from probes.clients.as_given import given
from probes.clients.observed import address
from probes.model import Raised
from probes.wire import reported

if TYPE_CHECKING:
    from probes.model import Route, Trial

FOLDER = Path(reported.__file__).parent / "node"
_OLDEST = 18
_HTTPS = 443


@lru_cache
def installed() -> str | None:
    """Such as `20.20.2`."""
    if shutil.which("node") is None:
        return None
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\S+)", said)
    return found[1] if found else None


def no_node() -> str | None:
    """Why Node can't be used here, or `None`."""
    version = installed()
    if version is None:
        return "Node is not installed"
    if int(version.partition(".")[0]) < _OLDEST:
        return f"Node {version} is too old: {_OLDEST} is needed"
    return None


class Sender:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    @staticmethod
    def unavailable() -> str | None:
        return no_node()

    @staticmethod
    def version() -> str | None:
        return installed()

    @staticmethod
    def user_agent() -> str | None:
        """None: it sends the headers that it is given."""
        return None

    def connect(self, route: Route) -> Session:
        return Session(self._setting, route)


class Session:
    """Every call is a process and a connection of its own."""

    def __init__(self, setting: Setting, route: Route) -> None:
        self._setting = setting
        self._route = route

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send(self, trial: Trial, limits: SendLimits) -> Outcome:
        setting, route = self._setting, self._route
        asked = given(setting, route, trial)
        cert, key = setting.secrets.client_cert(route) or (None, None)
        parts = urlsplit(asked.url)
        job = {
            "secure": parts.scheme == "https",
            "host": parts.hostname,
            "port": parts.port or (_HTTPS if parts.scheme == "https" else 80),
            "dialled": dialled(route),
            "cert": cert,
            "key": key,
            "bytes": base64.b64encode(asked.message).decode(),
        }
        told = reported.Reported(
            asked.url, body_limit=limits.body_bytes, scale=setting.clock.scale, streamed=bool(asked.stream)
        )

        def hear(said: dict[str, Any]) -> bool:
            told.event(said)
            return not (told.whole or told.over_limit)

        seconds = setting.clock.machine(limits.deadline)
        ran = program.run(["node", str(FOLDER / "raw.js")], json.dumps(job).encode(), limits, seconds, hear)
        exchanges = told.results(ran.stopped, ran.elapsed)
        error = exchanges[-1]["error"] if exchanges else None
        if error is None and exchanges:
            size = f"{exchanges[-1]['status']}, {exchanges[-1]['body_bytes']} bytes"
            returned, raised = f"Response: {size}", None
        else:
            returned, raised = None, Raised("node", error["text"] if error else ran.complaint[-300:])
        shown = tuple(to_exchange(exchange, stream=asked.stream) for exchange in exchanges)
        return Outcome(shown, returned, raised)


def dialled(route: Route) -> dict[str, Any]:
    """What Node is to dial in place of what it would, in its own words."""
    host, port = address(route.connect_to) or (None, None)
    return {"host": host, "port": port, "family": route.family}
