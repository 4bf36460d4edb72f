"""Which API is probed, as flags say it?

No secret stands in them: they name environment variables.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

from probes.errors import UsageError, did_you_mean
from probes.model import EnvRef, Route, Target
from probes.target_rules import ENDPOINTS, problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from probes.strict_yaml import KeyPath

YOUR_TARGET, YOUR_MODEL = "YOUR-TARGET", "YOUR-MODEL"
"""What stands in a command of ours for what it can't know."""
_KEY_ENV = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


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
    if model == YOUR_MODEL:
        raise UsageError(f"--model: {YOUR_MODEL} stands for the name of the model that you ask")
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
    return normal(target)


def as_flags(target: Target) -> tuple[str, ...] | None:
    """The flags that make this very target, whatever its budget; `None` where none do."""
    edge, origin = target.routes.get("edge"), target.routes.get("origin")
    if edge is None:
        return None
    connect_to = origin.connect_to if origin is not None else None
    plain = {name: route.base_url for name, route in target.routes.items() if route.connect_to is None}
    routes = {name: url for name, url in plain.items() if name != "edge"}
    headers = {name: ref.env for name, ref in edge.headers.items()}
    try:
        made = target_from_flags(
            edge.base_url, target.api, target.model, key_env=target.key_env, no_key=target.key_env is None,
            endpoints=target.endpoints, routes=routes, connect_to=connect_to, proxy=edge.proxy, env_proxy=edge.env_proxy,
            headers=headers, owned=target.owned, vantage=target.vantage,
        )  # fmt: skip
    except UsageError:
        return None
    if replace(made, budget=target.budget) != target:
        return None
    key = target.key_env if target.key_env != _KEY_ENV[target.api] else None
    values = (
        ("--base-url", edge.base_url), ("--api", target.api), ("--model", target.model), ("--key-env", key),
        *(("--endpoint", name) for name in target.endpoints),
        *(("--route", f"{name}={url}") for name, url in routes.items()),
        ("--connect-to", connect_to), ("--proxy", edge.proxy),
        *(("--header", f"{name}={variable}") for name, variable in headers.items()), ("--vantage", target.vantage),
    )  # fmt: skip
    switches = {
        "--no-key": target.key_env is None,
        "--no-env-proxy": not edge.env_proxy,
        "--owned": target.owned,
    }
    said = [word for flag, value in values if value is not None for word in (flag, value)]
    return (*said, *(flag for flag, on in switches.items() if on))


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


def normal(target: Target) -> Target:
    """Without trailing slashes of base URLs."""
    routes = {n: replace(route, base_url=route.base_url.rstrip("/")) for n, route in target.routes.items()}
    return replace(target, routes=routes)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _flag(at: KeyPath, named: set[str]) -> str:
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


def refuse_scaled(target: Target) -> None:
    """Scaled time against a real service would be figures that are wrong by the scale."""
    for route in target.routes.values():
        host = urlsplit(route.base_url).hostname or ""
        try:
            here = ip_address(host).is_loopback
        except ValueError:
            here = host == "localhost"
        if not here:
            raise UsageError(f"--time-scale is for the lab on this machine, not for {host}")
