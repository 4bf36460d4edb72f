"""What does an answer look like where people copy it: a page without markup, a message without its JSON?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from probes import strict_yaml
from probes.bundled import bundled, find
from probes.model import STRICT
from probes.patterns import Pattern
from probes.response import ABSENT, Response
from probes.signature_rows import Page
from probes.signatures import Catalogue, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WINDOW = 4_000
"""Characters from the start of a page to its last mark."""

_MOST = 1_000
"""Pages that may begin in one text."""


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__: ClassVar = STRICT

    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pages:
    """`as_text`: the catalogue of copied texts; `worded`: of those that are known by words, and not by a status alone.
    `first`: what any page begins with; `marks`: the patterns of each.
    """

    as_text: Catalogue
    worded: Catalogue
    first: re.Pattern[str]
    marks: tuple[tuple[Pattern, ...], ...]

    def found(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each page in `text`."""
        for begun in islice(self.first.finditer(text), _MOST):
            start = begun.start()
            for first, *others in self.marks:
                if (match := first.check().match(text, start)) is not None:
                    ends = [_end(other, text, start) for other in others]
                    if None not in ends:
                        yield start, max([match.end(), *(end for end in ends if end is not None)])

    def knows(self, status: int | None, text: str) -> bool:
        """Whether this message under this status is somebody's."""
        seen = Response(status, {}, "", text, ABSENT, decodable=True, elided=False)
        return bool(self.worded.matching(seen))


@lru_cache
def pages() -> Pages:
    """`configs/pasted.yaml`, against the catalogue."""
    path = find("pasted", "configs", "configuration")
    data, lines = strict_yaml.load(path)
    rows = strict_yaml.check(data, _File, path=path, lines=lines).pages
    known = {signature.id: signature for signature in catalogue().signatures}
    made = []
    for index, row in enumerate(rows):
        where: strict_yaml.KeyPath = ("pages", index)
        if row.signature not in known:
            strict_yaml.refuse(f"no signature {row.signature!r}", path, lines, (*where, "signature"))
        if row.text and not row.text[0].startswith("^"):
            strict_yaml.refuse(
                "the first text starts with ^: a page begins at a line", path, lines, (*where, "text", 0)
            )
        if path.parent != bundled("configs"):  # ours are compiled by a test, and else when they are used
            for text in (*row.text, *row.extract.values()):
                _check(text, path, lines, where)
        made.append((known[row.signature].as_text(row), bool(row.text)))
    made.sort(key=lambda one: one[0].row.strength == "supporting")
    begins = "|".join(f"(?:{row.text[0][1:]})" for row in rows if row.text)
    marks = tuple(tuple(Pattern(text, re.MULTILINE) for text in row.text) for row in rows if row.text)
    first = re.compile(rf"^(?=\S)(?:{begins})", re.MULTILINE)
    every = Catalogue(tuple(one for one, _ in made), catalogue().marks)
    return Pages(every, Catalogue(tuple(one for one, worded in made if worded), ()), first, marks)


def _check(text: str, path: Path, lines: strict_yaml.Lines, where: strict_yaml.KeyPath) -> None:
    try:
        re.compile(text)
    except re.error as fault:
        strict_yaml.refuse(f"not a regex: {text}: {fault}", path, lines, where)


def _end(mark: Pattern, text: str, start: int) -> int | None:
    match = mark.check().search(text, start, start + _WINDOW)
    return match.end() if match else None
