"""Whose software sent a request, by what it announces and as the table of clients knows it?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from probes import clients, config
from probes.imports.taken import KEY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probes.model import Client

_GENUINE = {
    "openai/python": "openai-py",
    "asyncopenai/python": "openai-py-async",
    "anthropic/python": "anthropic-py",
    "asyncanthropic/python": "anthropic-py-async",
    "python-httpx": "httpx",
    "curl": "curl",
}
"""Product of the user agent → client; those of the SDKs are the names of their classes."""
_PRODUCT = re.compile(r"([A-Za-z][\w.-]*(?:/[A-Za-z]+)?)[ /]v?(\d[\w.+-]*)")
_FRAMING = frozenset({"host", "content-length"})


def whose(headers: Iterable[tuple[str, str]]) -> tuple[str | None, str | None]:
    """(name of the client, version of its software); of what nobody here knows, neither."""
    agent = next((value for name, value in headers if name.lower() == "user-agent"), "")
    found = _PRODUCT.match(agent.strip())
    if found is None or found[1].lower() == "mozilla":  # every browser, and what calls itself one
        return None, None
    name = {**_emulated(), **_GENUINE}.get(found[1].lower())
    return (name, found[2]) if name is not None else (None, None)


@lru_cache
def _emulated() -> dict[str, str]:
    rows: dict[str, str] = {}
    for client in config.clients().values():
        agent = next((value for name, value in client.headers if name.lower() == "user-agent"), "")
        found = _PRODUCT.match(agent)
        if found is not None:
            rows.setdefault(found[1].lower(), client.name)
    return rows


def sent_by(client: Client, version: str | None) -> list[tuple[str, str]]:
    """The headers that this software sends with a body of JSON, with the version that somebody says and no key."""
    key = f"{{env:{KEY}}}"
    if client.headers:
        rows = [
            (name, value.replace("{key}", key))
            for name, value in client.headers
            if name.lower() not in _FRAMING
        ]
        return _of_version(rows, client.version, version)
    sender = clients.sender_class(client)
    made = getattr(sender, "client_class", None)
    if made is None:  # one that builds its requests as plain HTTP
        agent = sender.user_agent() or ""
        rows = [("accept", "*/*"), ("user-agent", agent), ("content-type", "application/json")]
        return _of_version([*rows, _auth(client, key)], sender.version(), version)
    said = made(api_key=key, base_url="http://localhost").default_headers
    rows = [(name, value) for name, value in said.items() if isinstance(value, str)]
    if not any(key in value for _, value in rows):  # it is added when a request is sent
        rows.append(_auth(client, key))
    return _of_version(rows, sender.version(), version)


def _auth(client: Client, key: str) -> tuple[str, str]:
    return ("X-Api-Key", key) if client.api == "anthropic" else ("Authorization", f"Bearer {key}")


def _of_version(rows: list[tuple[str, str]], ours: str | None, theirs: str | None) -> list[tuple[str, str]]:
    if ours is None or theirs is None or ours == theirs:
        return rows
    told = {"user-agent", "x-stainless-package-version"}
    return [(name, value.replace(ours, theirs) if name.lower() in told else value) for name, value in rows]
