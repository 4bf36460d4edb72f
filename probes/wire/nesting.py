"""Has a JSON text that comes in pieces come to its end?

Told by its brackets and quotes alone, so nothing of the text is kept, however long it gets.
"""

from __future__ import annotations

import re

_MARKS = re.compile(r'[{}\[\]"\\]')
_MOST = 64
"""Texts that are followed side by side."""


class Nesting:
    def __init__(self) -> None:
        self._depth = 0
        self._quoted = False
        self._escapes = False

    @property
    def open(self) -> bool:
        """Something was begun that has not ended."""
        return self._depth > 0 or self._quoted

    def feed(self, text: str) -> None:
        passed = 0 if self._escapes else -1
        """Where the character stands that a backslash takes its meaning from."""
        self._escapes = self._escapes and not text
        for found in _MARKS.finditer(text):
            at, mark = found.start(), found[0]
            if at == passed:
                continue
            if mark == '"':
                self._quoted = not self._quoted
            elif mark == "\\":
                passed = at + 1
                self._escapes = passed == len(text)
            elif not self._quoted:
                self._depth += 1 if mark in "{[" else -1


class ToolCalls:
    """The arguments of each call that a model makes, by whatever tells the calls of one dialect apart."""

    def __init__(self) -> None:
        self._calls: dict[object, Nesting] = {}

    def begin(self, key: object) -> None:
        if len(self._calls) < _MOST:
            self._calls.setdefault(key, Nesting())

    def feed(self, key: object, text: str) -> None:
        self.begin(key)
        if (call := self._calls.get(key)) is not None:
            call.feed(text)

    def result(self) -> dict[str, int] | None:
        """How many there were and how many broke off; `None` where there was none."""
        calls = self._calls.values()
        return {"n": len(calls), "cut": sum(call.open for call in calls)} if calls else None
