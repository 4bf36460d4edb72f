"""Which characters of a text came as U+FFFD, and are they what decoding by halves leaves?"""

from __future__ import annotations

import re
from typing import Any

_REPLACED = "\ufffd"
_RUN = re.compile(f"{_REPLACED}{{2,}}")
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\ufffd", re.IGNORECASE)


class Damage:
    """Counted in the text itself: an API's JSON may write the character raw or escaped, and a model may write about it.

    A character of several bytes that is cut and decoded by halves leaves two of them or more, side by side or at the end
    of one text and the beginning of the next: `seams`. `tail`: those with nothing behind them, such as of an answer
    that ends at its cap within a character.
    """

    def __init__(self) -> None:
        self.n = self.seams = self.tail = 0
        self._channel = ""
        self._open = False

    def text(self, channel: str, text: str) -> None:
        if not text:
            return
        found = text.count(_REPLACED) if _REPLACED in text else 0
        if channel == "tool" and "\\u" in text:
            found += len(_ESCAPED.findall(text))  # arguments are JSON within a string
        if not found:
            self.tail, self._open = 0, False
            return
        self.n += found
        self.seams += len(_RUN.findall(text))
        if self._open and channel == self._channel and text.startswith(_REPLACED):
            self.seams += 1
        behind = len(text) - len(text.rstrip(_REPLACED))
        self.tail = self.tail + behind if behind == len(text) else behind
        self._open, self._channel = text.endswith(_REPLACED), channel

    def result(self) -> dict[str, Any]:
        return {"replacement_chars": self.n, "replacement_seams": self.seams, "replacement_tail": self.tail}
