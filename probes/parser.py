"""How is a command line read, and a wrong word in it answered?"""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, NoReturn

from probes.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = 2
_TIMES, _AGO = frozenset({"--at", "--since", "--remove"}), re.compile(r"-\d\w*", re.ASCII)


class Parser(argparse.ArgumentParser):
    """Says the nearest valid word for a wrong one."""

    def error(self, message: str) -> NoReturn:
        wrong = message.partition("unrecognized arguments: ")[2].partition(" (")[0].split()
        flag = next((word.partition("=")[0] for word in wrong if word.startswith("-")), None)
        if flag is not None:
            message += did_you_mean(flag, self._option_string_actions) if len(flag) > 2 else ""
        self.exit(USAGE, f"{self.prog}: {message}\n")

    def parse_args(self, args: Sequence[str] | None = None, namespace: None = None) -> argparse.Namespace:  # type: ignore[override]
        ours, theirs = _parted(sys.argv[1:] if args is None else args)
        found, unknown = self.parse_known_args(_joined(ours), namespace)
        if unknown:
            hint = " (a command stands behind --)" if list(ours[:1]) == ["during"] else ""
            (getattr(found, "parser", None) or self).error(
                f"unrecognized arguments: {' '.join(unknown)}{hint}"
            )
        found.words = theirs
        return found


def _parted(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Ours, and those of the command that `during` runs, in which nothing is read."""
    if list(words[:1]) != ["during"] or "--" not in words:
        return words, ()
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _joined(words: Sequence[str]) -> list[str]:
    """`--at -10m` as `--at=-10m`: argparse takes what begins with a dash for a flag."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in _TIMES and _AGO.fullmatch(word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
