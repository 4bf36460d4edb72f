"""What is wrong with a target that no type can say?"""

from __future__ import annotations

import re
from dataclasses import fields
from math import isfinite
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.errors import did_you_mean
from probes.redact import looks_like_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Budget, Limits, Route, Target
    from probes.strict_yaml import KeyPath

    Problem = tuple[KeyPath, str]

ENDPOINTS = {"openai": ("chat", "responses", "models"), "anthropic": ("messages", "models")}
"""By API; the first is tested when the target declares none."""
IN_ENVIRONMENT = "secrets live in the environment"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110, 5.6.2
_NAME = re.compile(r"[A-Za-z0-9._:-]+")
_ADDRESS = re.compile(r"(?:\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[^\s:/@\[\]]+):(\d{1,5})")


def problems(target: Target) -> Iterator[Problem]:
    """Key path and problem, in the order of the keys; no text repeats what may be a secret."""
    if not _NAME.fullmatch(target.name):
        yield ("name",), "must be letters, digits, dots, dashes and underscores"
    if not target.model.strip():
        yield ("model",), "is empty"
    if target.key_env is not None:
        yield from _variable_problems(("key_env",), target.key_env)
    for index, endpoint in enumerate(target.endpoints):
        if endpoint not in (valid := ENDPOINTS[target.api]):
            said = f"{endpoint!r} is no endpoint of the {target.api} API"
            yield ("endpoints", index), said + did_you_mean(endpoint, valid)
    if not target.routes:
        yield ("routes",), "is empty; the customers' way in is `edge: {base_url: …}`"
    for route in target.routes.values():
        for key, problem in _route_problems(route):
            yield ("routes", route.name, *key), problem
    yield from _number_problems("limits", target.limits)
    yield from _number_problems("budget", target.budget)
    if target.budget.usd is not None:
        yield ("budget", "usd"), "cannot be kept yet, since no prices are known; use requests and tokens"


def _number_problems(section: str, numbers: Limits | Budget) -> Iterator[Problem]:
    least = "above" if section == "limits" else "at least"
    for name in (field.name for field in fields(numbers)):
        value = getattr(numbers, name)
        if value is not None and not (
            isfinite(value) and (value > 0 or (value == 0 and section == "budget"))
        ):
            yield (section, name), f"must be {least} 0, not {value:g}"


def _route_problems(route: Route) -> Iterator[Problem]:
    if not _NAME.fullmatch(route.name):
        yield (), "a route's name is letters, digits, dots, dashes and underscores"
    if problem := _url_problem(route.base_url, bare=False):
        yield ("base_url",), problem
    if route.connect_to is not None:
        address = _ADDRESS.fullmatch(route.connect_to)
        if not address or not 0 < int(address[1]) < 2**16:
            yield ("connect_to",), "must be HOST:PORT, such as 10.0.0.5:443 or [2001:db8::1]:443"
        if route.proxy is not None:
            yield ("connect_to",), "cannot be had together with proxy, which does the dialling"
    if route.proxy is not None and (problem := _url_problem(route.proxy, bare=True)):
        yield ("proxy",), problem
    for header, ref in route.headers.items():
        if not _HEADER.fullmatch(header):
            yield ("headers", header), "is not the name of an HTTP header"
        for _, problem in _variable_problems((), ref.env):
            yield ("headers", header, "env"), problem


def _variable_problems(at: KeyPath, variable: str) -> Iterator[Problem]:
    """The text is not repeated: it may be the secret itself."""
    if not _VARIABLE.fullmatch(variable) or looks_like_key(variable):
        yield at, f"must be the name of an environment variable, such as PROD_KEY; {IN_ENVIRONMENT}"


def _url_problem(url: str, *, bare: bool) -> str | None:
    """`bare`: without a path, as a proxy's."""
    example = "http://proxy.example.com:3128" if bare else "https://api.example.com/v1"
    malformed = f"must be an absolute http or https URL, such as {example}"
    try:
        parts = urlsplit(url)
        if parts.username is not None:
            return f"holds a user name or password; {IN_ENVIRONMENT}" + (" (HTTPS_PROXY)" if bare else "")
        port = parts.port
    except ValueError:
        return malformed
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or re.search(r"[\s\\]", url):
        return malformed
    if "?" in url or "#" in url:
        return "must end with its path: no query, no fragment"
    if bare and parts.path.strip("/"):
        return malformed
    return None
