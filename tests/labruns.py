"""Runs against a lab, quickly."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from probes import lab
from probes.budget import Governor
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.live import Bench
from probes.output_cap import OutputCap
from probes.redact import Redactor
from probes.signatures import catalogue
from probes.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probes.lab import Lab
    from probes.model import Run, Target

KEY = "EDGEPROBE_LAB_KEY"
CLOCK = Clock(0.05)
FAST = {"tpot": 0.02, "prefill": 0.2}
"""Small answers must not take a lab minute."""


def target_at(url: str, model: str = "m", **more) -> Target:
    return target_from_flags(url, "openai", model, **{"key_env": KEY, "env_proxy": False, **more})


@contextmanager
def served(*faults: str, clock: Clock = CLOCK, **speed) -> Iterator[tuple[Lab, Target, Secrets]]:
    with lab.serve(faults, clock=clock, **(speed or FAST)) as running:
        yield (
            running,
            target_at(running.base_url, running.model),
            Secrets({**os.environ, KEY: running.api_key}),
        )


def bench_for(
    target: Target, secrets: Secrets, clock: Clock = CLOCK, emit=lambda _: None, stop=None
) -> Bench:
    return Bench(
        clock=clock,
        governor=Governor(target, clock),
        secrets=secrets,
        redactor=Redactor(secrets.values(target)),
        catalogue=catalogue(),
        emit=emit,
        stop=stop or Stop(),
        output_cap=OutputCap(target, clock),
        today=datetime.now(UTC).date(),
    )


@cache
def lab_run(suite: str, *faults: str) -> Run:
    """One run, shared by the tests of a process that only look at it."""
    long = suite == "long"
    clock = Clock(0.02)
    speed = {"tpot": lab.TPOT} if long else FAST
    with served(*faults, clock=clock, **speed) as (_, target, secrets):
        overrides = {"tokens": "690"} if long else None
        return conduct(Order((suite,), target, overrides=overrides, seed=7, clock=clock), secrets)


@contextmanager
def refused_port() -> Iterator[int]:
    """A port that nobody listens on, and that nobody else is given meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
