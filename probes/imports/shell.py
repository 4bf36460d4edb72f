"""Which command stands in a text, with what its pipe gives it and what the lines before it set?"""

from __future__ import annotations

import re

from probes.errors import UsageError
from probes.imports.shell_words import Command, Reader, printed

_SETS = re.compile(r"^[ \t]*(?:export[ \t]+|set[ \t]+)?([A-Za-z_]\w*)=", re.ASCII | re.MULTILINE)


def command(text: str, start: int, *, ticked: bool = False) -> Command:
    """The one that begins there, or that its pipe ends in. `ticked`: a backtick ends it, as in Markdown."""
    reader = Reader(text, start, _variables(text[:start]), ticked=ticked)
    found = reader.command()
    while found.by == "|" and not _is_curl(found):
        piped = printed(found)
        found = reader.command()
        found.stdin = found.stdin if found.stdin is not None else piped
    return found


def _is_curl(found: Command) -> bool:
    return bool(found.words) and re.fullmatch(r"(?:.*/)?curl(?:\.exe)?", found.words[0]) is not None


def _variables(text: str) -> dict[str, str]:
    """Those that lines before it set."""
    found: dict[str, str] = {}
    after = 0
    for match in _SETS.finditer(text):
        if match.start() < after:  # within the value of the one before
            continue
        try:
            made = Reader(text, match.end(), found).command()
        except UsageError:
            continue
        found[match[1]] = made.words[0] if made.words else ""
        after = made.end
    return found
