"""What happens when edgeprobe is called?

`--version` is answered before anything is imported that it does not need.
"""

from __future__ import annotations

import os
import signal
import sys

from probes import __version__
from probes.printing import Streams

TYPE_CHECKING = False  # importing it from `typing` costs more than all the rest of `--version`
if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE, UNPROVEN = 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """The command's exit code: 0 fine, 1 a failure was found, 2 a mistake in the call, 3 nothing proven."""
    words = sys.argv[1:] if argv is None else list(argv)
    with Streams() as streams:
        try:
            code = _obey(words)
        except KeyboardInterrupt:
            sys.stderr.write("edgeprobe: interrupted\n")
            code = UNPROVEN
        except SystemExit as left:  # of argparse
            code = left.code if isinstance(left.code, int) else 0
            if code == USAGE:
                _tell_github("the command is wrong; the log says why")
        if streams.fault is not None:
            sys.stderr.write(f"edgeprobe: cannot write to standard output: {streams.fault}\n")
            code = code or USAGE
        return code


def _obey(words: list[str]) -> int:
    if words == ["--version"]:
        sys.stdout.write(f"edgeprobe {__version__}\n")
        return 0
    from probes import errors, options

    arguments = options.parser().parse_args(words)
    from probes import commands

    before = _ends_like_ctrl_c()
    try:
        return int(getattr(commands, arguments.command)(arguments))
    except errors.UsageError as mistake:
        from probes.redact import safe_text

        # It may quote a file, a mark or a log; its own line ends stay.
        said = "\n".join(safe_text(line) for line in str(mistake).split("\n"))
        sys.stderr.write(f"edgeprobe: {said}\n")
        _tell_github(str(mistake))
        return USAGE
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_github(mistake: str) -> None:
    """A job that never began to probe says so on its page, too."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        from probes.outputs import mistake_to_github

        mistake_to_github(mistake, sys.stdout)


def _ends_like_ctrl_c() -> dict[int, signal.Handlers]:
    """A CI server that cancels a job and a terminal that closes end a run as a person does: it is shown and stored.

    Gives what was before. What was set otherwise, as by `nohup`, stays.
    """
    before: dict[int, signal.Handlers] = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            try:
                signal.signal(number, signal.default_int_handler)
            except ValueError:  # not in the main thread
                continue
            before[number] = signal.SIG_DFL
    return before
