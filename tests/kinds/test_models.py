"""The models list: the model in it, not in it, or no list at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import ALL, as_text, attributed, case, told
from exchanges import exchange

from probes.model import NotSent, Verdict
from probes.runner import worst


def listing(*names, **more):
    rows = [{"id": name, "object": "model"} for name in names]
    return attributed(
        exchange(200, {"object": "list", "data": rows, **more}, url="https://a.example/v1/models")
    )


@pytest.mark.parametrize(
    "said, code, verdict",
    [
        (listing("m", "n"), "ok", Verdict.PASS),
        (listing("n"), "models.unlisted", Verdict.WARN),
        (listing(), "models.unlisted", Verdict.WARN),
        (listing("n", has_more=True), "models.unlisted", Verdict.INCONCLUSIVE),
        (listing("m", has_more=True), "ok", Verdict.PASS),
        ("not found", "models.unlisted", Verdict.WARN),
        ("refused", "blocked.client", Verdict.INCONCLUSIVE),
        ("passed", "auth.rejected", Verdict.FAIL),
    ],
    ids=["listed", "unlisted", "empty", "further pages", "on the first page", "no list", "refused", "key"],
)
def test_what_the_list_says(said, code, verdict):
    """Absence is a warning at the most, and only where the whole list was seen."""
    findings, _ = told(case("models"), lambda _: said)
    assert (code, verdict) in {(f.code, f.verdict) for f in findings}, as_text(findings)
    assert worst(findings) is verdict


def test_a_list_that_was_declared_must_be_there():
    """404 of an endpoint that the target declares is a failure."""
    asked = case("models")
    declared = replace(asked, target=replace(asked.target, endpoints=("chat", "models")))
    findings, _ = told(declared, lambda _: "not found")
    assert worst(findings) is Verdict.FAIL


def test_clients_that_see_different_lists():
    """Each is told by name."""
    findings, _ = told(case("models"), lambda a: listing("m") if a.client == "curl" else listing("n"))
    assert {(f.code, f.observed.n) for f in findings} == {("ok", 1), ("models.unlisted", len(ALL) - 1)}


def test_not_sent():
    """One list that was not asked for leaves the case inconclusive."""
    findings, _ = told(case("models"), lambda a: NotSent.BUDGET if a.client == "curl" else listing("m"))
    assert worst(findings) is Verdict.INCONCLUSIVE


def test_a_client_that_is_refused_beside_one_that_got_the_list():
    """It must pass, and what others got proves that it could."""
    findings, _ = told(case("models"), lambda a: "refused" if a.client == "openai-py" else listing("m"))
    [found] = [f for f in findings if f.verdict is Verdict.FAIL]
    assert (found.code, found.client) == ("blocked.client", "openai-py")
    assert "beside" in dict(found.detail)
