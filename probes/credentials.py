"""What is the secret behind the name of an environment variable?"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from probes.model import Route, Target

PLACEHOLDER = "EMPTY"
"""The key of a keyless target: the SDKs refuse to start without one."""


class Secrets:
    """Values are read when asked for and never stored in a target; `repr` shows none. `also`: variables whose values are
    secret, whatever a target names.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, also: Iterable[str] = ()) -> None:
        self._environ = environ
        self._also = tuple(also)

    def __repr__(self) -> str:
        return "Secrets()"

    def key(self, target: Target) -> str:
        """The target's key, or the placeholder of a keyless one; an unset variable is a UsageError."""
        if target.key_env is None:
            return PLACEHOLDER
        hint = "set it, name another with key_env, or say that no key is needed (key_env: null, --no-key)"
        return self._value(target.key_env, f"the key of target {target.name}", hint)

    def has_key(self, target: Target) -> bool:
        """Whether the variable of the target's key is set; never of a keyless target."""
        return bool(target.key_env and self._environ.get(target.key_env))

    def headers(self, route: Route) -> dict[str, str]:
        """The headers that the route adds to every request; an unset variable is a UsageError."""
        return {
            name: self._value(ref.env, f"the header {name} of route {route.name}", "set it")
            for name, ref in route.headers.items()
        }

    def client_cert(self, route: Route) -> tuple[str, str | None] | None:
        """The files of the route's client certificate and of its key; an unset variable or no file is a UsageError."""
        if route.client_cert is None:
            return None
        cert = self._file(route.client_cert.env, f"the client_cert of route {route.name}")
        if route.client_key is None:
            return cert, None
        return cert, self._file(route.client_key.env, f"the client_key of route {route.name}")

    def _file(self, variable: str, what: str) -> str:
        path = self._environ.get(variable)
        if not path:
            raise UsageError(f"{variable} is not set: it holds the path of {what}")
        if not os.access(path, os.R_OK):
            raise UsageError(f"{variable}: {what} cannot be read at {path}")
        return path

    def value(self, variable: str, what: str) -> str:
        """What a variable holds, said in `what`; one that is not set is a UsageError."""
        return self._value(variable, what, "set it")

    def known(self, variables: Iterable[str]) -> tuple[str, ...]:
        """What those hold that are set, to be redacted."""
        return tuple(value for name in variables if (value := self._environ.get(name)))

    def values(self, *targets: Target) -> tuple[str, ...]:
        """What must be redacted: the secrets these targets name that are set, and the passwords of proxies."""
        names = [*self._also, *(target.key_env for target in targets)]
        names += [
            ref.env
            for target in targets
            for route in target.routes.values()
            for ref in route.headers.values()
        ]
        found = [self._environ.get(name) for name in names if name]
        return tuple(dict.fromkeys(value for value in (*found, *self._proxy_passwords()) if value))

    def _proxy_passwords(self) -> list[str | None]:
        proxies = [value for name, value in self._environ.items() if name.lower().endswith("_proxy")]
        quoted = [_password(value) for value in proxies]
        return [*quoted, *(value and unquote(value) for value in quoted)]

    def _value(self, variable: str, what: str, hint: str) -> str:
        value = self._environ.get(variable)
        if not value:
            said = "is empty" if value == "" else "is not set"
            raise UsageError(f"{variable} {said}: it holds {what}; {hint}")
        if value != value.strip() or not (value.isascii() and value.isprintable()):
            said = "has blanks or line breaks at its ends, or characters that no HTTP header can carry"
            raise UsageError(f"{variable} {said}: it holds {what}")
        return value


def made_up_key(api: str, salt: str = "") -> str:
    """A key in the shape of the dialect's own that no server knows; the same for the same `salt`."""
    # Shapes: https://github.com/gitleaks/gitleaks, config/gitleaks.toml, rules openai-api-key, anthropic-api-key.
    text = "EdgeprobeMadeUpKey0" + hashlib.sha512(salt.encode()).hexdigest()
    return f"sk-ant-api03-{text:0<93.93}AA" if api == "anthropic" else f"sk-{text:.48}"


def _password(url: str) -> str | None:
    try:
        return urlsplit(url).password
    except ValueError:
        return None
