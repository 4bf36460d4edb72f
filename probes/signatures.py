"""Which known responses are there, and does this one match?

`configs/signatures/<product>.yaml` → frozen, compiled signatures. A signature names who *generated* a response; the
`transit` marks of a product only prove that it is in the path. What a condition looks at stands in `conditions`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path as File
from typing import TYPE_CHECKING, NoReturn

from probes import strict_yaml
from probes.bundled import bundled, names
from probes.conditions import JsonCondition, Reader, on_page
from probes.errors import did_you_mean
from probes.model import Layer
from probes.patterns import Pattern
from probes.response import ABSENT, Path, Response
from probes.signature_rows import Extract, JsonTest, Match, Page, Product, Row, Strength
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

STRENGTHS: tuple[Strength, ...] = ("exclusive", "strong", "supporting")
_OUTSIDE_IN = list(Layer)
_BUNDLED = bundled("configs", "signatures")
_PATH = re.compile(r"\$(?:\.[\w-]+|\[\d+\])*")
_STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]")
_SPAN = re.compile(r"([1-5]\d\d)-([1-5]\d\d)", re.ASCII)
_Headers = tuple[tuple[str, Pattern], ...]


@dataclass(frozen=True, slots=True)
class Signature:
    id: str
    product: str | None
    layer: Layer
    forward: bool
    row: Row
    _status: frozenset[int]
    _headers: tuple[tuple[str, Pattern], ...]
    _json: tuple[JsonCondition, ...]
    _body: tuple[Pattern, ...]
    _readers: tuple[tuple[str, Reader], ...]

    def matches(self, seen: Response) -> bool:
        match = self.row.match
        return (
            (not self._status or seen.status in self._status)
            and (not match.content_type or seen.media_type in match.content_type)
            and all(_any_value(seen, name, regex) for name, regex in self._headers)
            and not any(name in seen.headers for name in match.absent)
            and self.says(seen)
        )

    def may_match(self, seen: Response, *, any_status: bool = False) -> bool:
        """Whether it matches but for the headers, which are not known; never by the status alone."""
        known = any_status or not self._status or seen.status in self._status
        return known and bool(self._json or self._body) and self.says(seen)

    def says(self, seen: Response) -> bool:
        """What it asks of the body holds, whatever the status and the headers are."""
        return (
            (not self._json or seen.document is not ABSENT)
            and all(condition.holds(seen.document) for condition in self._json)
            and all(on_page(seen, regex) for regex in self._body)
        )

    @property
    def statuses(self) -> frozenset[int]:
        """Those that it asks for; none where any will do."""
        return self._status

    @property
    def by_headers(self) -> bool:
        """Something of it can't be told without the headers."""
        return bool(self._headers or self.row.match.absent or self.row.match.content_type)

    def as_text(self, page: Page) -> Signature:
        """The same answer as people copy it: known by `page` alone."""
        readers = tuple(
            (name, Reader(Extract(body=text), (), Pattern(text, re.MULTILINE)))
            for name, text in page.extract.items()
        )
        return replace(
            self,
            row=replace(self.row, strength=page.strength, match=Match()),
            _status=frozenset(page.status),
            _headers=(),
            _json=(),
            _body=tuple(Pattern(text, re.MULTILINE) for text in page.text),
            _readers=readers + self._readers,
        )

    def read(self, seen: Response) -> dict[str, str]:
        """What the response says of itself: vendor_code, ray, colo, zone, retry_after …"""
        found: dict[str, str] = {}
        for name, reader in self._readers:
            if name not in found and (value := reader.read(seen)):
                found[name] = _printable(value)
        return found


@dataclass(frozen=True, slots=True)
class Catalogue:
    """`signatures` strongest first; among equals those of a named product, then the order of the files."""

    signatures: tuple[Signature, ...]
    marks: tuple[tuple[str, Layer, tuple[tuple[str, Pattern], ...]], ...]

    def matching(self, seen: Response) -> list[Signature]:
        return [signature for signature in self.signatures if signature.matches(seen)]

    def transit(self, seen: Response) -> tuple[tuple[str, Layer], ...]:
        """Products in the path, outermost first."""
        found = (mark for mark in self.marks if any(_any_value(seen, *one) for one in mark[2]))
        return tuple((product, layer) for product, layer, _ in found)


@lru_cache
def catalogue() -> Catalogue:
    """Every signature file: a local `configs/signatures/<product>.yaml` hides the bundled one of that name."""
    return load(names("configs/signatures").values())


def load(files: Iterable[File]) -> Catalogue:
    """Raises ConfigError with file, line and key: an unknown key, a bad regex or path, an id that stands twice."""
    return compiled(map(read, files))


def compiled(products: Iterable[tuple[Compiler, Product]]) -> Catalogue:
    """Raises ConfigError as `load` does."""
    signatures: list[Signature] = []
    marks: list[tuple[str, Layer, tuple[tuple[str, Pattern], ...]]] = []
    for compiler, product in products:
        signatures += compiler.signatures(product, {one.id for one in signatures})
        marks += compiler.marks(product)
    signatures.sort(key=lambda one: (STRENGTHS.index(one.row.strength), one.product is None))
    marks.sort(key=lambda mark: _OUTSIDE_IN.index(mark[1]))
    return Catalogue(tuple(signatures), tuple(marks))


def read(path: File) -> tuple[Compiler, Product]:
    """One file, and what makes signatures of it."""
    data, lines = strict_yaml.load(path)
    compiler = Compiler(path, lines, path.parent == _BUNDLED)
    return compiler, strict_yaml.check(data, Product, path=path, lines=lines)


@dataclass(frozen=True, slots=True)
class Compiler:
    file: File
    lines: strict_yaml.Lines
    ours: bool  # bundled: a test has compiled its regexes

    def signatures(self, product: Product, taken: set[str]) -> list[Signature]:
        made = []
        for index, row in enumerate(product.signatures):
            where: strict_yaml.KeyPath = ("signatures", index)
            if row.id in taken:
                self._refuse(f"{row.id!r} stands twice", (*where, "id"))
            taken.add(row.id)
            if not self.ours and row.code not in vocabulary():
                self._refuse(
                    f"{row.code!r} is not known{did_you_mean(row.code, vocabulary())}", (*where, "code")
                )
            made.append(self._signature(product, row, where))
        return made

    def marks(self, product: Product) -> list[tuple[str, Layer, tuple[tuple[str, Pattern], ...]]]:
        """Of the product in the path; none where it leaves none."""
        found = self.headers(product.transit, ("transit",))
        return [(product.product, product.layer, found)] if product.product and found else []

    def _signature(self, product: Product, row: Row, where: strict_yaml.KeyPath) -> Signature:
        if row.verified == "none" and row.strength != "supporting":
            self._refuse("what is not verified is supporting at most", (*where, "strength"))
        match, inside = row.match, (*where, "match")
        extract = [*row.extract.items(), *product.extract.items()]
        return Signature(
            id=row.id,
            product=product.product,
            layer=row.layer or product.layer,
            forward=product.forward,
            row=row,
            _status=frozenset(n for one in match.status for n in self._statuses(one, (*inside, "status"))),
            _headers=self.headers(match.headers, (*inside, "headers")),
            _json=tuple(self._json(path, test, (*inside, "json", path)) for path, test in match.json.items()),
            _body=tuple(self._anchored(text, (*inside, "body", n)) for n, text in enumerate(match.body)),
            _readers=tuple((name, self._reader(one, (*where, "extract", name))) for name, one in extract),
        )

    def headers(self, wanted: Mapping[str, str], where: strict_yaml.KeyPath) -> _Headers:
        return tuple((name.lower(), self._regex(text, (*where, name))) for name, text in wanted.items())

    def _statuses(self, one: int | str, where: strict_yaml.KeyPath) -> range:
        if isinstance(one, int):
            return range(one, one + 1)
        if (span := _SPAN.fullmatch(one)) is not None:
            return range(int(span[1]), int(span[2]) + 1)
        if not re.fullmatch("[1-5]xx", one):
            self._refuse(f"{one!r} is neither a status nor like 5xx or 404-499", where)
        return range(int(one[0]) * 100, int(one[0]) * 100 + 100)

    def _json(self, path: str, test: JsonTest, where: strict_yaml.KeyPath) -> JsonCondition:
        if test.regex is not None and not test.regex.removeprefix("(?i)").startswith("^"):
            self._refuse("a JSON regex starts with ^; a message may quote anything", (*where, "regex"))
        return JsonCondition(self._path(path, where), test, self._maybe(test.regex, (*where, "regex")))

    def _reader(self, one: Extract, where: strict_yaml.KeyPath) -> Reader:
        path = self._path(one.json, (*where, "json")) if one.json else ()
        regex = self._maybe(one.body or one.regex, where)
        if regex is not None and not self.ours and not regex.check().groups:
            self._refuse("the regex has no group to read", where)
        return Reader(one, path, regex)

    def _path(self, text: str, where: strict_yaml.KeyPath) -> Path:
        if not _PATH.fullmatch(text):
            self._refuse(f"{text!r} is not a path like $.error.type or $.data[0].id", where)
        return tuple(key or int(index) for key, index in _STEP.findall(text))

    def _anchored(self, text: str, where: strict_yaml.KeyPath) -> Pattern:
        if not text.removeprefix("(?i)").startswith(("^", "<")):
            self._refuse("a body regex starts with ^ or with a tag; a word anywhere proves nothing", where)
        return self._regex(text, where)

    def _maybe(self, text: str | None, where: strict_yaml.KeyPath) -> Pattern | None:
        return self._regex(text, where) if text is not None else None

    def _regex(self, text: str, where: strict_yaml.KeyPath) -> Pattern:
        pattern = Pattern(text)
        if not self.ours:
            try:
                pattern.check()
            except re.error as fault:
                self._refuse(f"not a regex: {fault}", where)
        return pattern

    def _refuse(self, problem: str, where: strict_yaml.KeyPath) -> NoReturn:
        strict_yaml.refuse(problem, self.file, self.lines, where)


def _any_value(seen: Response, name: str, regex: Pattern) -> bool:
    return any(regex.search(value) for value in seen.headers.get(name, ()))


def _printable(value: str) -> str:
    """Short and encodable: a server may put a lone surrogate or a megabyte there."""
    return value[:200].encode("utf-8", "replace").decode("utf-8").strip()
