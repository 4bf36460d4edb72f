"""What may stand in `configs/signatures/<product>.yaml` and in `configs/pasted.yaml`?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from probes.model import STRICT, Layer, WhoActs

Strength = Literal["exclusive", "strong", "supporting"]
Verified = Literal["docs", "capture", "report", "none"]
JsonType = Literal["object", "array", "string", "integer", "number", "boolean", "null", "absent", "present"]
Scalar = bool | int | str


@dataclass(frozen=True, slots=True)
class JsonTest:
    """What must hold at one path of the parsed body; `absent` and `present` are about the key. `regex` starts with `^`."""

    __pydantic_config__: ClassVar = STRICT

    equals: Scalar | None = None
    one_of: tuple[Scalar, ...] = ()
    regex: str | None = None
    type: JsonType | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions that must all hold. `status`: numbers, `5xx` or `404-499`. `headers`: name → regex that one of its values
    must contain. `absent`: headers that must not be there. `body`: regexes that start with `^` or with a tag, and are
    held against pages: never against JSON or an event stream.
    """

    __pydantic_config__: ClassVar = STRICT

    status: tuple[int | str, ...] = ()
    content_type: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    json: Mapping[str, JsonTest] = field(default_factory=dict)
    body: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extract:
    """Where a value is read: one of a JSON path, a header, the body (by regex) or the status. A regex gives its first
    group.
    """

    __pydantic_config__: ClassVar = STRICT

    json: str | None = None
    header: str | None = None
    body: str | None = None
    regex: str | None = None
    status: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """A response that the signature must match. `origin`: its body stands in documentation or source code, was captured,
    was reported by somebody, or was composed here after the described shape; `source` says where, unless composed.
    """

    __pydantic_config__: ClassVar = STRICT

    status: int
    origin: Literal["docs", "capture", "report", "composed"]
    source: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One signature as written. `who_acts` and `retryable` default to those of the finding code.

    `verified`: its shape was read in its maker's documentation or source code, captured from the product, seen in
    reports (`source` says where), or not confirmed at all (`source` says so), which makes it supporting at most.
    `advice`: one sentence for whoever runs the product, on what to change where.
    """

    __pydantic_config__: ClassVar = STRICT

    id: str
    code: str
    strength: Strength
    match: Match
    verified: Verified
    source: tuple[str, ...]
    samples: tuple[Sample, ...]
    vendor_code: str | None = None
    layer: Layer | None = None
    extract: Mapping[str, Extract] = field(default_factory=dict)
    who_acts: WhoActs | None = None
    retryable: bool | None = None
    next_test: str | None = None
    advice: str | None = None
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """One file. `transit`: header → regex, any of which proves that the product is in the path; `extract` is read for
    each of its signatures. `product: null` is for shapes that anybody may speak. `forward`: it also serves as a proxy
    of the client's own side.
    """

    __pydantic_config__: ClassVar = STRICT

    layer: Layer
    signatures: tuple[Row, ...]
    product: str | None = None
    forward: bool = False
    transit: Mapping[str, str] = field(default_factory=dict)
    extract: Mapping[str, Extract] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """How the answer of `signature` looks where people copy it: text without markup, status and headers.

    All of `text` must be found, `^` and `$` being those of a line; the first says where the page begins. `status`
    without text: one that nobody else uses. `extract`: name → regex whose first group is read.
    """

    __pydantic_config__: ClassVar = STRICT

    signature: str
    text: tuple[str, ...] = ()
    status: tuple[int, ...] = ()
    strength: Literal["strong", "supporting"] = "strong"
    extract: Mapping[str, str] = field(default_factory=dict)
