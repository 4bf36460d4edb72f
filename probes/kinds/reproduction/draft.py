"""Which request is sent, when parts of the one that was told are put on one that passes?"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from probes.model import Factor

if TYPE_CHECKING:
    from probes.complaint import Told

ORDER, CAPITALS = "the order of the headers", "the capitals of the header names"
"""Parts that are how all headers of a request are written."""
_COMPACT, _SPACED = (",", ":"), (", ", ": ")


@dataclass(frozen=True, slots=True)
class Draft:
    """One request, and through which client and route. `fields`: of a body that is a JSON object, else `raw` is the body."""

    client: str
    route: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    raw: bytes = b""
    fields: Mapping[str, Any] | None = None

    def header(self, name: str) -> str | None:
        return next((value for given, value in self.headers if given.lower() == name), None)

    def with_header(self, name: str, values: tuple[tuple[str, str], ...]) -> Draft:
        """With all headers of that name replaced."""
        kept = tuple(pair for pair in self.headers if pair[0].lower() != name)
        return replace(self, headers=(*kept, *values))

    def with_field(self, path: tuple[str, ...], value: Any) -> Draft:
        """With a field set, or without it where `value` is ABSENT."""
        return replace(self, fields=_set(self.fields or {}, path, value))


ABSENT: Any = object()
"""A field that is not there."""


def _set(fields: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, rest = path[0], path[1:]
    if rest:
        inner = fields.get(name)
        value = _set(inner if isinstance(inner, dict) else {}, rest, value)
    return {**{k: v for k, v in fields.items() if k != name}, **({} if value is ABSENT else {name: value})}


@dataclass(frozen=True, slots=True)
class Part:
    """What differs in one thing. `does` puts it on a draft; `inside`: the parts that it is made of. `at`: the field of
    the body, where it is one with text in it; the whole body is `()`.
    """

    name: str
    factor: Factor | None
    does: Callable[[Draft], Draft]
    inside: tuple[Part, ...] = ()
    at: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Composer:
    """Requests between one that passes and one that fails. The order and spelling of headers are those of the failing one
    unless they are parts; those of fields always are.
    """

    passing: Draft
    failing: Draft
    told: Told
    parts: tuple[Part, ...]

    @property
    def names(self) -> list[str]:
        return [part.name for part in self.parts]

    def every(self) -> dict[str, Part]:
        """By name, with what is inside of others."""
        return {one.name: one for part in self.parts for one in (part, *part.inside)}

    def draft(self, names: frozenset[str]) -> Draft:
        if names == frozenset(self.names):
            return self.failing
        made = self.passing
        for part in self.every().values():
            made = part.does(made) if part.name in names else made
        return self.ordered(made, names)

    def ordered(self, draft: Draft, names: frozenset[str]) -> Draft:
        known = set(self.names)
        order, spelling = (
            [*self.passing.headers, *self.failing.headers]
            if part in known - names
            else [*self.failing.headers, *self.passing.headers]
            for part in (ORDER, CAPITALS)
        )
        fields = draft.fields
        if fields is not None:
            places = {name: place for place, name in enumerate(self.failing.fields or {})}
            fields = dict(sorted(fields.items(), key=lambda item: places.get(item[0], len(places))))
        return replace(written_like(draft, order, spelling), fields=fields)


def written_like(
    draft: Draft, order: Sequence[tuple[str, str]], spelling: Sequence[tuple[str, str]] = ()
) -> Draft:
    """With its headers in the order of those, and spelt like these; the first of a name counts."""
    spelt = {name.lower(): name for name, _ in reversed(spelling)}
    places = {name.lower(): place for place, (name, _) in reversed(list(enumerate(order)))}
    pairs = sorted(draft.headers, key=lambda pair: places.get(pair[0].lower(), len(places)))
    return replace(draft, headers=tuple((spelt.get(name.lower(), name), value) for name, value in pairs))


def turned(draft: Draft) -> Draft:
    """With its headers in the reverse order."""
    return replace(draft, headers=draft.headers[::-1])


def capitalized(draft: Draft) -> Draft:
    """With the names of its headers as most people write them."""
    return replace(
        draft,
        headers=tuple(("-".join(map(str.capitalize, n.split("-"))), value) for n, value in draft.headers),
    )


def encoded(draft: Draft, told: Told) -> bytes:
    """The body: as it was told where nothing in it differs, else in the same spelling of JSON."""
    if draft.fields is None:
        return draft.raw
    original, separators, escaped = _spelling(told.body)
    if original is not None and list(original.items()) == list(draft.fields.items()):
        return told.body
    return json.dumps(draft.fields, separators=separators, ensure_ascii=escaped).encode(
        "utf-8", "surrogatepass"
    )


@lru_cache(maxsize=1)
def _spelling(body: bytes) -> tuple[dict[str, Any] | None, tuple[str, str], bool]:
    """What it holds, and how its JSON is spelt. Kept, since it is asked for at each request made of the same body."""
    fields = as_object(body)
    for separators in (_COMPACT, _SPACED):
        for escaped in (False, True):
            spelt = json.dumps(fields, separators=separators, ensure_ascii=escaped)
            if spelt.encode("utf-8", "surrogatepass") == body:
                return fields, separators, escaped
    return fields, _COMPACT, False


def as_object(body: bytes) -> dict[str, Any] | None:
    """The JSON object that a body is; `None` for everything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def as_told(told: Told, client: str, route: str) -> Draft:
    parts = urlsplit(told.url)
    path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    fields = as_object(told.body)
    return Draft(client, route, told.method, path, told.headers, told.body if fields is None else b"", fields)


def written_as(draft: Draft, told: Told, kind: str, mode: str, key: tuple[tuple[str, str], ...] = ()) -> Told:
    """The draft as a request that can be written for people; `key`: the headers of one that was put in on the wire."""
    where = urlsplit(told.url)
    version = "2" if mode == "h2" else told.http_version if kind == "curl" else None
    return replace(
        told,
        method=draft.method,
        url=f"{where.scheme}://{where.netloc}{draft.path}",
        headers=(*draft.headers, *key),
        body=encoded(draft, told),
        client=draft.client,
        http_version=version,
        notes=(),
        digests=(),
        differs=(),
        seen=None,
    )
