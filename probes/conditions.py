"""Does one condition of a signature hold for this response, and what can be read there?

A page's regex looks at pages: never at JSON or an event stream, which may quote anybody's, and one that begins with a tag
at markup alone. A regex on a JSON value is anchored at its start. A header's is held against the values of its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes.response import ABSENT, Path, Response, at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from probes.patterns import Pattern
    from probes.signature_rows import Extract, JsonTest, Scalar

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class JsonCondition:
    path: Path
    test: JsonTest
    regex: Pattern | None

    def holds(self, document: Any) -> bool:
        value, test = at(document, self.path), self.test
        if test.type == "absent":
            return value is ABSENT
        return (
            value is not ABSENT
            and (test.type in {None, "present"} or type(value) in _TYPES[str(test.type)])
            and (test.equals is None or _same(value, test.equals))
            and (not test.one_of or any(_same(value, one) for one in test.one_of))
            and (self.regex is None or (isinstance(value, str) and self.regex.search(value) is not None))
        )


@dataclass(frozen=True, slots=True)
class Reader:
    where: Extract
    path: Path
    regex: Pattern | None

    def read(self, seen: Response) -> str | None:
        for text in self._texts(seen):
            if self.regex is None:
                return text
            if found := self.regex.search(text):
                return found.group(1)
        return None

    def _texts(self, seen: Response) -> Iterable[str]:
        if self.where.json:
            value = at(seen.document, self.path)
            return [str(value)] if isinstance(value, (str, int, float)) else []
        if self.where.header:
            return seen.headers.get(self.where.header, ())
        if self.where.body:
            return [] if seen.data else [seen.text]
        return [str(seen.status)]


def on_page(seen: Response, regex: Pattern) -> bool:
    """What begins with a tag is found in markup alone: prose, too, may quote a page."""
    found = regex.search(seen.text)
    return found is not None and not seen.data and (seen.markup or not found.group().startswith("<"))


def _same(value: Any, wanted: Scalar) -> bool:
    """`true` is not 1."""
    return type(value) is type(wanted) and bool(value == wanted)
