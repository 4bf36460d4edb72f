"""By what can an error page be known again?

By what stays the same from one answer to the next and is no address, date, time or number of a request: those differ for
the next customer, though they may be equal in two answers to us. Hostile input is ordinary here: whatever could not be
shown as it is does not become a mark.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from probes.redact import REDACTED, looks_like_key, safe_text
from probes.response import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from probes.response import Path, Response
    from probes.signature_rows import Scalar

ENOUGH = 24
"""Letters in all; a page that says less may be anybody's."""
_MOST = 3
_LONGEST = 120
_SHORTEST = 4
_DEEPEST = 4
_FORMS = (
    r"\d{1,3}(?:\.\d{1,3}){3}",  # an address
    r"[0-9a-fA-F]{0,4}:[0-9a-fA-F]{0,4}:[0-9a-fA-F:]*",
    r"\d:\d\d",  # a time
    r"\b(?:19|20)\d\d\b",  # a year
    r"\d{5}",
    r"\b(?=[\w-]*\d)[0-9a-fA-F-]{8,}\b",  # the number of a request
    r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{16,}\b",
)
_VARIES = re.compile("|".join(_FORMS))
_SEGMENT = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)(?:\s[^<>]*)?>([^<]+)")
_UNSEEN = frozenset({"script", "style", "template"})
_HEADINGS = ("title", "h1", "h2", "h3")
_KEY = re.compile(r"[\w-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Marks:
    """As a signature's `match` has them, and `sample`: the part of the page that they are found in."""

    sample: str
    json: Mapping[str, Scalar] = field(default_factory=dict)
    body: tuple[str, ...] = ()

    @property
    def match(self) -> dict[str, Any]:
        if self.json:
            return {"json": {path: {"equals": value} for path, value in self.json.items()}}
        return {"body": list(self.body)}


def marks(first: Response, second: Response, code: int, never: Iterable[str]) -> Marks | str:
    """Of two answers to the same question, or why there are none; `never`: texts that are this probe's or this answer's."""
    taboo = _Taboo(never)
    if first.document is not ABSENT and second.document is not ABSENT:
        found = _of_json(first.document, second.document, taboo)
    elif first.html or "<" in first.text[:200]:
        found = _of_markup(first.text, second.text, code, taboo)
    else:
        found = _of_text(first.text, second.text, taboo)
    if found is None:
        return "nothing in it stays the same from one answer to the next"
    said = " ".join(str(value) for value in found.json.values()) if found.json else _words_of(found.sample)
    if sum(map(str.isalpha, said)) < ENOUGH:
        return "what stays the same in it is too little to know it by"
    return found


class _Taboo:
    def __init__(self, never: Iterable[str]) -> None:
        self._never = [text.lower() for text in (*never, REDACTED) if text]

    def __call__(self, text: str) -> bool:
        """Not to be kept, or not to be relied on."""
        low = text.lower()
        return (
            _VARIES.search(text) is not None
            or any(one in low for one in self._never)
            or safe_text(text) != text
            or looks_like_key(text)
        )


# --- JSON ------------------------------------------------------------------------------------------------


def _of_json(first: Any, second: Any, taboo: _Taboo) -> Marks | None:
    others = dict(_leaves(second))
    same = [(path, value) for path, value in _leaves(first) if path in others and _alike(value, others[path])]
    texts = [(path, value) for path, value in same if isinstance(value, str)]
    telling = sorted(
        ((path, text) for path, text in texts if _SHORTEST <= len(text) <= 2 * _LONGEST and not taboo(text)),
        key=lambda leaf: -len(leaf[1]),
    )
    if not telling:
        return None
    kept = telling[:_MOST] + [(path, value) for path, value in same if isinstance(value, bool)][:1]
    document: Any = {}
    for path, value in kept:
        document = _grown(document, path, value)
    return Marks(json.dumps(document), json={_spelt(path): value for path, value in kept})


def _leaves(document: Any, path: Path = ()) -> Iterator[tuple[Path, Scalar]]:
    """Under keys that a path can name; of an array the first item."""
    if isinstance(document, bool | int | str):
        yield path, document
    elif len(path) < _DEEPEST and isinstance(document, dict):
        for key, value in document.items():
            if _KEY.fullmatch(key):
                yield from _leaves(value, (*path, key))
    elif len(path) < _DEEPEST and isinstance(document, list) and document:
        yield from _leaves(document[0], (*path, 0))


def _alike(one: Scalar, other: Scalar) -> bool:
    return type(one) is type(other) and one == other


def _spelt(path: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _grown(document: Any, path: Path, value: Scalar) -> Any:
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return [_grown(document[0] if isinstance(document, list) else {}, tuple(rest), value)]
    held = document if isinstance(document, dict) else {}
    return {**held, step: _grown(held.get(step, {}), tuple(rest), value)}


# --- markup and text -------------------------------------------------------------------------------------


def _of_markup(first: str, second: str, code: int, taboo: _Taboo) -> Marks | None:
    others = set(_segments(second))
    same = [
        (tag, text)
        for tag, text in dict.fromkeys(_segments(first))
        if (tag, text) in others and not taboo(text)
    ]

    def telling(segment: tuple[str, str]) -> tuple[bool, int, int]:
        tag, text = segment
        heading = _HEADINGS.index(tag.lower()) if tag.lower() in _HEADINGS else len(_HEADINGS)
        return str(code) not in text.split(), heading, -len(text)

    kept = sorted(same, key=telling)[:_MOST]
    if not kept:
        return None
    body = tuple(f"<{tag}(?:\\s[^<>]{{0,400}})?>\\s*{_pattern(text)}" for tag, text in kept)
    return Marks("".join(f"<{tag}>{text}</{tag}>" for tag, text in kept), body=body)


def _segments(text: str) -> Iterator[tuple[str, str]]:
    """(tag, the text right behind it, white space folded and cut at a word)."""
    for match in _SEGMENT.finditer(text):
        tag, said = match[1], _cut(match[2].split())
        if tag.lower() not in _UNSEEN and len(said) >= _SHORTEST:
            yield tag, said


def _of_text(first: str, second: str, taboo: _Taboo) -> Marks | None:
    """Its beginning, up to the first word that differs or may."""
    kept: list[str] = []
    for word, other in zip(first.split(), second.split(), strict=False):
        if word != other or taboo(word):
            break
        kept.append(word)
    said = _cut(kept)
    return Marks(said, body=(f"^\\s*{_pattern(said)}",)) if said else None


def _cut(words: list[str]) -> str:
    text = " ".join(words)
    return text if len(text) <= _LONGEST else text[:_LONGEST].rpartition(" ")[0]


def _pattern(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in text.split()) + (r"(?!\w)" if text[-1:].isalnum() else "")


def _words_of(sample: str) -> str:
    return re.sub(r"<[^<>]*>", " ", sample)
