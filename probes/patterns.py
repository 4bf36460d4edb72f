"""When is a regular expression compiled? When it is first asked, as most of a catalogue never is."""

from __future__ import annotations

import re


class Pattern:
    """Raises re.error where it is first used; `check` raises it at once."""

    __slots__ = ("_compiled", "_flags", "pattern")

    def __init__(self, pattern: str, flags: re.RegexFlag | int = 0) -> None:
        self.pattern = pattern
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def check(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self._flags)
        return self._compiled

    def search(self, text: str) -> re.Match[str] | None:
        return (self._compiled or self.check()).search(text)
