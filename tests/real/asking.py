"""What does `edgeprobe run` say of a base URL?"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trustme
from processes import program

from probes import lab
from probes.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

KEY = "EDGEPROBE_REAL_KEY"
GENUINE = {"openai-py", "openai-py-async", "openai-py-aiohttp", "httpx", "curl"}


@dataclass(frozen=True)
class Told:
    """A run as JSON, and the exit code."""

    code: int
    document: dict[str, Any]

    @property
    def verdict(self) -> str:
        return self.document["verdict"]

    @property
    def exchanges(self) -> list[dict[str, Any]]:
        return self.document["exchanges"]

    def troubles(self, *kinds: str) -> list[dict[str, Any]]:
        """Findings that are no pass, of these kinds where some are named."""
        return [
            finding
            for finding in self.document["findings"]
            if finding["verdict"] != "pass" and (not kinds or finding["kind"] in kinds)
        ]

    def codes(self, *kinds: str) -> set[tuple[str, str, str | None]]:
        """(code, layer, product) of each trouble."""
        return {(f["code"], f["layer"], f["product"]) for f in self.troubles(*kinds)}


@contextmanager
def an_api(*, keyed: bool = True, tpot: float = 0.02, host: str = "127.0.0.1") -> Iterator[lab.Origin]:
    """A healthy model API in real time."""
    program("curl")
    keys = frozenset({lab.LAB_KEY}) if keyed else None
    with lab.serve(clock=Clock(), keys=keys, prefill=0.02, tpot=tpot, host=host) as running:
        yield running.origin


def at(origin: lab.Origin) -> str:
    """host:port."""
    return f"127.0.0.1:{origin.server.port}"


def ask(edgeprobe, monkeypatch, suite: str, base_url: str, *flags: str, api: str = "openai") -> Told:
    """The suite's run, with the key of a keyed API."""
    monkeypatch.setenv(KEY, lab.LAB_KEY)
    target = ("--base-url", base_url, "--api", api, "--model", lab.MODEL, "--key-env", KEY)
    said = edgeprobe("run", suite, *target, *flags, "--no-store", "--json", "-")
    assert said.out.startswith("{"), said.err
    return Told(said.code, json.loads(said.out))


def certificate(
    folder: Path, monkeypatch, *, trusted: bool = True, authority: trustme.CA | None = None, **more
) -> Path:
    """A server's certificate for 127.0.0.1, ::1 and localhost; where it is `trusted`, by the environment alone."""
    authority = authority or trustme.CA()
    file = folder / "server.pem"
    authority.issue_cert(
        "127.0.0.1", "::1", "localhost", **more
    ).private_key_and_cert_chain_pem.write_to_path(file)
    (authority if trusted else trustme.CA()).cert_pem.write_to_path(folder / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
    for stronger in ("SSL_CERT_DIR", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(stronger, raising=False)
    return file
