"""How is the same endpoint asked plainly?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.api_paths import endpoint
from probes.kinds.reproduction.draft import ABSENT, Draft
from probes.kinds.reproduction.path import plain_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Case

_KEPT = frozenset(
    {"authorization", "x-api-key", "api-key", "x-goog-api-key", "anthropic-version", "content-type", "host"}
)
"""What a plain request needs as well: the key, and what the API asks for."""
_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_CAP = 16
_AGENTS = {"curl": "curl/{}", "httpx": "python-httpx/{}"}
_VERSIONS = {"curl": "8.14.1", "httpx": "0.28.1"}
"""Announced where the case does not know the one that is here."""


def plainly(case: Case, failing: Draft, client: str, model: str | None = None) -> Draft:
    """As curl's manual would have it: the key, its own user agent, a greeting."""
    kept = tuple(
        (name, "application/json" if name.lower() == "content-type" and failing.fields else value)
        for name, value in failing.headers
        if name.lower() in _KEPT
    )
    agent = ("User-Agent", agent_of(case, "curl"))
    return Draft(
        client,
        failing.route,
        failing.method,
        plain_path(failing.path),
        (agent, ("Accept", "*/*"), *kept),
        failing.raw,
        _greeting(case, failing, model),
    )


def agent_of(case: Case, name: str) -> str:
    version = next((client.version for client in case.clients if client.name == name), None)
    return _AGENTS[name].format(version or _VERSIONS[name])


def _greeting(case: Case, failing: Draft, model: str | None) -> dict[str, Any] | None:
    """Of a body in a form that is known; any other stays as it is."""
    known = endpoint(failing.path) or endpoint(plain_path(failing.path))
    fields = failing.fields
    if known is None or fields is None or known.dialect not in _GREETINGS:
        return dict(fields) if fields is not None else None
    said = _GREETINGS[known.dialect]
    caps = {name: _CAP for name in _CAPS if name in fields}
    if known.dialect == "anthropic.messages":
        caps = {"max_tokens": _CAP}
    return {"model": model or fields.get("model", case.target.model), **said, **caps}


STREAMS = (ABSENT, False, True)
"""What `stream` may be: some servers take only one of the three."""


def streamed(case: Case, failing: Draft, client: str) -> Iterator[Draft]:
    """The same greeting with every other value of `stream`: that of `plainly` has none."""
    known, fields = endpoint(plain_path(failing.path)), failing.fields
    if known is None or known.dialect not in _GREETINGS or fields is None:
        return
    for value in STREAMS[1:]:
        if fields.get("stream", ABSENT) is not value:
            yield plainly(case, failing, client).with_field(("stream",), value)


_HELLO = {"messages": [{"role": "user", "content": "Hi."}]}
_GREETINGS: dict[str | None, dict[str, Any]] = {
    "openai.chat": _HELLO,
    "anthropic.messages": _HELLO,
    "openai.responses": {"input": "Hi."},
    "openai.completions": {"prompt": "Hi."},
}
