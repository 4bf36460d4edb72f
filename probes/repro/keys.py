"""With which secrets is a told request asked?

A text comes from a stranger, and so does the host that it names: of this machine's variables it gets the value of none
but those that the operator's own command line or target names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.complaint import reference
from probes.credentials import PLACEHOLDER
from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.complaint import Told
    from probes.imports.taken import Taken

_AUTHORIZING = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key"})
_KEY = re.compile(r"(?:(?:bearer|token|apikey) +)?\{env:(\w+)\}", re.IGNORECASE | re.ASCII)
_REFERENCE = re.compile(r"\{env:([A-Za-z_]\w*)\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Named:
    """What the operator names. `key_env`: by --key-env or a target's file. `headers`: header → variable."""

    key_env: str | None
    no_key: bool
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Keyed:
    """The request with what it may hold, and the variable of the key for requests beside it; `None` without one."""

    told: Told
    key_env: str | None


def keyed(told: Told, taken: Taken, named: Named, environ: Mapping[str, str]) -> Keyed:
    """Raises UsageError where a value is needed that nobody named."""
    told = _by_header(told, named.headers)
    variable = key_of(told)
    theirs = variable is not None and variable in taken.environ
    ours = named.key_env is not None and (bool(environ.get(named.key_env)) or not theirs)
    if named.no_key and variable is not None and not theirs:
        told, variable = _with_value(told, variable, PLACEHOLDER), None
        told = _noted(told, "asked without a key, as --no-key says")
    elif ours and named.key_env is not None and variable is not None and variable != named.key_env:
        why = ", not with the one in what was given" if theirs else ""
        told = _noted(_renamed(told, variable, named.key_env), f"asked with the key in {named.key_env}{why}")
        variable = named.key_env
    elif ours and variable is None and told.form == "har" and not _authorizes(told):
        told, variable = _put_back(told, named.key_env or ""), named.key_env
    allowed = {*taken.environ, *named.headers.values(), *([named.key_env] if named.key_env else [])}
    _check(told, variable, allowed)
    used = tuple(name for name in told.secrets if _uses(told, name))
    return Keyed(replace(told, secrets=used), variable or (named.key_env if ours else None))


def key_of(told: Told) -> str | None:
    """The variable of the key that authorizes it; `None` where none does, or a user's name and password."""
    for name, value in told.headers:
        found = _KEY.fullmatch(value) if name.lower() in _AUTHORIZING else None
        if found is not None:
            return found[1]
    return None


def _authorizes(told: Told) -> bool:
    return any(name.lower() in _AUTHORIZING for name, _ in told.headers)


def _check(told: Told, key: str | None, allowed: set[str]) -> None:
    asked = [name for name in told.secrets if _uses(told, name) and name not in allowed]
    if not asked:
        return
    host = urlsplit(told.url).netloc
    if key in asked:
        raise UsageError(
            f"its key is not told; say --key-env VAR, the variable whose value {host} may have, or --no-key to ask without one"
        )
    headers = [name for name, value in told.headers if reference(asked[0]) in value]
    if headers:
        raise UsageError(
            f"the value of its header {headers[0]} is not told; say --header {headers[0]}=VAR, the variable that holds it"
        )
    raise UsageError(
        f"it names the variable {asked[0]}, whose value is not told; write the value in its place"
    )


def _uses(told: Told, name: str) -> bool:
    said = reference(name)
    return said in told.url or said.encode() in told.body or any(said in value for _, value in told.headers)


def _by_header(told: Told, headers: Mapping[str, str]) -> Told:
    """With the variables of --header, in the headers that it has."""
    by_name = {name.lower(): variable for name, variable in headers.items()}
    pairs = tuple(
        (name, reference(by_name[name.lower()]) if name.lower() in by_name else value)
        for name, value in told.headers
    )
    given = [
        variable
        for name, variable in headers.items()
        if name.lower() in {one.lower() for one, _ in told.headers}
    ]
    return replace(told, headers=pairs, secrets=tuple(dict.fromkeys([*told.secrets, *given])))


def _renamed(told: Told, old: str, new: str) -> Told:
    """Where a URL or a body names it, too."""
    renamed = _with_value(told, old, reference(new))
    return replace(
        renamed, secrets=tuple(dict.fromkeys(new if name == old else name for name in told.secrets))
    )


def _with_value(told: Told, variable: str, value: str) -> Told:
    said = reference(variable)
    return replace(
        told,
        url=told.url.replace(said, value),
        headers=tuple((name, text.replace(said, value)) for name, text in told.headers),
        body=told.body.replace(said.encode(), value.encode()),
        secrets=tuple(name for name in told.secrets if name != variable),
    )


def _put_back(told: Told, variable: str) -> Told:
    """Browsers leave credentials out of a HAR file."""
    names = {name.lower() for name, _ in told.headers}
    anthropic = "anthropic-version" in names or urlsplit(told.url).path.rstrip("/").endswith("/v1/messages")
    header = (
        ("x-api-key", reference(variable))
        if anthropic
        else ("authorization", f"Bearer {reference(variable)}")
    )
    said = f"the file has no {header[0]}, as browsers leave it out; it is put back with the key in {variable}"
    return _noted(replace(told, headers=(*told.headers, header), secrets=(*told.secrets, variable)), said)


def _noted(told: Told, note: str) -> Told:
    return replace(told, notes=(*told.notes, note))
