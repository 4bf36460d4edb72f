"""How is somebody's command run, so that it hardly notices?

Its input is ours, what it prints goes through as it is, and each signal reaches it once.
"""

from __future__ import annotations

import io
import os
import queue
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO, BinaryIO

NOT_FOUND, NOT_EXECUTABLE, KILLED = 127, 126, 128
"""What a shell says, the last with the signal's number added."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_CHUNK = 65536
_KEPT, _LONGEST = 2000, 300
"""Lines, and characters of each, that are kept for the report."""
_DRAIN = 1.0
"""Machine seconds that its last words are waited for: what it left running may keep its output open for ever."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


class Line(NamedTuple):
    """`at`: by the clock of whoever runs the command, when its first byte came."""

    at: float
    text: str


def missing(name: str) -> int | None:
    """The exit code where there is no such program."""
    if shutil.which(name) is not None:
        return None
    return NOT_EXECUTABLE if os.sep in name and Path(name).exists() else NOT_FOUND


class Child:
    """`lines`: what it printed on either stream, the first of them; `more`: how many beyond those."""

    def __init__(self, words: Sequence[str], now: Callable[[], float]) -> None:
        self.words = tuple(words)
        self.lines: list[Line] = []
        self.more = 0
        self._now = now
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pumps: list[threading.Thread] = []

    def start(self) -> None:
        """Raises OSError where the system won't run it."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self._process = subprocess.Popen(
            self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        for source, sink in ((self._process.stdout, sys.stdout), (self._process.stderr, sys.stderr)):
            assert source is not None
            pump = threading.Thread(target=self._pump, args=(source, sink.buffer), daemon=True)
            pump.start()
            self._pumps.append(pump)

    def wait(self) -> int:
        """Its exit code as a shell tells it, once it has ended."""
        assert self._process is not None
        code = self._process.wait()
        for pump in self._pumps:
            pump.join(_DRAIN)
        return code if code >= 0 else KILLED - code

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def send(self, number: int) -> None:
        with suppress(OSError):
            if self._process is not None:
                self._process.send_signal(number)

    def _pump(self, source: IO[bytes], sink: BinaryIO) -> None:
        lines = _Lines(self._keep)
        with source:
            while chunk := os.read(source.fileno(), _CHUNK):
                if len(self.lines) < _KEPT:
                    lines.feed(chunk, self._now())
                else:  # counted alone: what prints without end must not cost the probes their time
                    self._count(chunk.count(b"\n"))
                try:
                    _write(sink, chunk)
                except OSError:  # nobody reads any more: it hears of it as it would without us
                    break
        lines.close()

    def _keep(self, line: Line) -> None:
        with self._lock:
            if len(self.lines) < _KEPT:
                self.lines.append(line)
            else:
                self.more += 1

    def _count(self, lines: int) -> None:
        with self._lock:
            self.more += lines


def _write(sink: BinaryIO, chunk: bytes) -> None:
    """Whole, also where whoever gave us the stream has set it not to block, which Python's buffers lose bytes by."""
    try:
        number = sink.fileno()
    except io.UnsupportedOperation:  # no file, as where a test looks on
        sink.write(chunk)
        return
    while chunk:
        try:
            chunk = chunk[os.write(number, chunk) :]
        except BlockingIOError:
            select.select([], [number], [])


class _Lines:
    """Bytes as lines of text, without what moves a terminal's cursor; of a line that was written over, the last."""

    def __init__(self, keep: Callable[[Line], None]) -> None:
        self._keep = keep
        self._rest = b""
        self._since: float | None = None

    def feed(self, chunk: bytes, now: float) -> None:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._end(part, now)
        if rest:
            self._since = now if self._since is None else self._since
            self._rest = (self._rest + rest)[-_CHUNK:]

    def close(self) -> None:
        if self._rest:
            self._end(b"", self._since or 0.0)

    def _end(self, part: bytes, now: float) -> None:
        at, line = now if self._since is None else self._since, self._rest + part
        self._rest, self._since = b"", None
        text = _ESCAPES.sub("", line.decode("utf-8", "replace")).rstrip("\r\n ").rpartition("\r")[2]
        if text.strip():
            self._keep(Line(at, text[:_LONGEST]))


# --- signals ---------------------------------------------------------------------------------------------


@contextmanager
def signals(child: Child, stop: Callable[[], None]) -> Iterator[None]:
    """While it lasts, the command gets each signal of ours first; once it has ended, or at a second one, we stop, and a
    third ends a command that does not listen. What was ignored, as by `nohup`, stays so.
    """
    came: queue.SimpleQueue[int | None] = queue.SimpleQueue()  # its put may interrupt itself

    def heard(number: int, _frame: object) -> None:
        came.put(number)

    before: dict[int, object] = {}
    for name in _SIGNALS:
        number = getattr(signal, name)
        if signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(ValueError):  # not in the main thread
                before[number] = signal.signal(number, heard)
    listener = threading.Thread(target=_listen, args=(came, child, stop), daemon=True)
    listener.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        came.put(None)
        listener.join()


def _listen(came: queue.SimpleQueue[int | None], child: Child, stop: Callable[[], None]) -> None:
    times = 0
    while (number := came.get()) is not None:
        times += 1
        if not child.running:
            stop()
            continue
        if times > 1:
            stop()
        if times > 2:
            child.send(signal.SIGKILL)
        elif number != signal.SIGINT or not _from_terminal():
            child.send(number)


def _from_terminal() -> bool:
    """Ctrl-C goes to all of the group in the foreground: the command has it already, and twice would be too much."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
