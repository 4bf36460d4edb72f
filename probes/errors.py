"""What did the operator get wrong?

UsageError            exit code 2
└── ConfigError       a file: says path, line, key and the nearest valid value
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class UsageError(Exception):
    """A mistake on the command line or in the environment; the text is shown as it is."""


class ConfigError(UsageError):
    """A mistake in a file; reads `path:line: key: problem`."""

    def __init__(self, problem: str, *, path: Path | str, line: int | None = None, key: str = "") -> None:
        where = f"{path}:{line}" if line else str(path)
        super().__init__(": ".join(part for part in (where, key, problem) if part))


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """`; did you mean x?` for the nearest valid word, or the list of all when none is near."""
    choices = sorted(valid)
    near = get_close_matches(word, choices, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; valid: {', '.join(choices)}" if choices else ""
