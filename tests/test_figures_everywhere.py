"""No figure stands in any report without the conditions under which it was taken, its n, and what it is worth."""

from __future__ import annotations

import ast
import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from labruns import CLOCK, served

import probes
from probes.conduct import Order, conduct
from probes.model import Figure, Slo, Verdict
from probes.reporters import console, html, json_report, markdown
from probes.reporters.measures import measures

TAKEN = {"connection", "client", "cache", "concurrency"}
PACKAGE = Path(probes.__file__).parent


@cache
def lab_run():
    """Kinds that read one clock, that take medians, and that compare arms; a promise that nobody keeps is a trouble."""
    with served() as (_, target, secrets):
        asked = replace(target, slo=Slo(ttft=1e-6))
        return conduct(Order(("smoke", "cache"), asked, seed=7, clock=CLOCK), secrets)


@cache
def told(reporter):
    out = io.StringIO()
    reporter.report(lab_run(), out)
    return out.getvalue()


def measured():
    return [finding for finding in lab_run().findings if finding.figures]


def test_the_run_has_figures_of_many_kinds():
    """Else the others prove little."""
    kinds = {finding.kind for finding in measured()}
    assert {"connection", "streaming", "prompt_cache"} <= kinds
    assert any(finding.verdict is not Verdict.PASS for finding in measured())


def test_in_json():
    """Those of the finding, and of the figure where it has its own."""
    for finding in json.loads(told(json_report))["findings"]:
        for name, figure in finding["figures"].items():
            assert {**finding["conditions"], **figure["conditions"]}.keys() >= TAKEN, (finding["kind"], name)
            assert figure["n"] > 0


def test_what_is_a_median_says_how_far_its_samples_lie_apart():
    """With its interval, and conditions that are those of each of its samples."""
    medians = {
        name: f for finding in measured() for name, f in finding.figures.items() if f.spread is not None
    }
    assert medians, "a busy machine leaves out what it may have stamped late, but not all of it"
    for name, figure in medians.items():
        assert figure.n > 1, name
        assert figure.low <= figure.value <= figure.high, name
        assert figure.spread >= 0, name
        assert figure.conditions.keys() >= TAKEN, name


def test_the_arms_of_a_comparison_name_their_cache():
    """Their figures agree in all but what is compared."""
    [finding] = [finding for finding in measured() if finding.kind == "prompt_cache"]
    wanted = {"control": "cold", "cold": "cold", "warm": "primed", "broken": "broken", "moved": "moved"}
    arms = {
        name: finding.figures[f"ttft_{name}"].conditions["cache"]
        for name in wanted
        if f"ttft_{name}" in finding.figures
    }
    assert len(arms) > 1
    assert arms == {name: wanted[name] for name in arms}
    others = [
        {k: v for k, v in figure.conditions.items() if k != "cache"}
        for name, figure in finding.figures.items()
        if name.startswith("ttft_")
    ]
    assert all(each == others[0] for each in others)


def test_on_the_console():
    """One line of conditions for each finding that has figures."""
    lines = [line.split() for line in told(console).splitlines()]
    assert sum(line[:2] == ["under", "connection"] for line in lines) == len(measured())


@pytest.mark.parametrize("reporter", [html, markdown], ids=["html", "markdown"])
def test_on_pages(reporter):
    """A row for each figure: name, value, n, spread, interval, conditions. Markdown details what is no pass."""
    page = told(reporter)
    shown = [f for f in measured() if reporter is html or f.verdict is not Verdict.PASS]
    for finding in shown:
        for measure in measures(finding):
            assert all(word in measure.under for word in ("connection ", "client ", "cache "))
            row = (
                "".join(f"<td>{cell}</td>" for cell in measure)
                if reporter is html
                else f"| {measure.name} | {measure.value} | {measure.n} |"
            )
            assert row in page, (finding.kind, measure.name)


def test_only_one_home_makes_a_figure_of_a_median():
    """Elsewhere nobody would look whether the samples agree; the middle of several runs' cutoffs has its own bounds."""
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", None) == Figure.__name__
        and node.args
        and isinstance(node.args[0], ast.Call)
        and getattr(node.args[0].func, "id", None) in {"median", "mean", "quantiles"}
    }
    assert found == {"sampling.py", "change/cutoff.py"}
