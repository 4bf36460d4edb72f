"""What does `edgeprobe lab` do?"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from probes.clock import Clock
from probes.errors import UsageError
from probes.lab import LAB_KEY, Lab, serve
from probes.lab.expectations import expectations
from probes.lab.faults import catalogue

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence


_PREFILL_PER_TOKEN = 0.0005
"""Seconds: a prompt of some thousand tokens takes longer by as much as its cache saves."""


def run(arguments: Namespace) -> int:
    """Until interrupted; each line of standard input names the faults from then on, an empty one mends the lab."""
    if arguments.list:
        for fault in catalogue().values():
            sys.stdout.write(f"{fault.id:<26} {fault.about}\n")
        return 0
    keys = None if arguments.no_key else frozenset({LAB_KEY})
    clock = Clock(arguments.time_scale)
    with serve(
        arguments.fault,
        clock=clock,
        keys=keys,
        profile=arguments.profile,
        port=arguments.port,
        prefill_per_token=_PREFILL_PER_TOKEN,
    ) as served:
        _say(_about(served, clock, arguments.fault))
        with suppress(KeyboardInterrupt):
            _obey(served)
    return 0


def _suite(faults: Sequence[str]) -> str:
    """The one in which the first fault shows."""
    return next((row.suite for fault in faults for row in expectations() if row.fault == fault), "smoke")


def _about(served: Lab, clock: Clock, faults: Sequence[str]) -> str:
    key = "--no-key" if served.api_key is None else f"--key-env LAB_KEY   (LAB_KEY={served.api_key})"
    scale = f" --time-scale {clock.scale:g}" if clock.scale != 1 else ""
    return (
        f"edge     {served.base_url}\norigin   {served.origin_url}\n"
        f"try      edgeprobe run {_suite(faults)} --base-url {served.base_url} --api openai --model {served.model}{scale} {key}\n"
        "break    type the names of faults, then Enter; Enter alone mends it\n"
        "stop     Ctrl-C\n"
    )


def _obey(served: Lab) -> None:
    if hasattr(signal, "SIGTTIN"):  # in the background of a shell a read would stop the server; so it fails
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)
    with suppress(OSError):
        for line in sys.stdin or ():
            _say(_armed(served, line.replace(",", " ").split()))
    threading.Event().wait()


def _armed(served: Lab, faults: list[str]) -> str:
    try:
        served.arm(faults)
    except UsageError as mistake:
        return f"as it was: {mistake}\n"
    return f"broken   {', '.join(faults)}\n" if faults else "mended\n"


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
