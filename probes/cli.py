"""What happens when edgeprobe is called?

`--version` is answered before anything is imported that it does not need.
"""

from __future__ import annotations

import os
import sys

from probes import __version__

TYPE_CHECKING = False  # importing it from `typing` costs more than all the rest of `--version`
if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE, UNPROVEN = 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """The command's exit code: 0 fine, 1 a failure was found, 2 a mistake in the call, 3 nothing proven."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        try:
            return _obey(words)
        finally:
            sys.stdout.flush()  # here a closed pipe can still be caught
    except BrokenPipeError:
        # `edgeprobe … | head`: the reader has gone, and what was printed before is all it wanted. Python flushes once
        # more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("edgeprobe: interrupted\n")
        return UNPROVEN


def _obey(words: list[str]) -> int:
    if words == ["--version"]:
        sys.stdout.write(f"edgeprobe {__version__}\n")
        return 0
    from probes import errors, options

    arguments = options.parser().parse_args(words)
    from probes import commands

    try:
        return int(getattr(commands, arguments.command)(arguments))
    except errors.UsageError as mistake:
        sys.stderr.write(f"edgeprobe: {mistake}\n")
        return USAGE
