"""What differs between the request that fails and the one that passes?

Each part is put on the passing request by itself, and any set of them is a request that can be sent.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.kinds.reproduction.draft import ABSENT, CAPITALS, ORDER, Draft, Part
from probes.kinds.reproduction.family import base
from probes.kinds.reproduction.path import forms
from probes.model import Factor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from probes.kinds.reproduction.path import Form

UA = "user-agent"
STACK, PATH, QUERY, METHOD, BODY = "client stack", "path", "query", "method", "body"
FAMILY = "IP family"
_FAMILIES = ("x-stainless-", "sec-")
"""Headers that come together, by how their names begin."""
_FACTORS = {
    UA: Factor.USER_AGENT,
    "accept": Factor.ACCEPT,
    "accept-encoding": Factor.ACCEPT_ENCODING,
    "authorization": Factor.KEY,
    "x-api-key": Factor.KEY,
    "api-key": Factor.KEY,
    "connection": Factor.CONNECTION,
}
_INSIDE = 24
"""Fields inside of one at the most; more are one part."""


def differences(failing: Draft, passing: Draft, *, version: bool = False) -> tuple[Part, ...]:
    """The shorter and likelier first. `version`: the clients differ in the version of HTTP that they speak."""
    found = [*_headers(failing, passing), *_line(failing, passing), *_body(failing, passing)]
    found += _written(failing, passing)
    if failing.client != passing.client:
        name, factor = ("HTTP version", Factor.HTTP_VERSION) if version else (STACK, Factor.TLS)
        found.append(Part(name, factor, lambda draft: replace(draft, client=failing.client)))
    if base(failing.route) == base(passing.route) and failing.route != passing.route:
        found.append(Part(FAMILY, Factor.FAMILY, lambda draft: replace(draft, route=failing.route)))
    elif failing.route != passing.route:
        found.append(Part("route", Factor.ROUTE, lambda draft: replace(draft, route=failing.route)))
    return tuple(found)


def is_header(name: str) -> bool:
    """Of a part: it changes headers alone, each by itself."""
    return name.startswith(("header ", "headers ", "user agent", "word "))


def _values(draft: Draft, name: str) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in draft.headers if pair[0].lower() == name)


def _headers(failing: Draft, passing: Draft) -> list[Part]:
    names = dict.fromkeys(name.lower() for name, _ in (*failing.headers, *passing.headers))

    def plain(name: str) -> list[str]:
        return [value for _, value in _values(passing, name)]

    differing = [name for name in names if [v for _, v in _values(failing, name)] != plain(name)]
    found = [_agent(failing, passing)] if UA in differing else []
    for start in _FAMILIES:
        family = [_header(failing, name) for name in differing if name.startswith(start)]
        if len(family) > 1:
            factor = Factor.SDK_HEADERS if start == _FAMILIES[0] else Factor.CLIENT
            found.append(_together(f"headers {start}*", factor, family))
        else:
            found += family
    rest = [name for name in differing if name != UA and not name.startswith(_FAMILIES)]
    return found + [_header(failing, name) for name in rest]


def _written(failing: Draft, passing: Draft) -> list[Part]:
    """What the composer does to all headers, of those that both have."""
    ours, theirs = ({name.lower(): name for name, _ in draft.headers} for draft in (failing, passing))
    common = [name for name in ours if name in theirs]
    found = []
    if common != [name for name in theirs if name in ours]:
        found.append(Part(ORDER, None, lambda draft: draft))
    if any(ours[name] != theirs[name] for name in common):
        found.append(Part(CAPITALS, None, lambda draft: draft))
    return found


def _header(failing: Draft, name: str) -> Part:
    values = _values(failing, name)
    factor = Factor.SDK_HEADERS if name.startswith(_FAMILIES[0]) else _FACTORS.get(name)
    said = f"header {name}" if values else f"no header {name}"
    return Part(said, factor, lambda draft: draft.with_header(name, values))


def _together(name: str, factor: Factor, family: Sequence[Part]) -> Part:
    def does(draft: Draft) -> Draft:
        for part in family:
            draft = part.does(draft)
        return draft

    return Part(name, factor, does, tuple(family))


def _agent(failing: Draft, passing: Draft) -> Part:
    """Whole in the place of the other's; its words, each by itself behind the other's."""
    values, plain = _values(failing, UA), passing.header(UA) or ""
    agent = failing.header(UA) or ""
    words = [w for w in dict.fromkeys(re.split(r"[\s/();,]+", agent)) if re.search(r"[A-Za-z]", w)]
    new = [word for word in words if word.lower() not in plain.lower()]
    spelt = values[0][0] if values else "User-Agent"

    def behind(word: str) -> Part:
        def does(draft: Draft) -> Draft:
            return draft.with_header(UA, ((spelt, f"{draft.header(UA) or ''} {word}".strip()),))

        return Part(f"word {word!r} in the user agent", Factor.USER_AGENT, does)

    name = "user agent" if values else "no user agent"
    inside = tuple(map(behind, new[:_INSIDE]))
    return Part(name, Factor.USER_AGENT, lambda draft: draft.with_header(UA, values), inside)


def _line(failing: Draft, passing: Draft) -> list[Part]:
    """Of the request line."""
    found = []
    (path, _, query), (other, _, plain) = failing.path.partition("?"), passing.path.partition("?")
    if failing.method != passing.method:
        found.append(Part(METHOD, None, lambda draft: replace(draft, method=failing.method)))
    if path != other:

        def moved(form: Form) -> Callable[[Draft], Draft]:
            def does(draft: Draft) -> Draft:
                before, *query = draft.path.split("?", 1)
                return replace(draft, path="?".join([form(before), *query]))

            return does

        pieces = forms(path, other) or {PATH: lambda _: path}
        found += [Part(name, None, moved(form)) for name, form in pieces.items()]
    if query != plain:

        def queried(draft: Draft) -> Draft:
            return replace(draft, path="?".join([draft.path.partition("?")[0], *([query] if query else [])]))

        found.append(Part(QUERY, None, queried))
    return found


def _body(failing: Draft, passing: Draft) -> list[Part]:
    if failing.fields is None or passing.fields is None:
        if (failing.fields, failing.raw) == (passing.fields, passing.raw):
            return []

        def whole(draft: Draft) -> Draft:
            return replace(draft, fields=failing.fields, raw=failing.raw)

        return [Part(BODY, Factor.BODY, whole, at=() if failing.fields is None else None)]
    names = dict.fromkeys((*failing.fields, *passing.fields))
    given = [(name, failing.fields.get(name, ABSENT)) for name in names]
    return [
        _field((name,), value, passing.fields.get(name, ABSENT))
        for name, value in given
        if value is ABSENT or name not in passing.fields or value != passing.fields[name]
    ]


def _field(path: tuple[str, ...], value: Any, other: Any) -> Part:
    """`other`: what stands there in the passing request."""
    name = ".".join(path)
    factor = Factor.STREAM if name == "stream" else Factor.BODY
    inside: Iterable[Part] = ()
    if isinstance(value, dict) and len(value) <= _INSIDE and not isinstance(other, dict):
        inside = [_field((*path, key), inner, ABSENT) for key, inner in value.items()]
    said = f"field {name}" if value is not ABSENT else f"no field {name}"
    flat = tuple(one for part in inside for one in (part, *part.inside)) if len(path) == 1 else tuple(inside)
    leaves = tuple(part for part in flat if not part.inside)
    at = path if has_text(value) and not leaves else None
    return Part(said, factor, lambda draft: draft.with_field(path, value), leaves, at)


def has_text(value: Any) -> bool:
    if isinstance(value, str):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(has_text, inner))
