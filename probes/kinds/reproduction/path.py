"""In which forms is a path written that is not the API's plain one?

Each form is put on any other way to write the same path, so that what a server merges or decodes is not blamed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from probes.api_paths import ENDPOINTS, endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Form = Callable[[str], str]
    Segment = tuple[str, str]
    """The slashes before it, and its text."""

WITHOUT_VERSION, VERSIONS = "the path without /v1", "a doubled /v1 in the path"
CAPITALS, ESCAPES = "capitals in the path", "percent-encoding in the path"
SLASHES, END = "a doubled slash in the path", "a slash at the end of the path"
FORMS = frozenset({WITHOUT_VERSION, VERSIONS, CAPITALS, ESCAPES, SLASHES, END})
_VERSION = "v1"
_SEGMENT = re.compile(r"(/+)([^/]*)")
_CHARACTER = re.compile(r"%[0-9A-Fa-f]{2}|.")
_NEEDLESS = re.compile(r"%(2[DdEeFf]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe])")
"""An escape of what needs none: letters, digits, `-._~` (RFC 3986, 2.3), and the slash."""


def plain_path(told: str) -> str:
    """Without query and any of these forms, where that is an API's path; whether it lacks a version is not known."""
    path = told.partition("?")[0]
    plain = _NEEDLESS.sub(lambda found: chr(int(found[1], 16)), path)
    plain = re.sub(r"/{2,}", "/", plain).rstrip("/")
    plain = re.sub(r"/v(?=\d+(/|$))", "/v", plain, flags=re.IGNORECASE)
    plain = re.sub(r"(/v1)(?=/v1(/|$))", "", plain)
    end = next((end for end in ENDPOINTS if plain.lower().endswith(end)), None)
    if end is not None:
        return plain[: -len(end)] + end
    return plain if endpoint(plain) is not None else path


def with_version(plain: str) -> str | None:
    """The plain path with `/v1` before its endpoint; `None` where it has a version, or no endpoint."""
    end = next((end for end in ENDPOINTS if plain.endswith(end)), None)
    if end is None or re.search(r"/v\d", plain):
        return None
    return f"{plain.removesuffix(end)}/{_VERSION}{end}"


def forms(told: str, plain: str) -> dict[str, Form]:
    """By name, in the order in which they make the told path of the plain one; none where they don't."""
    segments = _SEGMENT.findall(told.rstrip("/"))
    by_name = {_name(text): (slashes, text) for slashes, text in segments}
    found = _versions(segments, plain)
    if found is None:
        return {}
    found |= {
        CAPITALS: _each(by_name, lambda ours, theirs: ours[0] + _spelt(ours[1], theirs[1])),
        ESCAPES: _each(by_name, lambda ours, theirs: ours[0] + _escaped(ours[1], theirs[1])),
        SLASHES: _each(by_name, lambda ours, theirs: theirs[0] + ours[1]),
        END: lambda path: path + told[len(told.rstrip("/")) :],
    }
    path, kept = plain, {}
    for name, form in found.items():
        if form(path) != path:
            path, kept[name] = form(path), form
    return kept if path == told else {}


def _versions(segments: list[Segment], plain: str) -> dict[str, Form] | None:
    """How often `/v1` is there; `None` where the two are not the same path but for that."""
    names, wanted = (
        [_name(text) for _, text in segments],
        [_name(text) for _, text in _SEGMENT.findall(plain)],
    )
    if names == wanted:
        return {}
    if [one for one in names if one != _VERSION] != [one for one in wanted if one != _VERSION]:
        return None
    spelt = {_name(text): text for _, text in _SEGMENT.findall(plain)}
    path = "".join(f"/{spelt.get(name, name)}" for name in names)
    said = VERSIONS if len(names) > len(wanted) else WITHOUT_VERSION
    return {said: lambda _: path}


def _each(by_name: Mapping[str, Segment], does: Callable[[Segment, Segment], str]) -> Form:
    """On each segment, beside what it is in the told path."""

    def form(path: str) -> str:
        return "".join(does(ours, by_name.get(_name(ours[1]), ours)) for ours in _SEGMENT.findall(path))

    return form


def _character(token: str) -> str:
    return chr(int(token[1:], 16)) if len(token) > 1 else token


def _name(segment: str) -> str:
    return "".join(map(_character, _CHARACTER.findall(segment))).lower()


def _pairs(text: str, told: str) -> list[tuple[str, str]]:
    return list(zip(_CHARACTER.findall(text), _CHARACTER.findall(told), strict=True))


def _spelt(text: str, told: str) -> str:
    """In its capitals, and no escape but those that stand there."""
    return "".join(ours if len(ours) > 1 else _character(theirs) for ours, theirs in _pairs(text, told))


def _escaped(text: str, told: str) -> str:
    """With its escapes, each of the character that stands there."""
    return "".join(
        ours
        if len(theirs) == 1 or len(ours) > 1
        else theirs
        if _character(theirs) == ours
        else f"%{ord(ours):02X}"
        for ours, theirs in _pairs(text, told)
    )
