"""Does the probe say of every lab fault what a perfect probe would say?"""

from __future__ import annotations

import json
import os
import re
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from random import Random

import pytest

from probes import lab
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.document import from_document, to_document
from probes.lab.expectations import Expectation, expectations
from probes.model import Budget, Layer, Limits, Route, Run, Verdict
from probes.rejudge import rejudge
from probes.rejudge.changes import Change, changes
from probes.signatures import catalogue

SCALE = {
    "long": 0.02,
    "smoke": 0.1,
    "edge": 0.1,
    "identity": 0.1,
    "keepalive": 0.05,
    "burst": 0.2,
    "streams": 0.02,
    "cache": 0.1,
    "curve": 0.1,
}
"""Long suites hold minutes; in the others a hiccup of a loaded machine must not become a lab minute."""
AT_ONCE = 3
AGAIN = 3
MEASURED = {"cache", "curve"}
"""Suites of many requests one after the other, which wait more than they work."""
KEY = "EDGEPROBE_LAB_KEY"
OVERRIDES = {
    "long": {"tokens": "690"},
    "identity": {"patience": "600"},
    "edge": {"patience": "600"},
    "keepalive": {"idle": "1,5,30"},
    "burst": {"deadline": "5"},
    "streams": {"tokens": "160", "prompt_tokens": "2500"},
    "cache": {"prompt_tokens": "3000"},
    "curve": {"lengths": "256,512,1024,2048,4096"},
}
"""A hang costs scaled time more than the seconds that a case has patience for."""


APART = {
    "buffering": "version: 1\nname: streams\ncases: [{kind: buffering, with: {tokens: 160, prompt_tokens: 2500}}]\n",
    "resumed": "version: 1\nname: streams\ncases: [{kind: resumed, with: {stored: true, tokens: 200, seconds: 4}}]\n",
    "lifetimes": "version: 1\nname: streams\ncases: [{kind: lifetimes, with: {streams: 4}}]\n",
}
"""Kinds of the suite `streams` that look at when bytes come: alone, and in a time that a busy machine can keep to."""


@cache
def run_of(
    fault: str | None,
    suite: str,
    api: str,
    profile: str = "cloudflare",
    apart: str | None = None,
    sets: tuple[str, ...] = (),
) -> Run:
    """One run a fault, suite, API and what else a row asks for, shared by the rows that look at it."""
    if apart is not None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "apart.yaml"
            file.write_text(APART[apart])
            # Several streams at once, and slow ones, for a busy machine to keep up with.
            tpot, together = (0.1, 5) if apart == "resumed" else (0.02, 4)
            return _run(fault, str(file), api, profile, 0.2, {"tpot": tpot, "prefill": 0.2}, together, {})
    # Smoke's small answers must not take a lab minute; the long suite needs the slow model.
    quick = {"tpot": 0.02, "prefill": 0.2}
    speeds = {
        "long": {},
        "streams": {"tpot": 0.1, "prefill": 0.5},
        "cache": {**quick, "prefill_per_token": 0.001},
        "curve": {**quick, "prefill_per_token": 0.001},
    }
    speed = speeds.get(suite, quick)
    together = 20 if suite == "burst" else 4
    asked = OVERRIDES.get(suite, {}) | dict(each.split("=", 1) for each in sets)
    return _run(fault, suite, api, profile, SCALE[suite], speed, together, asked)


@cache
def again(_number: int, *asked) -> Run:
    """As the run before it, whose times this machine was too busy for."""
    return run_of.__wrapped__(*asked)


def late(run: Run) -> bool:
    """Whether the run itself says that this machine was too busy for its times."""
    said = " ".join(text for finding in run.findings for _, text in finding.detail)
    return re.search(r"\d (?:that may be stamped late|left out)", said) is not None


def _run(fault, suite, api, profile, scale, speed, together, overrides) -> Run:
    clock = Clock(scale)
    with lab.serve((fault,) if fault else (), clock=clock, profile=profile, **speed) as served:
        endpoints = (
            ("chat", "responses")
            if (suite in {"edge", "streams", "cache"} or suite.endswith("apart.yaml")) and api == "openai"
            else ()
        )
        target = target_from_flags(
            served.url(api), api, served.model, key_env=KEY, env_proxy=False, endpoints=endpoints, owned=True
        )
        target = replace(target, limits=Limits(concurrency=together))
        if suite == "curve":
            target = replace(target, budget=Budget(tokens=400_000))
        if suite == "cache":  # whose twin is the route
            direct = Route("origin", served.url(api, "origin"), env_proxy=False)
            target = replace(
                target, routes={**target.routes, direct.name: direct}, budget=Budget(tokens=400_000)
            )
        order = Order((suite,), target, overrides=overrides, seed=7, clock=clock)
        return conduct(order, Secrets({**os.environ, KEY: served.api_key}))


@cache
def ahead(*asked) -> Future:
    """That run, side by side with others; no test waits for more than its own."""
    return side_by_side().submit(run_of, *asked)


@cache
def side_by_side() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2)


@cache
def changed(*asked: str | None) -> tuple[Change, ...]:
    """What is said otherwise of the run when it comes out of the store and is judged again."""
    run = run_of(*asked)
    stored = from_document(json.loads(json.dumps(to_document(run, chunks=True))))
    return changes(stored, rejudge(stored, catalogue(), run.finished))


def holds(row: Expectation, run: Run) -> bool:
    """Whether one finding of the run, where the row looks, says all that the row expects; a row without a kind does
    not look at connections, which are good whatever is said on them.
    """
    wanted = {f.name: getattr(row.expect, f.name) for f in fields(row.expect)}
    looked_at = [
        f
        for f in run.findings
        if (row.kind or f.kind) == f.kind
        and (row.kind or f.kind != "connection")
        and (row.client in {None, f.client} or _names(f, row))
    ]
    if row.run not in {None, run.verdict}:
        return False
    return any(all(v is None or _says(f, k, v) for k, v in wanted.items()) for f in looked_at)


def _says(finding, member, wanted) -> bool:
    if member == "says":
        rows = " ".join(text for _, text in finding.detail)
        return all(part in rows for part in ((wanted,) if isinstance(wanted, str) else wanted))
    found = getattr(finding, member)
    return (found is not None if member == "next_test" else found) == wanted


def _names(finding, row) -> bool:
    """A finding of several clients has no `client` of its own; its title names them."""
    return finding.client is None and row.client in finding.title.replace(",", " ").split()


@pytest.fixture(scope="module", autouse=True)
def _waiting_together(request):
    """Long runs wait more than they work, so those that are asked for do it side by side."""
    long = {truth(row) for row in rows_of(request.session) if row.suite == "long"}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda run: run_of(*run), sorted(long, key=str)))


def rows_of(session) -> list[Expectation]:
    asked = [item.callspec.params.get("row") for item in session.items if hasattr(item, "callspec")]
    return [row for row in asked if isinstance(row, Expectation)]


def name(row: Expectation) -> str:
    return "-".join(
        part
        for part in (
            row.fault or "healthy",
            row.suite,
            row.kind,
            row.client,
            row.api,
            row.profile,
            *row.sets,
        )
        if part and part != "cloudflare"
    )


ROWS = expectations()


@pytest.mark.parametrize(
    "row",
    [pytest.param(r, id=name(r)) for r in ROWS],
)
def test_the_probe_says_of_each_fault_what_a_perfect_probe_would(row, request):
    """The finding that the second table asks for is there, the stored run says the very same when judged again, and
    whatever fails has a command that shows it.
    """
    if row.suite in MEASURED:
        for other in rows_of(request.session):
            if other.suite == row.suite:
                ahead(*truth(other))
        ahead(*truth(row)).result()
    run = run_of(*truth(row))
    for number in range(AGAIN if row.suite in MEASURED else 0):
        if holds(row, run) or not late(run):
            break
        run = again(number, *truth(row))
    assert holds(row, run), "\n".join(
        f"{f.kind} {f.client} {f.code} {f.verdict} {f.layer} {f.product} {f.vendor_code} {f.factor} {f.reason} {f.title} {f.detail}"
        for f in run.findings
    )
    assert changed(*truth(row)) == ()
    assert [f for f in run.findings if f.verdict is Verdict.FAIL and f.reproduce is None] == []


# --- can the check fail? ---------------------------------------------------------------------------------

SHUFFLED = [row for row in ROWS if row.suite != "long"]
"""Long runs take seconds each, and what they must say no other suite says."""


def truth(row):
    apart = row.kind if row.kind in APART else None
    return (row.fault, row.suite, row.api, row.profile, apart, row.sets)


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_rows_do_not_hold(seed):
    """Judged by the run of another fault, rows fail: nearly all that expect trouble do, whatever the shuffle."""
    rows = [row for row in SHUFFLED if row.expect.verdict is not Verdict.PASS]
    others = Random(seed).sample(rows, len(rows))
    pairs = [(row, other) for row, other in zip(rows, others, strict=True) if row.fault != other.fault]
    held = [
        (row, other)
        for row, other in pairs
        if same_question(row, other) and holds(row, run_of(*truth(other)))
    ]
    asked = [(row, other) for row, other in pairs if same_question(row, other)]
    told = [name(row) + " by " + name(other) for row, other in held if not alike(row, other)]
    assert len(pairs) > 0.9 * len(rows)
    assert len(told) <= 0.1 * len(asked), told


def same_question(row, other):
    mine, theirs = ((r.suite, r.api, r.kind in APART, r.sets) for r in (row, other))
    return mine == theirs


def alike(row, other):
    """Both faults are to be told in the same words, such as the forms of one page."""
    return all(v is None or getattr(other.expect, f.name) == v for f in fields(row.expect) if (v := getattr(row.expect, f.name)))  # fmt: skip


@pytest.mark.parametrize("suite", ["identity", "smoke", "keepalive", "burst", "streams", "cache", "curve"])
def test_the_healthy_lab_bears_no_trouble(suite):
    """No row that expects trouble holds where nothing is wrong."""
    rows = [row for row in SHUFFLED if row.suite == suite and row.expect.verdict is not Verdict.PASS]
    assert rows
    assert [
        name(row) for row in rows if holds(row, run_of(None, suite, row.api, "cloudflare", None, row.sets))
    ] == []


def test_every_pass_row_fails_somewhere():
    """What is asked of the healthy lab is not said of one that refuses everybody."""
    blocked = {
        suite: run_of("block-all", suite, "openai")
        for suite in ("identity", "smoke", "edge", "burst", "streams", "cache", "curve")
    }
    blocked["keepalive"] = run_of(
        "close-after-each", "keepalive", "openai"
    )  # a refusal is carried like any answer
    rows = [r for r in SHUFFLED if r.expect.verdict is Verdict.PASS and r.api == "openai"]
    rows = [r for r in rows if r.expect.layer is not Layer.NETWORK]  # who refuses takes connections
    assert [name(row) for row in rows if holds(row, blocked[row.suite])] == []
