"""What does an answer look like where people copy it: a page without markup, a message without its JSON?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from probes import strict_yaml
from probes.bundled import find
from probes.model import STRICT
from probes.signature_rows import Page
from probes.signatures import Catalogue, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

_WINDOW = 4_000
"""Characters from the start of a page to its last mark."""

_MOST = 1_000
"""Of one kind of page in one text."""


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__: ClassVar = STRICT

    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Pages:
    """`as_text`: the catalogue of copied texts. `marks`: for each page with text, its patterns."""

    as_text: Catalogue
    marks: tuple[tuple[re.Pattern[str], ...], ...]

    def found(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each page in `text`."""
        for first, *others in self.marks:
            for match in islice(first.finditer(text), _MOST):
                ends = [_end(other, text, match.start()) for other in others]
                if None not in ends:
                    yield match.start(), max([match.end(), *(end for end in ends if end is not None)])


@lru_cache
def pages() -> Pages:
    """`configs/pasted.yaml`, against the catalogue."""
    path = find("pasted", "configs", "configuration")
    data, lines = strict_yaml.load(path)
    rows = strict_yaml.check(data, _File, path=path, lines=lines).pages
    known = {signature.id: signature for signature in catalogue().signatures}
    made = []
    for index, row in enumerate(rows):
        if row.signature not in known:
            strict_yaml.refuse(f"no signature {row.signature!r}", path, lines, ("pages", index, "signature"))
        try:
            made.append(known[row.signature].as_text(row))
        except re.error as fault:
            strict_yaml.refuse(f"not a regex: {fault}", path, lines, ("pages", index))
    made.sort(key=lambda one: one.row.strength == "supporting")
    marks = tuple(tuple(re.compile(text, re.MULTILINE) for text in row.text) for row in rows if row.text)
    return Pages(Catalogue(tuple(made), catalogue().marks), marks)


def _end(mark: re.Pattern[str], text: str, start: int) -> int | None:
    match = mark.search(text, start, start + _WINDOW)
    return match.end() if match else None
