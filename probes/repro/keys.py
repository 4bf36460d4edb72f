"""With which secrets is a told request asked?

A text comes from a stranger, and so does the host that it names: of this machine's variables it gets the value of none
but those that the operator's own command line or target names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.complaint import digest_of, reference
from probes.credentials import PLACEHOLDER
from probes.errors import UsageError, did_you_mean
from probes.imports.taken import PREFIX
from probes.secretive import AUTHORIZING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from probes.complaint import Told
    from probes.imports.taken import Taken

_KEY = re.compile(r"(?:(?:bearer|token|apikey) +)?\{env:(\w+)\}", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Named:
    """What the operator names. `key_env`: by --key-env or a target's file. `headers`: header → variable. `secrets`: what
    the request calls a secret → variable.
    """

    key_env: str | None
    no_key: bool
    headers: Mapping[str, str]
    secrets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Keyed:
    """The request with what it may hold, and the variable of the key for requests beside it; `None` without one."""

    told: Told
    key_env: str | None


def keyed(told: Told, taken: Taken, named: Named, environ: Mapping[str, str]) -> Keyed:
    """Raises UsageError where a value is needed that nobody named, or that no variable holds."""
    asked, strange = told, _strange(told, taken, named)
    told = _by_header(told, named.headers)
    variable = key_of(told)
    if variable in named.secrets:
        variable = None
    theirs = variable is not None and variable in taken.environ
    ours = named.key_env is not None and (bool(environ.get(named.key_env)) or not theirs)
    if named.no_key and variable is not None and not theirs:
        strange = [name for name in strange if name != variable]
        told, variable = _with_values(told, {variable: PLACEHOLDER}), None
        told = _noted(told, "asked without a key, as --no-key says")
    elif ours and named.key_env is not None and variable is not None:
        strange = [name for name in strange if name != variable]
        if variable != named.key_env:
            why = ", not with the one in what was given" if theirs else ""
            told = _noted(
                _renamed(told, {variable: named.key_env}), f"asked with the key in {named.key_env}{why}"
            )
        variable = named.key_env
    elif ours and variable is None and told.form == "har" and not _authorizes(told):
        told, variable = _put_back(told, named.key_env or ""), named.key_env
    if strange:
        raise UsageError(_untold(asked, strange))
    told = _renamed(told, named.secrets)
    told = replace(told, secrets=tuple(name for name in told.secrets if _uses(told, name)))
    _check_set(told, taken, environ)
    told = _compared(told, {**environ, **taken.environ})
    return Keyed(told, variable or key_of(told) or (named.key_env if ours else None))


def _compared(told: Told, environ: Mapping[str, str]) -> Told:
    """Which headers have another value here than the one that was told, by their digests."""
    whole = _with_values(told, {name: environ.get(name, "") for name in told.secrets})
    values = {name: value.strip() for name, value in whole.headers}
    other = [n for n, digest in told.digests if n in values and digest_of(n, values[n]) != digest]
    return replace(told, differs=tuple(other))


def flags(told: Told, names: Iterable[str]) -> str:
    """What names a variable for each of these secrets: of what was taken out its own, else one to be chosen."""
    key = key_of(told)
    chosen = {name: name if name.startswith(PREFIX) else "VAR" for name in names}
    return " ".join(
        f"--key-env {variable}" if name == key else f"--secret {name}={variable}"
        for name, variable in chosen.items()
    )


def key_of(told: Told) -> str | None:
    """The variable of the key that authorizes it; `None` where none does, or a user's name and password."""
    for name, value in told.headers:
        found = _KEY.fullmatch(value) if name.lower() in AUTHORIZING else None
        if found is not None:
            return found[1]
    return None


def _authorizes(told: Told) -> bool:
    return any(name.lower() in AUTHORIZING for name, _ in told.headers)


def _strange(told: Told, taken: Taken, named: Named) -> list[str]:
    """The secrets that it has and whose values neither the text nor --header nor --secret tells. That a variable of this
    name is set, or named for another place, is none of it.
    """
    by_header = {name.lower() for name in named.headers}
    left = replace(told, headers=tuple(pair for pair in told.headers if pair[0].lower() not in by_header))
    for name in named.secrets:
        if name not in told.secrets:
            known = f"; it has {', '.join(told.secrets)}" if told.secrets else "; it has none"
            raise UsageError(
                f"--secret {name}: it has no such secret{did_you_mean(name, told.secrets) or known}"
            )
    named_ones = {*taken.environ, *named.secrets}
    return [name for name in told.secrets if _uses(left, name) and name not in named_ones]


def _untold(told: Told, names: Sequence[str]) -> str:
    host, key = urlsplit(told.url).netloc, key_of(told)
    places = ", ".join(f"{name} ({_place(told, name, key)})" for name in names)
    without = "; --no-key instead of --key-env asks without a key" if key in names else ""
    return (
        f"the values of its secrets are not told: {places}. Set a variable for each that {host} may have, and add "
        f"{flags(told, names)}{without}"
    )


def _place(told: Told, name: str, key: str | None) -> str:
    if name == key:
        return "its key"
    said = reference(name)
    headers = [header for header, value in told.headers if said in value]
    return f"header {headers[0]}" if headers else "URL" if said in told.url else "body"


def _check_set(told: Told, taken: Taken, environ: Mapping[str, str]) -> None:
    unset = [name for name in told.secrets if name not in taken.environ and not environ.get(name)]
    if unset:
        raise UsageError(
            f"not set: {', '.join(unset)}; the request needs {'it' if len(unset) == 1 else 'them'}"
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


def _renamed(told: Told, new: Mapping[str, str]) -> Told:
    """Wherever it names them, and all at once: a new name may be another's old one."""
    renamed = _with_values(told, {old: reference(name) for old, name in new.items()})
    return replace(renamed, secrets=tuple(dict.fromkeys(new.get(name, name) for name in told.secrets)))


def _with_values(told: Told, values: Mapping[str, str]) -> Told:
    if not values:
        return told
    places = {reference(variable): value for variable, value in values.items()}
    pattern = "|".join(map(re.escape, places))

    def said(text: str) -> str:
        return re.sub(pattern, lambda match: places[match[0]], text)

    return replace(
        told,
        url=said(told.url),
        headers=tuple((name, said(text)) for name, text in told.headers),
        body=said(told.body.decode("latin-1")).encode("latin-1"),
        secrets=tuple(name for name in told.secrets if name not in values),
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
