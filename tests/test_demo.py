"""The demo finds the two planted faults, and nothing where nothing is planted."""

from __future__ import annotations

import io
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from probes import cli, demo
from probes.lab.expectations import expectations
from probes.model import Verdict
from probes.stop import Stop

pytestmark = pytest.mark.xdist_group("demo")
CASES = {
    "both": demo.PLANTED,
    "none": (),
    "ai-crawler-rule": demo.PLANTED[:1],
    "read-timer": demo.PLANTED[1:],
}


@cache
def runs():
    """The demo's run with each set of faults; they wait more than they work, so at the same time."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(CASES, pool.map(demo.demo, CASES.values()), strict=True))


def run_with(name):
    return runs()[name]


@pytest.mark.parametrize("name", CASES)
def test_exactly_what_is_planted_is_found(name):
    """Each fault alone is found alone; with none the same suite passes."""
    run = run_with(name)
    kinds = {"ai-crawler-rule": "identity", "read-timer": "length"}
    troubles = [f.kind for f in run.findings if f.verdict is not Verdict.PASS]
    assert sorted(troubles) == sorted(kinds[fault] for fault in CASES[name])
    assert run.verdict is (Verdict.FAIL if CASES[name] else Verdict.PASS)
    assert demo.exactly_found(run, CASES[name])


@pytest.mark.parametrize("planted", CASES)
@pytest.mark.parametrize("name", CASES)
def test_what_was_not_planted_is_not_said_to_be_found(name, planted):
    """A run counts as right for its own faults only."""
    assert demo.exactly_found(run_with(name), CASES[planted]) is (name == planted)


def test_shuffled_expectations(monkeypatch):
    """The check can fail: with the expectations of other faults it says so."""
    rows = expectations()
    monkeypatch.setattr(demo, "expectations", lambda: [replace(r, expect=rows[(i + 7) % len(rows)].expect) for i, r in enumerate(rows)])  # fmt: skip
    assert not demo.exactly_found(run_with("both"))
    failing = [row for row in rows if row.expect.verdict is Verdict.FAIL]
    for seed in range(20):
        others = [r.expect for r in failing]
        Random(seed).shuffle(others)
        pairs = list(zip(failing, others, strict=True))
        asked = [(r, o) for r, o in pairs if r.api == "openai" and r.suite in {"identity", "long"}]
        mine = [(r, o) for r, o in asked if r.fault in demo.PLANTED]
        if all(r.expect == o for r, o in mine):
            continue
        monkeypatch.setattr(
            demo, "expectations", lambda pairs=pairs: [replace(r, expect=o) for r, o in pairs]
        )
        told = demo.exactly_found(run_with("both"))
        assert not told or all(_no_less(o, r.expect) for r, o in mine)


def _no_less(other, own):
    """The other fault's row happens to ask for nothing that this one does not show."""
    names = ("code", "verdict", "layer", "product", "vendor_code", "factor")
    return all(getattr(other, n) in {None, getattr(own, n)} for n in names)


def test_a_run_without_findings_found_nothing():
    """Nothing measured is not "exactly what was planted", even where nothing was."""
    assert not demo.exactly_found(replace(run_with("none"), findings=()), ())


def test_a_trouble_too_many():
    """Both found and one made up is not right."""
    run = run_with("both")
    extra = replace(run.findings[-1], verdict=Verdict.WARN, code="leak.internal_address")
    assert not demo.exactly_found(replace(run, findings=(*run.findings, extra)))


def test_the_last_lines():
    """They say whether the demo is right, and what to do next."""
    right, wrong = io.StringIO(), io.StringIO()
    assert demo.epilogue(run_with("both"), right)
    assert not demo.epilogue(run_with("none"), wrong)
    assert "2 faults, both planted, both found" in right.getvalue()
    assert "this is not what was found" in wrong.getvalue()
    assert "edgeprobe run smoke --base-url" in right.getvalue()


def test_an_interrupted_demo_is_not_to_be_reported():
    """It says that it was interrupted, and exits with 1: what was planted was not found."""
    stop = Stop()
    stop("interrupted")
    out = io.StringIO()
    assert not demo.epilogue(demo.demo(stop=stop), out)
    assert "interrupted before" in out.getvalue()
    assert "report it" not in out.getvalue()


def test_the_command(capsys):
    """Exit code 0 in under half a minute, and the two causes stand in what is printed."""
    began = time.monotonic()
    assert cli.main(["demo"]) == 0
    assert time.monotonic() - began < 30
    said = capsys.readouterr().out
    assert "blocked.client" in said
    assert "timeout.first_byte" in said
    assert "user agent" in said
