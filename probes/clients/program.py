"""How does a program of its own send, which reports what its sockets do?

What it needs goes in by standard input alone, since a command line and an environment can be read by every process.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from probes.clients import SendLimits

_INHERITED = re.compile(
    r"^(PATH|HOME|TZ|LANG|LC_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|CURL_\w+|NODE_EXTRA_CA_CERTS|\w+_proxy|\w+_PROXY)$"
)
_START = 60.0
"""Machine seconds that a program may take until it is ready to send, on a busy machine."""
_SHOWN = 2000


@dataclass(frozen=True, slots=True)
class Ran:
    """`stopped`: why it was ended, if it was; `elapsed`: machine seconds since it was ready; `complaint`: the end of what
    it wrote to standard error.
    """

    stopped: str | None
    elapsed: float
    complaint: str


def environment() -> dict[str, str]:
    """What a program that sends may know of this one's environment: no key is in it."""
    return {name: value for name, value in os.environ.items() if _INHERITED.match(name)}


def run(
    command: Sequence[str],
    job: bytes,
    limits: SendLimits,
    seconds: float,
    hear: Callable[[dict[str, Any]], bool],
) -> Ran:
    """Runs `command` with the number of a descriptor added, to which it writes an event a line, until `hear` says that
    it is over, it ends itself, or `seconds` have passed since it said that it was ready.
    """
    ends, began = _Ends(), time.monotonic()
    with tempfile.TemporaryFile() as complaints, _process(command, complaints) as (process, events):
        ends.of(process)
        limits.on_stop(ends.now)
        timer = _timer(_START, ends, "deadline")
        threading.Thread(target=_hand_in, args=(process, job), daemon=True).start()
        try:
            for line in events:
                said = _read(line)
                if said.get("e") == "ready":
                    timer.cancel()
                    timer, began = _timer(seconds, ends, "deadline"), time.monotonic()
                if said and not hear(said):
                    break
        finally:
            timer.cancel()
            elapsed = time.monotonic() - began
            ends.quietly()
        complaints.seek(0)
        return Ran(ends.why, elapsed, complaints.read()[-_SHOWN:].decode("utf-8", "replace").strip())


class _Ends:
    """Ends a process from any thread; the first reason stands."""

    def __init__(self) -> None:
        self.why: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False
        self._lock = threading.Lock()

    def of(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def now(self, why: str) -> None:
        with self._lock:
            if not self._over:
                self.why = self.why or why
                self._kill()

    def quietly(self) -> None:
        """It has nothing more to say."""
        with self._lock:
            self._over = True
            self._kill()

    def _kill(self) -> None:
        assert self._process is not None
        self._process.kill()


@contextmanager
def _process(command: Sequence[str], complaints: Any) -> Iterator[tuple[subprocess.Popen[bytes], Any]]:
    reads, writes = os.pipe()
    try:
        process = subprocess.Popen(
            [*command, str(writes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env=environment(),
            pass_fds=(writes,),
        )
    except OSError:
        os.close(reads)
        raise
    finally:
        os.close(writes)
    with process, os.fdopen(reads, "rb") as events:
        yield process, events


def _timer(seconds: float, ends: _Ends, why: str) -> threading.Timer:
    timer = threading.Timer(seconds, ends.now, (why,))
    timer.daemon = True
    timer.start()
    return timer


def _hand_in(process: subprocess.Popen[bytes], job: bytes) -> None:
    assert process.stdin is not None
    with suppress(OSError, ValueError):  # it was ended before it could read
        process.stdin.write(job)
        process.stdin.close()


def _read(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
