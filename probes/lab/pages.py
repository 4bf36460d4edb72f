"""What does an edge say in its own name, and in which shape?

Pages and profiles are data (`configs/lab/pages.yaml`, `configs/lab/profiles.yaml`). A page belongs to a family that
holds its shapes; Cloudflare picks the shape by the request's Accept
(https://developers.cloudflare.com/fundamentals/reference/error-responses/).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from string import Template
from typing import ClassVar, Literal

from probes.bundled import bundled
from probes.errors import ConfigError, UsageError, did_you_mean
from probes.lab.http1 import Fields
from probes.model import STRICT
from probes.strict_yaml import read

ShapeName = Literal["json", "problem", "markdown", "plain", "html"]
_WANTED: dict[str, ShapeName] = {
    "application/json": "json",
    "application/problem+json": "problem",
    "text/markdown": "markdown",
    "text/*": "markdown",
    "text/html": "html",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """`body` is a template; a line that names a value the page does not have is left out."""

    __pydantic_config__: ClassVar = STRICT

    content_type: str
    body: str


@dataclass(frozen=True, slots=True)
class Family:
    """`headers` are templates, left out like lines."""

    __pydantic_config__: ClassVar = STRICT

    shapes: Mapping[ShapeName, Shape]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    __pydantic_config__: ClassVar = STRICT

    id: str
    family: str
    status: int
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """How a product marks what passes and what it says itself; header values are templates.

    `refused`, `unreached` (no connection in `connect` seconds), `garbled` (the upstream's answer is none), `late` (no
    answer in time) and `upload` (no whole request in time; nothing is said without one) are page ids. `server`: empty
    where it leaves the field as it comes. `trace`: what it says of itself at `/cdn-cgi/trace`. `errors`: page ids by the
    code under which they can be asked for at `/cdn-cgi/error/`; `500` stands in for a code that is not there.
    """

    __pydantic_config__: ClassVar = STRICT

    id: str
    server: str
    refused: str
    unreached: str
    garbled: str
    late: str
    connect: float
    upload: str | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    proxied: Mapping[str, str] = field(default_factory=dict)
    trace: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)

    def error_page(self, target: str) -> str | None:
        """The page that a request asks to be shown."""
        lead, _, code = target.rpartition("/")
        if lead != "/cdn-cgi/error" or not self.errors:
            return None
        return self.errors.get(code, self.errors["500"])


@dataclass(frozen=True, slots=True)
class Pages:
    __pydantic_config__: ClassVar = STRICT

    families: Mapping[str, Family]
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Profiles:
    __pydantic_config__: ClassVar = STRICT

    profiles: tuple[Profile, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    status: int
    fields: Fields
    body: bytes


@lru_cache
def pages() -> Mapping[str, tuple[Page, Family]]:
    """Every page by its id, with its family."""
    path = bundled("configs", "lab", "pages.yaml")
    found = read(path, Pages)
    for page in found.pages:
        if page.family not in found.families:
            raise ConfigError(
                f"family {page.family!r} is not known{did_you_mean(page.family, found.families)}",
                path=path,
                key=page.id,
            )
    return {page.id: (page, found.families[page.family]) for page in found.pages}


@lru_cache
def profile(name: str) -> Profile:
    """Raises UsageError with the nearest valid name."""
    known = {found.id: found for found in read(bundled("configs", "lab", "profiles.yaml"), Profiles).profiles}
    if name not in known:
        raise UsageError(f"lab profile {name!r} is not known{did_you_mean(name, known)}")
    return known[name]


def render(
    page_id: str,
    values: Mapping[str, str],
    accept: str | None,
    *,
    shape: ShapeName | None = None,
    otherwise: ShapeName = "html",
) -> Rendered:
    """The page in `shape`, or else in the first shape that `accept` names and the page has, or `otherwise`."""
    page, family = pages()[page_id]
    wanted = shape or negotiated(accept, family.shapes) or otherwise
    chosen = family.shapes.get(wanted) or next(iter(family.shapes.values()))
    words = {"status": str(page.status), **page.values, **values}
    fields = (("content-type", chosen.content_type), *filled(family.headers, words))
    return Rendered(page.status, fields, filled_lines(chosen.body, words))


def negotiated(accept: str | None, shapes: Mapping[ShapeName, Shape]) -> ShapeName | None:
    """By order alone: no client of an API sends weights that contradict it."""
    types = (part.partition(";")[0].strip().lower() for part in (accept or "").split(","))
    named = (_WANTED[kind] for kind in types if kind in _WANTED)
    return next((name for name in named if name in shapes), None)


def fill(template: str, words: Mapping[str, str]) -> str | None:
    """The template with its `$name`s replaced, `None` when a name has no value."""
    try:
        return Template(template).substitute(words)
    except KeyError:
        return None


def filled(headers: Mapping[str, str], words: Mapping[str, str]) -> Fields:
    return tuple((name, text) for name, value in headers.items() if (text := fill(value, words)) is not None)


def filled_lines(template: str, words: Mapping[str, str]) -> bytes:
    lines = template.splitlines(keepends=True)
    return "".join(text for line in lines if (text := fill(line, words)) is not None).encode()
