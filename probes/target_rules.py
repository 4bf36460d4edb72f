"""What is wrong with a target that no type can say?"""

from __future__ import annotations

import re
from dataclasses import fields
from ipaddress import ip_address
from math import isfinite
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes import acceptance
from probes.errors import did_you_mean
from probes.prices import prices
from probes.redact import looks_like_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.model import Budget, Limits, Prices, Route, Slo, Target
    from probes.strict_yaml import KeyPath

    Problem = tuple[KeyPath, str]

ENDPOINTS = {"openai": ("chat", "responses", "models"), "anthropic": ("messages", "models")}
"""By API; the first is tested when the target declares none."""
MOST = {"concurrency": 1000.0, "deadline": 7200.0, "body_mib": 65536.0}
_MOST = 1e12
IN_ENVIRONMENT = "secrets live in the environment"
NO_PRICE = (
    "no price of {model} is known; give the target prices: {{input: …, output: …}} in usd per million tokens"
)
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
    for section in ("limits", "budget", "slo", "prices"):
        yield from _number_problems(section, getattr(target, section))
    yield from _money_problems(target)
    yield from acceptance.problems(target)


def _money_problems(target: Target) -> Iterator[Problem]:
    if target.budget.usd is not None and prices(target) is None:
        yield ("budget", "usd"), f"cannot be kept: {NO_PRICE.format(model=target.model)}"
    own = target.prices
    if own is not None and own.cached is not None and own.cached > own.input:
        yield ("prices", "cached"), f"must be at most {own.input:g}, the price of input, not {own.cached:g}"


def _number_problems(section: str, numbers: Limits | Budget | Slo | Prices | None) -> Iterator[Problem]:
    zero = section in {"budget", "prices"}
    for name in (field.name for field in fields(numbers)) if numbers is not None else ():
        value, most = getattr(numbers, name), MOST.get(name, _MOST)
        if value is not None and value > most:
            yield (section, name), f"must be at most {most:g}"
        elif value is not None and not (isfinite(value) and (value > 0 or (value == 0 and zero))):
            yield (section, name), f"must be {'at least' if zero else 'above'} 0, not {value:g}"


def _route_problems(route: Route) -> Iterator[Problem]:
    if not _NAME.fullmatch(route.name):
        yield (), "a route's name is letters, digits, dots, dashes and underscores"
    if problem := _url_problem(route.base_url, bare=False):
        yield ("base_url",), problem
    if route.connect_to is not None and (problem := _address_problem(route)):
        yield ("connect_to",), problem
    if route.proxy is not None and (problem := _url_problem(route.proxy, bare=True)):
        yield ("proxy",), problem
    if problem := _family_problem(route):
        yield ("family",), problem
    for header, ref in route.headers.items():
        if not _HEADER.fullmatch(header):
            yield ("headers", header), "is not the name of an HTTP header"
        for _, problem in _variable_problems((), ref.env):
            yield ("headers", header, "env"), problem
    yield from _certificate_problems(route)


def _address_problem(route: Route) -> str | None:
    address = _ADDRESS.fullmatch(route.connect_to or "")
    if not address or not 0 < int(address[1]) < 2**16:
        return "must be HOST:PORT, such as 10.0.0.5:443 or [2001:db8::1]:443"
    return None if route.proxy is None else "cannot be had together with proxy, which does the dialling"


def _family_problem(route: Route) -> str | None:
    if route.family is None:
        return None
    if route.proxy is not None:
        return "cannot be had together with proxy, which does the dialling"
    try:
        host = urlsplit(f"//{route.connect_to}" if route.connect_to else route.base_url).hostname or ""
        version = ip_address(host.partition("%")[0]).version
    except ValueError:
        return None  # a name; or an URL that another rule speaks of
    return f"{host} is an IPv{version} address" if version != route.family else None


def _certificate_problems(route: Route) -> Iterator[Problem]:
    if route.client_key is not None and route.client_cert is None:
        yield ("client_key",), "goes with a client_cert"
    for name, path in (("client_cert", route.client_cert), ("client_key", route.client_key)):
        if path is not None:
            yield from _variable_problems((name, "env"), path.env)


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
