"""Where is another version of an SDK, with what it needs?

In a folder of its own below a cache, made once by uv or npm. What it depends on is that of its own time: an old version
breaks on what its dependencies have become. A folder is made under another name and renamed when it is whole, so that
neither a process beside this one nor one that was killed leaves half of one to be used.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from probes.clients.raw_node import installed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from probes.model import Client

_LATER = timedelta(days=7)
"""After a version, for what was mended in its dependencies at once."""
_SIDE_BY_SIDE = 4
_PATIENCE = 300.0
_STALE = 86_400.0
_READY = "ready.json"
_SHOWN = 160
_OF_AI = ("@ai-sdk/openai", "@ai-sdk/anthropic")
_BEHIND_AI = 3
"""Majors that those are behind the one of `ai` which they are made for."""
BARE = "fetch"
"""Node's own `fetch`, for which nothing is installed."""


class Missing(Exception):  # noqa: N818 - a client that is left out, no error
    """Why a version can't be had."""


@dataclass(frozen=True, slots=True)
class Environment:
    """`version`: the one that was found for what was asked for."""

    folder: Path
    version: str


_found: dict[Client, Environment | str] = {}


def cache() -> Path:
    """`$EDGEPROBE_CACHE`, else where the platform keeps what can be had again."""
    if named := os.environ.get("EDGEPROBE_CACHE"):
        return Path(named)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "edgeprobe"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home) / "edgeprobe" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "edgeprobe"


def prepare(clients: Iterable[Client]) -> None:
    """Has the environments of all of them made, side by side; what can't be had is known from then on."""
    wanted = [client for client in dict.fromkeys(clients) if client.package and client not in _found]
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        _found.update(zip(wanted, pool.map(_had, wanted), strict=True))


def pinned(client: Client) -> Client:
    """The client with the version that stands for what was asked for; itself where there is none."""
    found = _found.get(client)
    if not isinstance(found, Environment) or not found.version:
        return client
    exact = replace(client, version=found.version)
    _found[exact] = found
    return exact


def missing(client: Client) -> str | None:
    """Why it can't be had, as far as that is known; before `prepare` only that its installer is not there."""
    tool = _tool(client)
    found = _found.get(client)
    if isinstance(found, str):
        return found
    return f"{tool} is not installed" if found is None and shutil.which(tool) is None else None


def of(client: Client) -> Environment | None:
    """`None` where it was not prepared."""
    found = _found.get(client)
    return found if isinstance(found, Environment) else None


def _tool(client: Client) -> str:
    return "uv" if client.kind == "isolated" else "node" if client.package == BARE else "npm"


def _had(client: Client) -> Environment | str:
    assert client.package is not None
    try:
        if client.package == BARE:
            return Environment(Path(), installed() or "")
        place = _Python(client) if client.kind == "isolated" else _Node(client)
        return place.had()
    except Missing as reason:
        return f"{client.package} {client.version} can't be installed: {reason}"


class _Place:
    """Of one package: `shelf` is where its versions stand."""

    def __init__(self, client: Client, shelf: str) -> None:
        assert client.package is not None
        assert client.version is not None
        self.package, self.asked = client.package, client.version
        self._name = client.package.replace("/", "+")
        self._shelf = cache() / "sdks" / shelf

    def resolved(self) -> tuple[str, datetime | None]:
        """The newest version that is meant, and when it came out."""
        raise NotImplementedError

    def install(self, folder: Path, version: str, until: datetime | None) -> None:
        raise NotImplementedError

    def had(self) -> Environment:
        self._shelf.mkdir(parents=True, exist_ok=True)
        self._sweep()
        try:
            version, born = self.resolved()
        except Missing:
            if (kept := self._kept()) is None:
                raise
            return kept
        final = self._shelf / f"{self._name}-{version}"
        if not (final / _READY).is_file():
            self._make(final, version, born)
        return Environment(final, version)

    def _make(self, final: Path, version: str, born: datetime | None) -> None:
        folder = Path(tempfile.mkdtemp(prefix=f".{self._name}-", dir=self._shelf))
        try:
            try:
                self.install(folder, version, born and born + _LATER)
            except Missing:
                if born is None:
                    raise
                self.install(folder, version, None)
            (folder / _READY).write_text(json.dumps({"package": self.package, "version": version}))
            with suppress(OSError):  # another process was first
                folder.rename(final)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if not (final / _READY).is_file():
            raise Missing(f"{final} can't be written")

    def _kept(self) -> Environment | None:
        """The newest that is meant and that is here already, where nobody can be asked for a newer one."""
        names = [path.parent.name for path in self._shelf.glob(f"{self._name}-*/{_READY}")]
        versions = [name.removeprefix(f"{self._name}-") for name in names]
        version = newest(self.asked, versions)
        return Environment(self._shelf / f"{self._name}-{version}", version) if version else None

    def _sweep(self) -> None:
        """What a process that was killed has left."""
        for left in self._shelf.glob(".*-*"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > _STALE:
                    shutil.rmtree(left, ignore_errors=True)

    def _run(self, command: Sequence[str], given: str = "") -> str:
        try:
            done = subprocess.run(
                command,
                input=given,
                capture_output=True,
                text=True,
                check=False,
                cwd=self._shelf,
                timeout=_PATIENCE,
            )
        except FileNotFoundError:
            raise Missing(f"{command[0]} is not installed") from None
        except subprocess.TimeoutExpired:
            raise Missing(f"{command[0]} took more than {_PATIENCE:g} s") from None
        if done.returncode:
            raise Missing(_reason(done.stderr) or f"{command[0]} ended with {done.returncode}")
        return done.stdout


class _Python(_Place):
    def __init__(self, client: Client) -> None:
        super().__init__(client, f"python{sys.version_info.major}.{sys.version_info.minor}")

    def resolved(self) -> tuple[str, datetime | None]:
        compile_ = ["uv", "pip", "compile", "-q", "--no-deps", "--no-header", "--format", "pylock.toml"]
        lock = self._run(
            [*compile_, "--python", sys.executable, "-"], given=f"{self.package}=={self.asked}\n"
        )
        try:
            [package] = tomllib.loads(lock)["packages"]
            files = [*package.get("wheels", []), package.get("sdist", {})]
            born = [file["upload-time"] for file in files if "upload-time" in file]
            return str(package["version"]), min(born, default=None)
        except (ValueError, KeyError, TypeError) as fault:
            raise Missing(f"uv said what can't be read: {fault}") from None

    def install(self, folder: Path, version: str, until: datetime | None) -> None:
        self._run(
            ["uv", "venv", "-q", "--no-project", "--clear", "--relocatable", "--python", sys.executable, str(folder)]
        )  # fmt: skip
        dated = ["--exclude-newer", until.isoformat()] if until is not None else []
        # No program of a package is run to build it.
        install = ["uv", "pip", "install", "-q", "--only-binary", ":all:", *dated]
        self._run([*install, "--python", str(interpreter(folder)), f"{self.package}=={version}"])


class _Node(_Place):
    def __init__(self, client: Client) -> None:
        super().__init__(client, "node")

    def resolved(self) -> tuple[str, datetime | None]:
        said = self._run(["npm", "view", self.package, "time", "--json"])
        try:
            times = {version: str(at) for version, at in json.loads(said).items() if version[:1].isdigit()}
        except (ValueError, AttributeError) as fault:
            raise Missing(f"npm said what can't be read: {fault}") from None
        if (version := newest(self.asked, times)) is None:
            raise Missing("there is no such version")
        return version, datetime.fromisoformat(times[version])

    def install(self, folder: Path, version: str, until: datetime | None) -> None:
        (folder / "package.json").write_text('{"private": true}')
        (folder / "door.mjs").write_text("export const load = (name) => import(name);\n")
        dated = [f"--before={until.isoformat()}"] if until is not None and until < datetime.now(UTC) else []
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
        packages = [f"{self.package}@{version}"]
        if self.package == "ai":
            fits = int(version.partition(".")[0]) - _BEHIND_AI
            packages += [f"{name}@{fits}" for name in _OF_AI]
        self._run(["npm", "install", "--prefix", str(folder), *quiet, *dated, *packages])


def interpreter(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def newest(asked: str, versions: Iterable[str]) -> str | None:
    """Of the released versions that `1.40.0`, `1.40.*` or `1.*` means; `None` where there is none."""
    if not asked.endswith(".*"):
        return asked if asked in versions else None
    meant = [v for v in versions if v.startswith(asked[:-1]) and re.fullmatch(r"[\d.]+", v)]
    return max(meant, key=lambda version: [int(part) for part in version.split(".")], default=None)


def _reason(said: str) -> str:
    """The sentence of an installer that says why, without where this machine looked for it."""
    lines = [
        re.sub(r"^(?:npm (?:error|ERR!)|error:|[^\x20-\x7e]|[>\s])+", "", line).strip()
        for line in said.splitlines()
    ]
    told = [line for line in lines if line and not re.match(r"code E|A complete log|hint:|404 *$", line)]
    shown = re.sub(r"\S+://\S+", "the registry", " ".join(told[:2]))
    return shown[:_SHOWN]
