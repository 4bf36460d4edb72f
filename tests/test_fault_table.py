"""Does the probe say of every lab fault what a perfect probe would say?"""

from __future__ import annotations

import os
import random
from dataclasses import fields
from functools import lru_cache

import pytest

from probes import lab
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.lab.expectations import Expectation, expectations
from probes.model import Run

SCALE = 0.02
KEY = "EDGEPROBE_LAB_KEY"
OVERRIDES = {"long": {"tokens": "690"}}


@lru_cache(maxsize=None)
def run_of(fault: str | None, suite: str, api: str) -> Run:
    """One run a fault, suite and API, shared by the rows that look at it."""
    clock = Clock(SCALE)
    # Smoke's small answers must not take a lab minute; the long suite needs the slow model.
    speed = {} if suite == "long" else {"tpot": 0.02, "prefill": 0.2}
    with lab.serve((fault,) if fault else (), clock=clock, **speed) as served:
        target = target_from_flags(served.url(api), api, served.model, key_env=KEY, env_proxy=False)
        order = Order((suite,), target, overrides=OVERRIDES.get(suite), seed=7, clock=clock)
        return conduct(order, Secrets({**os.environ, KEY: served.api_key}))


def holds(row: Expectation, run: Run) -> bool:
    """Whether one finding of the run, where the row looks, says all that the row expects."""
    wanted = {f.name: getattr(row.expect, f.name) for f in fields(row.expect)}
    looked_at = [
        f
        for f in run.findings
        if row.kind in {None, f.kind} and (row.client in {None, f.client} or _names(f, row))
    ]
    return any(all(v is None or getattr(f, k) == v for k, v in wanted.items()) for f in looked_at)


def _names(finding, row) -> bool:
    """A finding of several clients has no `client` of its own; its title names them."""
    return finding.client is None and row.client in finding.title.replace(",", " ").split()


def name(row: Expectation) -> str:
    return "-".join(
        part for part in (row.fault or "healthy", row.suite, row.kind, row.client, row.api) if part
    )


ROWS = expectations()


@pytest.mark.parametrize(
    "row",
    [pytest.param(r, id=name(r), marks=pytest.mark.xdist_group(f"{r.fault}{r.suite}{r.api}")) for r in ROWS],
)
def test_the_probe_says_of_each_fault_what_a_perfect_probe_would(row):
    """The finding that the second table asks for is there."""
    run = run_of(row.fault, row.suite, row.api)
    assert holds(row, run), "\n".join(
        f"{f.kind} {f.client} {f.code} {f.verdict} {f.layer} {f.product} {f.vendor_code} {f.factor} {f.reason} {f.title} {f.detail}"
        for f in run.findings
    )
