"""What a model costs, and that a budget of money is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from probes.errors import ConfigError
from probes.model import Prices, Route, Target
from probes.prices import cost, listed, prices

TARGET = Target("t", "openai", "gpt-4o-mini", {"edge": Route("edge", "http://a/v1")})


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (TARGET, Prices(0.15, 0.6, 0.075)),
        (replace(TARGET, model="gpt-4o-mini-2024-07-18"), Prices(0.15, 0.6, 0.075)),
        (replace(TARGET, prices=Prices(1, 2)), Prices(1, 2)),
        (replace(TARGET, prices=Prices(0, 0)), Prices(0, 0)),
        (replace(TARGET, model="gpt-4o-mini-2"), None),
        (replace(TARGET, model="qwen3-32b"), None),
        (replace(TARGET, api="anthropic"), None),
    ],
    ids=[
        "listed",
        "by its dated name",
        "the target's own",
        "free",
        "looks alike",
        "unknown",
        "another API's",
    ],
)
def test_prices(target, expected):
    """The target's own, else the list's for exactly that model of that API, else none."""
    assert prices(target) == expected


def test_cost():
    """Input and output each at its price per million tokens."""
    assert cost(Prices(3.0, 15.0), 1_000_000, 0) == 3.0
    assert cost(Prices(3.0, 15.0), 1_000, 2_000) == pytest.approx(0.033)


def test_every_price_has_a_source_and_a_day():
    """A price without them could not be checked again."""
    for (_, model), row in listed().items():
        assert row.source.startswith("https://"), model
        assert date(2025, 1, 1) < row.checked <= date(2026, 11, 29), model
        assert 0 < row.input <= row.output, model
        assert 0 < (row.cached or 0) < row.input, model


def test_a_model_has_one_price(tmp_path, monkeypatch):
    """Two rows for one model are refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    row = "{api: openai, models: [m], input: 1, output: 2, checked: 2026-01-01, source: x}"
    (tmp_path / "configs" / "prices.yaml").write_text(f"version: 1\nprices: [{row}, {row}]\n")
    with pytest.raises(ConfigError, match="m has two prices"):
        listed.__wrapped__()
