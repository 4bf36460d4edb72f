"""The conditions of figures in words."""

from __future__ import annotations

import pytest

from probes.model import Figure, Finding, Verdict
from probes.reporters.measures import measures
from probes.reporters.taken import under

NEW = {"connection": "new", "client": "cold", "cache": "cold", "concurrency": 1, "route": "edge"}


def finding(conditions, **figures):
    return Finding("ok", Verdict.PASS, "s/k", "k", route="edge", figures=figures, conditions=conditions)


def seconds(**conditions):
    return Figure(0.12, "s", 5, 0.1, 0.2, 0.03, {**NEW, **conditions})


@pytest.mark.parametrize(
    ("conditions", "figures", "said"),
    [
        (NEW, {"ttft": Figure(1.0, "s", 1)}, "connection new, client cold, cache cold, 1 at a time"),
        ({}, {"ttft": seconds(concurrency=4)}, "connection new, client cold, cache cold, 4 at once"),
        ({}, {"ttft": seconds(route="origin")}, "connection new, client cold, cache cold, 1 at a time, route origin"),
        (
            {"cache": "by arm", "warm_up": 4},
            {"a": seconds(), "b": seconds(cache="primed")},
            "connection new, client cold, cache by arm, 1 at a time, warm up 4",
        ),
        ({"connection": "new"}, {"b": Figure(9, "B", 1)}, "connection new, client unknown, cache unknown"),
        ({"answers": 40}, {"instances": Figure(3, "instances", 40)}, "answers 40"),
        ({}, {"b": Figure(9, "B", 1)}, "not recorded"),
        (NEW, {}, ""),
    ],
    ids=["the finding's", "the figure's", "another route", "by arm", "in part", "counted over all", "none", "no figure"],
)  # fmt: skip
def test_under_which_conditions(conditions, figures, said):
    """Those that all figures share, else the finding's own word; what nobody recorded is unknown."""
    assert under(finding(conditions, **figures)) == said


@pytest.mark.parametrize(
    ("figure", "cells"),
    [
        (seconds(), ("120 ms", "5", "30 ms", "100 ms to 200 ms")),
        (Figure(0.5, "share", 20, 0.25, 0.75), ("50 %", "20", "", "25 % to 75 %")),
        (Figure(2500.4, "tokens/s", 30, None, 2600), ("2,500 tokens/s", "30", "", "up to 2,600 tokens/s")),
        (Figure(0.02, "s/token", 1, 0.02, 0.02), ("20 ms a token", "1", "", "")),
    ],
    ids=["a median", "a share", "half open", "one reading"],
)
def test_a_figure_in_cells(figure, cells):
    """Value, n, quartiles and interval; a cell is empty where there is no such thing."""
    [measure] = measures(finding({}, ttft=figure))
    assert measure[1:5] == cells
