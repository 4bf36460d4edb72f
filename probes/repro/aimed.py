"""Which target does a told request go to?

One that the operator names, or else one made of its URL.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from probes.api_paths import endpoint
from probes.errors import UsageError
from probes.target_flags import target_from_flags
from probes.target_rules import ENDPOINTS, problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.complaint import Told
    from probes.model import Target

NO_MODEL = "not-told"
_ENDPOINTS = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/v1/messages": "messages",
    "/models": "models",
}


def route_of(target: Target, told: Told) -> str:
    """Of the routes to the host that the request names, the one that customers take; UsageError where there is none."""
    host = _host(told.url)
    names = [name for name, route in target.routes.items() if _host(route.base_url) == host]
    if not names:
        hosts = ", ".join(sorted({urlsplit(route.base_url).netloc for route in target.routes.values()}))
        raise UsageError(
            f"it goes to {urlsplit(told.url).netloc}, which is none of target {target.name}'s hosts ({hosts}); "
            "without --target the URL itself is taken"
        )
    return "edge" if "edge" in names else names[0]


def target_of(told: Told, key_env: str | None, said: Mapping[str, Any]) -> Target:
    """Made of the URL. `said`: what the flags say beside it, as `target_from_flags` takes it, with `api` and `model`."""
    api, model = said.get("api") or _api(told), said.get("model") or _model(told)
    known = endpoint(told.url)
    name = _ENDPOINTS.get(known.path) if known is not None else None
    declared = [name] if name in ENDPOINTS.get(api, ()) else []
    rest = {key: value for key, value in said.items() if key not in {"api", "model"}}
    rest["endpoints"] = rest.get("endpoints") or declared
    made = target_from_flags(_base_url(told.url), api, model, key_env=key_env, no_key=key_env is None, **rest)
    edge = made.routes["edge"]
    if edge.proxy is None:
        edge = replace(edge, connect_to=told.connect_to, family=told.family)
    found = replace(made, routes={**made.routes, "edge": edge})
    for at, problem in problems(found):
        raise UsageError(f"{'.'.join(map(str, at))}: {problem}")
    return found


def moved(told: Told, base_url: str) -> Told:
    """The same request of the host of another base URL."""
    before, after = _base_url(told.url), base_url.rstrip("/")
    if before == after:
        return told
    said = f"asked of {urlsplit(after).netloc}, and not of {urlsplit(before).netloc}"
    url = after + told.url.removeprefix(before)
    hosts = tuple((name, value) for name, value in told.headers if name.lower() != "host")
    return replace(told, url=url, headers=hosts, connect_to=None, family=None, notes=(*told.notes, said))


def _host(url: str) -> tuple[str | None, int | None]:
    parts = urlsplit(url)
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _api(told: Told) -> str:
    known = endpoint(told.url)
    if known is not None and known.api is not None:
        return known.api
    names = {name.lower() for name, _ in told.headers}
    return "anthropic" if names & {"x-api-key", "anthropic-version"} else "openai"


def _model(told: Told) -> str:
    try:
        document = json.loads(told.body)
    except (ValueError, RecursionError):
        return NO_MODEL
    model = document.get("model") if isinstance(document, dict) else None
    return model if isinstance(model, str) and model and len(model) < 200 else NO_MODEL


def _base_url(url: str) -> str:
    """As the API's SDK takes it, or what stands before `/v1`."""
    parts = urlsplit(url)
    path, known = parts.path.rstrip("/"), endpoint(url)
    if known is not None and path.endswith(known.path):
        path = path.removesuffix(known.path)
    else:
        before, version, _ = path.partition("/v1")
        path = before + version if version else ""
    return f"{parts.scheme}://{parts.netloc}{path}"
