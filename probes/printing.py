"""What becomes of what is printed when it cannot be: nobody reads it, the disk is full, there is nowhere to print?

The command goes on and its exit code stays its own: 1 says that customers are hurt, not that a pipe was closed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing it from `typing` costs more than all the rest of `--version`
if TYPE_CHECKING:
    from typing import Any, Self, TextIO


class Printed:
    """A stream that forgets what it is told from its first fault on, and keeps the fault."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.fault: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if self.fault is None:
            try:
                return self._stream.write(text)
            except OSError as fault:
                self.fault = fault
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self.fault is None:
            try:
                self._stream.flush()
            except OSError as fault:
                self.fault = fault

    def settle(self) -> None:
        """Flush now; what could not be written is not tried again by Python's end, which would complain."""
        self.flush()
        if self.fault is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


class Streams:
    """While it lasts, standard output and error are `Printed`; `fault` says in a line what output could not be had."""

    def __enter__(self) -> Self:
        _open_closed()
        self._before = sys.stdout, sys.stderr
        self._out, self._err = Printed(sys.stdout), Printed(sys.stderr)
        sys.stdout, sys.stderr = self._out, self._err
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = self._before
        self._out.settle()
        self._err.settle()

    @property
    def fault(self) -> str | None:
        """Of standard output; a reader that has gone wanted no more, and is none."""
        self._out.flush()
        fault = self._out.fault
        return None if fault is None or isinstance(fault, BrokenPipeError) else str(fault.strerror)


def _open_closed() -> None:
    """A closed stream (`>&-`) becomes the null device; else the next socket would get its number, and what is printed.

    In the order of their numbers, as the system gives the lowest that is free.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - stays open to the end
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
