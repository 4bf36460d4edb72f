"""What must hold of a client that a file declares, beyond the shape of its row?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.errors import did_you_mean
from probes.sdk_versions import PACKAGES, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Client

MODES = {
    "openai_sdk": ("sync", "async", "aiohttp"),
    "anthropic_sdk": ("sync", "async", "aiohttp"),
    "raw_httpx": ("sync",),
    "curl": ("sync", "h2"),
    "raw_aiohttp": ("sync",),
    "raw_node": ("sync",),
    "isolated": ("sync",),
    "node_sdk": ("sync",),
    "emulated": ("sync",),
}
"""Kind → the modes that it has."""
SDKS = {"openai_sdk": "OpenAI SDK", "anthropic_sdk": "Anthropic SDK"}
"""Kind → product, of those that repeat a failed request by themselves unless told not to."""
_FILLED = {"host": "{host}", "content-length": "{length}"}


def problems(client: Client) -> Iterator[tuple[str, str]]:
    """(key of the row, what is wrong with it); the worst first."""
    if client.kind not in MODES:
        yield "kind", f"unknown kind {client.kind!r}{did_you_mean(client.kind, MODES)}"
        return
    if client.mode not in MODES[client.kind]:
        yield "mode", f"{client.kind} has no mode {client.mode!r}; it has {', '.join(MODES[client.kind])}"
    yield from _package(client)
    if client.kind != "emulated":
        if not client.genuine:
            yield "genuine", "only a client of the kind emulated is not genuine"
        for key in ("headers", "source"):
            if getattr(client, key):
                yield key, "goes with the kind emulated; a genuine client sends its own"
        return
    if client.genuine:
        yield "genuine", "must be false: only the headers of an emulated client are its own"
    if not client.source:
        yield (
            "source",
            "is missing: say where these headers were seen, repository and version, or how they were captured",
        )
    yield from (("headers", problem) for problem in _headers(client))


def _package(client: Client) -> Iterator[tuple[str, str]]:
    known = PACKAGES.get(client.kind)
    if known is None:
        if client.package is not None:
            yield "package", f"goes with the kinds {' and '.join(PACKAGES)}"
        return
    if client.package not in known:
        yield "package", f"must be one of {', '.join(known)}"
    elif client.package != "fetch" and not VERSION.fullmatch(client.version or ""):
        yield "version", "must be one version (1.40.0) or the newest of a line (1.*)"


def _headers(client: Client) -> Iterator[str]:
    sent = {name.lower(): value for name, value in client.headers}
    for name, token in _FILLED.items():
        if sent.get(name) != token:
            yield f"must hold {name} with the value {token}"
    if not any("{key}" in value for value in sent.values()):
        yield "must hold {key} in the header that carries the key"
    if client.api is None and "authorization" not in sent:
        yield "must hold authorization: a client of both dialects has it replaced for anthropic"
