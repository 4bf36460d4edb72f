"""Which API is probed, by which routes and with which clients?

Files and flags become `model.Target` and `model.Client`, strictly. No secret stands in either: they name environment
variables, which `Secrets` reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

from probes import strict_yaml
from probes.bundled import find
from probes.credentials import PLACEHOLDER, Secrets, made_up_key
from probes.errors import ConfigError, UsageError, did_you_mean
from probes.model import Client, EnvRef, Route, Target
from probes.redact import looks_like_key
from probes.target_rules import ENDPOINTS, IN_ENVIRONMENT, problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "ENDPOINTS",
    "PLACEHOLDER",
    "Secrets",
    "assignments",
    "clients",
    "endpoints",
    "load_target",
    "made_up_key",
    "select",
    "target_from_flags",
]

TARGETS = "configs/targets"
_EXAMPLE = "example"
"""To be copied, not to be probed."""
_KEY_ENV = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}

_CONVERSATIONS = frozenset({"chat", "messages"})


def load_target(name: str | None = None) -> Target:
    """The target file that `name` (or a path) means; without a name the only one in `./configs/targets`."""
    path = find(name, TARGETS, "target") if name is not None else _only_target()
    data, lines = strict_yaml.load(path)
    _refuse_literal_secrets(path, lines)
    _name_routes(data, path, lines)
    target = _normal(strict_yaml.check(data, Target, path=path, lines=lines))
    for at, problem in problems(target):
        strict_yaml.refuse(problem, path, lines, at)
    return target


def target_from_flags(
    base_url: str,
    api: str,
    model: str,
    *,
    key_env: str | None = None,
    no_key: bool = False,
    endpoints: Sequence[str] = (),
    routes: Mapping[str, str] | None = None,
    connect_to: str | None = None,
    proxy: str | None = None,
    env_proxy: bool = True,
    headers: Mapping[str, str] | None = None,
    owned: bool = False,
    vantage: str | None = None,
) -> Target:
    """A target from the command line: `base_url` is the route `edge`, `connect_to` adds `origin` (same URL).

    `routes`: name → URL of further ones. `headers`: name → environment variable, on every route; `proxy` on every
    route that dials the URL's own address. Raises UsageError that names the flag.
    """
    if api not in ENDPOINTS:
        raise UsageError(f"--api: {api!r} is not valid{did_you_mean(api, ENDPOINTS)}")
    if key_env is not None and no_key:
        raise UsageError("--key-env and --no-key exclude each other")
    refs = {name: EnvRef(variable) for name, variable in (headers or {}).items()}
    if "edge" in (routes or {}):
        raise UsageError("--route edge: that route is --base-url")
    urls = {"edge": base_url, **(routes or {})}
    ways = {n: Route(n, url, proxy=proxy, env_proxy=env_proxy, headers=refs) for n, url in urls.items()}
    if connect_to is not None:
        if "origin" in ways:
            raise UsageError("--connect-to: it adds the route origin, which --route already names")
        ways["origin"] = Route("origin", base_url, connect_to, env_proxy=env_proxy, headers=refs)
    target = Target(
        name=_host(base_url) or "target",
        api=cast("Literal['openai', 'anthropic']", api),
        model=model,
        routes=ways,
        key_env=None if no_key else key_env or _KEY_ENV[api],
        endpoints=tuple(endpoints),
        owned=owned,
        vantage=vantage,
    )
    for at, problem in problems(target):
        raise UsageError(f"{_flag(at, set(routes or ()))}: {problem}")
    return _normal(target)


def assignments(flag: str, texts: Iterable[str], form: str) -> dict[str, str]:
    """`NAME=VALUE` arguments of a repeatable flag; `form` says in an error how to write one."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name and value):
            raise UsageError(f"{flag}: write {flag} {form}")
        if name in found:
            raise UsageError(f"{flag}: {name} is given twice")
        found[name] = value
    return found


def endpoints(target: Target) -> tuple[str, ...]:
    """What is tested: the endpoints that the target declares, else the first of its API."""
    return target.endpoints or ENDPOINTS[target.api][:1]


def conversation(target: Target) -> str:
    """The endpoint that completions are asked of; UsageError where the target offers none that can be asked today."""
    for name in endpoints(target):
        if name in _CONVERSATIONS:
            return name
    raise UsageError(f"none of the endpoints {', '.join(endpoints(target))} takes a completion")


# --- clients ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ClientsFile:
    clients: dict[str, Client]


def clients(path: Path | None = None) -> dict[str, Client]:
    """The ways to send, by name, in the order of `configs/clients.yaml`."""
    path = path or find("clients", "configs", "configuration")
    data, lines = strict_yaml.load(path)
    _fill_names(data, "clients", path, lines)
    return strict_yaml.check(data, _ClientsFile, path=path, lines=lines).clients


def select(known: Mapping[str, Client], spec: str | Sequence[str], target: Target) -> tuple[Client, ...]:
    """The clients that `spec` (`genuine`, `all`, a name, names) means, without SDKs of another API.

    Raises UsageError with the nearest valid name.
    """
    names = [spec] if isinstance(spec, str) else list(spec)
    if names in (["all"], ["genuine"]):
        chosen = [client for client in known.values() if client.genuine or names == ["all"]]
    else:
        for name in names:
            if name not in known:
                words = {"all", "genuine"} if len(names) == 1 else set[str]()
                raise UsageError(f"client {name!r} is not known{did_you_mean(name, words | known.keys())}")
        chosen = [known[name] for name in dict.fromkeys(names)]
    return tuple(client for client in chosen if client.api in {None, target.api})


# --- target files ----------------------------------------------------------------------------------------


def _only_target() -> Path:
    found = sorted(path for path in Path(TARGETS).glob("*.yaml") if path.stem != _EXAMPLE)
    if len(found) == 1:
        return found[0]
    flags = "--base-url URL --api openai|anthropic --model M"
    if not found:
        raise UsageError(f"no target: say --target NAME or {flags}; ./{TARGETS} holds none")
    known = ", ".join(path.stem for path in found)
    raise UsageError(f"which target? say --target NAME; ./{TARGETS} holds {known}")


def _refuse_literal_secrets(path: Path, lines: strict_yaml.Lines) -> None:
    """Comments too; before anything of the file is repeated in a message."""
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        if looks_like_key(text):
            here = (at for at, line in lines.items() if line == number)
            key = strict_yaml.key_path(max(here, key=len, default=()))
            said = f"looks like a secret; {IN_ENVIRONMENT}: name the variable here (key_env: PROD_KEY)"
            raise ConfigError(said, path=path, line=number, key=key)


def _name_routes(data: dict[str, Any], path: Path, lines: strict_yaml.Lines) -> None:
    for name, route in _fill_names(data, "routes", path, lines):
        headers = route.get("headers")
        for header, value in headers.items() if isinstance(headers, dict) else ():
            if not isinstance(value, dict):
                said = f"must be {{env: VARIABLE}}: {IN_ENVIRONMENT}"
                strict_yaml.refuse(said, path, lines, ("routes", name, "headers", str(header)))


def _fill_names(
    data: dict[str, Any], key: str, path: Path, lines: strict_yaml.Lines
) -> list[tuple[str, dict[str, Any]]]:
    """The rows of a mapping whose key is their name."""
    held = data.get(key)
    rows = (
        [(str(n), row) for n, row in held.items() if isinstance(row, dict)] if isinstance(held, dict) else []
    )
    for name, row in rows:
        if "name" in row:
            strict_yaml.refuse("unknown key; the key above is the name", path, lines, (key, name, "name"))
        row["name"] = name
    return rows


def _normal(target: Target) -> Target:
    routes = {n: replace(route, base_url=route.base_url.rstrip("/")) for n, route in target.routes.items()}
    return replace(target, routes=routes)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _flag(at: strict_yaml.KeyPath, named: set[str]) -> str:
    """The flag that a key path of a target came from; `named`: the routes of `--route`."""
    match at:
        case ("routes", str(route), *rest) if not rest or rest == ["base_url"]:
            return f"--route {route}" if route in named else "--base-url"
        case ("routes", _, "headers", str(header), *_):
            return f"--header {header}"
        case ("routes", _, key):
            return f"--{key}".replace("_", "-")
        case ("endpoints", *_):
            return "--endpoint"
        case _:
            return f"--{at[0]}".replace("_", "-")
