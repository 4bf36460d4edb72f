"""What does `edgeprobe during -- CMD` do?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from probes import outputs, store
from probes.bundles import command as bundles
from probes.clock import Clock
from probes.credentials import Secrets
from probes.during.child import NOT_FOUND
from probes.during.measuring import Order, measure
from probes.errors import UsageError
from probes.runner import exit_code

if TYPE_CHECKING:
    from argparse import Namespace

    from probes.model import Run, Target

UNPROVEN = 3
_MOST_SECONDS, _MOST_STREAMS, _MOST_TOKENS = 86400.0, 200, 1_000_000


def run(arguments: Namespace, target: Target) -> int:
    """The command's own exit code where it is not 0, else that of what was seen."""
    order = _order(arguments, target)
    outputs.check(arguments)
    bundles.check(arguments)
    if not arguments.no_store:
        store.check()
    done = measure(order, Secrets(), _say)
    if done.run is None:
        why = "not found" if done.code == NOT_FOUND else "cannot be executed"
        _say(f"{order.words[0]}: {why}; nothing was sent")
        return done.code or UNPROVEN
    if not arguments.no_store:
        try:
            store.save(done.run)
        except UsageError as fault:  # what was paid for is shown and judged, stored or not
            _say(f"not stored: {fault}")
    outputs.to_github(done.run, outputs.person(arguments))
    outputs.show(done.run, arguments)
    bundles.after(done.run, arguments)
    return combined(done.code, done.run)


def combined(code: int | None, seen: Run) -> int:
    """A command that was not begun is never fine."""
    return code or exit_code(seen) or (UNPROVEN if code is None else 0)


def _say(text: str) -> None:
    """Beside what the command prints, never in it: it has standard output for itself."""
    sys.stderr.write(f"edgeprobe: {text}\n")
    sys.stderr.flush()


def _order(arguments: Namespace, target: Target) -> Order:
    words = tuple(arguments.words or ())
    if not words:
        raise UsageError("during: no command; it stands behind --: edgeprobe during -- nginx -s reload")
    if arguments.json == "-":
        raise UsageError("--json -: standard output is the command's; say a file")
    client = arguments.client or []
    if len(client) > 1:
        raise UsageError(f"--client {client[1]}: during asks through one client, and {client[0]} is named")
    return Order(
        target=target,
        words=words,
        client=client[0] if client else None,
        before=_within("--before", arguments.before, 1, _MOST_SECONDS),
        after=None if arguments.after is None else _within("--after", arguments.after, 0, _MOST_SECONDS),
        every=_within("--every", arguments.every, 0.1, _MOST_SECONDS),
        streams=int(_within("--streams", arguments.streams, 0, _MOST_STREAMS)),
        tokens=int(_within("--tokens", arguments.tokens, 1, _MOST_TOKENS)),
        clock=Clock(arguments.time_scale),
    )


def _within(flag: str, value: float, least: float, most: float) -> float:
    if not least <= value <= most:
        raise UsageError(f"{flag}: must be from {least:g} to {most:g}, not {value:g}")
    return value
