"""What does an answer look like where people copy it: a page without markup, a message without its JSON?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from probes import strict_yaml
from probes.bundled import bundled, find, names
from probes.errors import did_you_mean
from probes.model import STRICT
from probes.patterns import Pattern
from probes.response import ABSENT, Response
from probes.signature_rows import Page
from probes.signatures import Catalogue, catalogue, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_SIGNATURES = "configs/signatures"
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
    `first`: what any page begins with; `marks`: the patterns of each. `idle`: signatures that a file of the operator's own
    no longer has, which the bundled pages name.
    """

    as_text: Catalogue
    worded: Catalogue
    first: re.Pattern[str]
    marks: tuple[tuple[Pattern, ...], ...]
    idle: Mapping[str, Path]

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
    return read(catalogue())


def read(whole: Catalogue) -> Pages:
    """Raises ConfigError where a page names a signature that is not there, unless the operator's own file of that product
    took its place.
    """
    path = find("pasted", "configs", "configuration")
    data, lines = strict_yaml.load(path)
    rows = strict_yaml.check(data, _File, path=path, lines=lines).pages
    known = {signature.id: signature for signature in whole.signatures}
    ours = path.parent == bundled("configs")
    idle = _replaced({row.signature for row in rows} - known.keys())
    made = []
    for index, row in enumerate(rows):
        where: strict_yaml.KeyPath = ("pages", index)
        if row.signature in idle and ours:
            continue
        if row.signature not in known:
            lacks = f"; {idle[row.signature]} has none of that name" if row.signature in idle else ""
            problem = f"no signature {row.signature!r}{lacks or did_you_mean(row.signature, known)}"
            strict_yaml.refuse(problem, path, lines, (*where, "signature"))
        if row.text and not row.text[0].startswith("^"):
            strict_yaml.refuse(
                "the first text starts with ^: a page begins at a line", path, lines, (*where, "text", 0)
            )
        if not ours:  # ours are compiled by a test, and else when they are used
            for text in (*row.text, *row.extract.values()):
                _check(text, path, lines, where)
        made.append((known[row.signature].as_text(row), bool(row.text)))
    made.sort(key=lambda one: one[0].row.strength == "supporting")
    worded = [row.text for row in rows if row.text and row.signature not in idle]
    begins = "|".join(f"(?:{text[0][1:]})" for text in worded)
    marks = tuple(tuple(Pattern(one, re.MULTILINE) for one in text) for text in worded)
    first = re.compile(rf"^(?=\S)(?:{begins})", re.MULTILINE)
    every = Catalogue(tuple(one for one, _ in made), whole.marks)
    return Pages(every, Catalogue(tuple(one for one, by_words in made if by_words), ()), first, marks, idle)


def _replaced(missing: set[str]) -> dict[str, Path]:
    """Id → the operator's file in the place of the bundled one that has it."""
    local = [path for path in names(_SIGNATURES).values() if path.parent != bundled(_SIGNATURES)]
    found: dict[str, Path] = {}
    for path in local if missing else ():
        if (hidden := bundled(_SIGNATURES, path.name)).is_file():
            ids = {one.id for one in load([hidden]).signatures}
            found |= dict.fromkeys(sorted(missing & ids), path)
    return found


def _check(text: str, path: Path, lines: strict_yaml.Lines, where: strict_yaml.KeyPath) -> None:
    try:
        re.compile(text)
    except re.error as fault:
        strict_yaml.refuse(f"not a regex: {text}: {fault}", path, lines, where)


def _end(mark: Pattern, text: str, start: int) -> int | None:
    match = mark.check().search(text, start, start + _WINDOW)
    return match.end() if match else None
