"""A base URL that is not the API's, in the forms that people give (C52)."""

from __future__ import annotations

import pytest
from labruns import served, target_at

from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.model import Verdict

SLOW = Clock(0.5)
"""Nothing is generated here; and what is answered at once must be so on a loaded machine, too."""


@pytest.mark.parametrize(
    "given",
    ["", "/v1/v1", "/v1/chat/completions", "/v1/messages/v1", "/v1/chat/completions/"],
    ids=["no version", "doubled", "an endpoint", "another API's", "with a slash"],
)
def test_a_wrong_base_url_is_told_with_the_right_one(given):
    """Whatever was made of it, the API's own is found by asking."""
    with served(clock=SLOW) as (lab, target, secrets):
        root = lab.base_url.removesuffix("/v1")
        wrong = target_at(root + given, target.model)
        made = conduct(Order(("smoke",), wrong, seed=7, clock=SLOW), secrets)
    found = [f for f in made.findings if f.code == "wrong_base_url" and f.kind == "completion"]
    assert [(f.verdict, f.title.endswith(f"{root}/v1 is")) for f in found] == [(Verdict.FAIL, True)]
    assert made.verdict is Verdict.FAIL
