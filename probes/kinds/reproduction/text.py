"""What is left of a body when only some of its text is kept, or neutral text stands in its place?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.clients.filler import filler

if TYPE_CHECKING:
    from collections.abc import Callable

_STRUCTURE = frozenset({"role", "type", "id", "name", "tool_call_id", "model"})
"""Keys whose text says what a thing is, and is no content."""


def text_of(value: Any) -> str:
    """All of its content, one after the other."""
    found: list[str] = []

    def noted(text: str) -> str:
        found.append(text)
        return text

    _each(value, noted)
    return "".join(found)


def cut(value: Any, start: int, end: int) -> Any:
    """With only the characters from `start` to `end` of its content; what holds them stays."""
    at = 0

    def kept(text: str) -> str:
        nonlocal at
        first, at = at, at + len(text)
        return text[max(start - first, 0) : max(end - first, 0)]

    return _each(value, kept)


def filled(value: Any, size: int) -> Any:
    """With so many bytes of neutral text in the place of its content, each text as long as it was while that lasts."""
    left, neutral, at = size, filler(size, "size"), 0

    def instead(text: str) -> str:
        nonlocal left, at
        many = min(left, len(text.encode("utf-8", "surrogatepass")))
        left -= many
        first, at = at, at + many
        return neutral[first:at]

    return _each(value, instead)


def _each(value: Any, does: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return does(value)
    if isinstance(value, list):
        return [_each(inner, does) for inner in value]
    if isinstance(value, dict):
        return {key: inner if _says_what(key, inner) else _each(inner, does) for key, inner in value.items()}
    return value


def _says_what(key: str, inner: Any) -> bool:
    return key in _STRUCTURE and isinstance(inner, str)
