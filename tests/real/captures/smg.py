"""The Shepherd Model Gateway: its own answers, and what it passes on.

One gateway stands in front of every origin, each of which serves a model of its own name; one has no worker at all, and
one takes a single request a second.
"""

from __future__ import annotations

import json
import tempfile
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from processes import accepts, free_port, program, running

from captures.asked import PASSED_ON, Case, Product, chat, post, told_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SIZE = 5000
_NARROW = ("--max-concurrent-requests", "1", "--queue-size", "0", "--rate-limit-tokens-per-second", "1")


@contextmanager
def _running(ports: Mapping[str, int]) -> Iterator[dict[str, Case]]:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        workers = [f"http://127.0.0.1:{port}" for origin, port in ports.items() if origin != "refused"]
        flags = ("--cb-failure-threshold", "1", "--max-payload-size", str(_SIZE))
        port = stack.enter_context(_gateway(folder, workers, *flags))
        alone = stack.enter_context(_gateway(folder, []))
        narrow = stack.enter_context(_gateway(folder, workers[:1], *_NARROW))
        with urllib.request.urlopen(f"http://127.0.0.1:{ports['leaving']}/leave"):
            pass
        yield {
            **_own(port),
            "no worker": Case(alone, chat("m")),
            "no worker, asked for messages": Case(alone, chat("m", path="/v1/messages")),
            "no worker, asked for models": Case(
                alone, chat("m", path="/v1/models").replace(b"POST", b"GET", 1)
            ),
            "too many at once": Case(narrow, chat("healthy"), repeats=5),
            **{
                case: Case(port, chat(origin), passed_on=True)
                for case, origin in PASSED_ON.items()
                if origin != "stopping"  # a short answer is read whole before it is handed on
            },
        }


def _own(port: int) -> dict[str, Case]:
    requests = {
        "no such model": chat("none"),
        "no such path": post("/v1/chat"),
        "no such method": chat("healthy").replace(b"POST", b"GET", 1),
        "body over max_payload_size": chat("healthy", user="a" * _SIZE),
        "a JSON body that ends early": post("/v1/chat/completions", body=b'{"model": '),
        "no messages": post("/v1/chat/completions", body=b'{"model": "healthy"}'),
        "worker closes": chat("closing"),
        "worker stops in mid-body": chat("stopping"),
        "worker sends a bad header": chat("garbled"),
        "worker silent": chat("silent"),
        "worker gone": chat("leaving"),
        "worker given up": chat("leaving"),
        "worker given up, asked for messages": chat("leaving", path="/v1/messages"),
    }
    return {name: Case(port, request) for name, request in requests.items()}


@contextmanager
def _gateway(folder: Path, workers: list[str], *flags: str) -> Iterator[int]:
    port = free_port()
    command = [
        program("smg"), "launch", "--host", "127.0.0.1", "--port", str(port), "--policy", "round_robin",
        "--log-level", "warn", "--prometheus-host", "127.0.0.1", "--prometheus-port", str(free_port()),
        "--request-timeout-secs", "1", "--disable-retries", *flags, "--worker-urls", *workers,
    ]  # fmt: skip

    def ready() -> bool:
        return accepts(port) and len(_models(port)) == len(workers)

    with running(command, folder / f"{len(workers)}.log", ready, patience=0):
        yield port


def _models(port: int) -> list[object]:
    """Those of the workers that are taken in so far; without any this is an error."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as response:
            return list(json.load(response)["data"])
    except urllib.error.HTTPError as refusal:
        refusal.close()
        return []


PRODUCT = Product("smg", lambda: told_by("smg", "--version"), _running)
