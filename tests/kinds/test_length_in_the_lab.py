"""Long answers against the lab, by every API, within every budget, and night after night."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from canned import as_text
from labruns import KEY, served

from probes import lab, store
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.model import Budget, Factor, Reason, Verdict

CLOCK = Clock(0.02)


def run(*faults, api="openai", endpoint=None, budget=None, at=None, speed=None, **params):
    """One run of the suite `long`; `at` is the base URL that the target says it has."""
    with served(*faults, clock=CLOCK, **{"tpot": lab.TPOT, **(speed or {})}) as (running, _, secrets):
        target = target_from_flags(
            running.url(api), api, running.model, key_env=KEY, env_proxy=False, endpoints=(endpoint,) if endpoint else ()
        )  # fmt: skip
        if budget is not None:
            target = replace(target, budget=budget)
        if at is not None:
            route = replace(target.routes["edge"], base_url=at, connect_to=running.url().split("/")[2])
            target = replace(target, routes={"edge": route})
        asked = {name: str(value) for name, value in params.items()}
        return conduct(Order(("long",), target, overrides=asked, seed=7, clock=CLOCK), secrets)


@pytest.mark.parametrize(
    "api, endpoint", [("openai", "chat"), ("openai", "responses"), ("anthropic", "messages")]
)
def test_every_api_is_held_and_cut(api, endpoint):
    """By itself the case finds how long an answer has to be, and its cut."""
    done = run("read-timer", api=api, endpoint=endpoint)
    (found,) = done.findings
    assert (found.code, found.product, found.factor) == ("timeout.first_byte", "Cloudflare", Factor.STREAM)
    assert found.figures["cutoff"].value == pytest.approx(125, abs=found.figures["cutoff"].high - found.figures["cutoff"].value)  # fmt: skip
    assert found.figures["tpot"].value == pytest.approx(lab.TPOT, rel=0.05)
    assert done.spend.output_tokens < 2 * 1_200


@pytest.mark.parametrize("tokens", [700, 3000])
def test_the_budget_is_kept_and_the_report_says_how_far_was_tested(tokens):
    """The cap is lowered to what is left; nothing above it is spent."""
    done = run(budget=Budget(tokens=tokens))
    assert done.spend.input_tokens + done.spend.output_tokens <= tokens
    (found,) = done.findings
    if tokens == 3000:
        assert found.verdict is Verdict.PASS
    else:
        assert (found.code, found.reason) == ("not_measured", Reason.BUDGET)
        assert 40 < found.figures["held"].value < 137
        assert "what the budget bears" in dict(found.detail)["because"]


def test_a_cap_that_the_server_refuses_is_made_up_for_by_a_long_prompt():
    """Both are learnt from the server: the most from its 400, the rest from how fast it reads."""
    done = run("small-window", speed={"prefill_per_token": 0.01}, hold=100)
    (found,) = done.findings
    assert found.verdict is Verdict.PASS, as_text(done.findings)
    assert {
        call.trial.request.cap
        for call in done.calls
        if call.trial.label.endswith(("control", "variant")) and call.last.status == 200
    } == {300}
    assert "by a long prompt" in dict(found.detail)["seen"]
    assert found.figures["held"].value >= 100


def test_a_prompt_that_takes_longer_than_the_timer():
    """The stream is silent as long: both sides die, and early bytes are the advice."""
    done = run("read-timer-60", speed={"prefill_per_token": 0.01}, prompt_tokens=6000)
    (found,) = done.findings
    assert (found.code, found.product, found.factor) == ("timeout.first_byte", "nginx", None)
    assert ": ping" in found.advice


@cache
def nights():
    return {}


@pytest.mark.xdist_group("known")
@pytest.mark.parametrize(
    "fault, code, verdict",
    [
        (None, "regression.cutoff", Verdict.WARN),
        ("read-timer", "ok", Verdict.PASS),
        ("read-timer-60", "regression.cutoff", Verdict.FAIL),
    ],
    ids=["gone", "the same", "earlier"],
)
def test_night_after_night(fault, code, verdict, tmp_path, monkeypatch):
    """The last cutoff comes from the stored runs of the same target; a stored run is judged again without them."""
    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path))
    base = "http://api.lab.example/v1"
    nothing = run(at=base, mode="known")
    assert [(f.code, f.verdict) for f in nothing.findings] == [("not_measured", Verdict.INCONCLUSIVE)]
    if "full" not in nights():
        nights()["full"] = run("read-timer", at=base)
    store.save(nights()["full"])
    store.save(
        replace(nothing, id="20991231-000000-zzzz")
    )  # it measured nothing, so an older one is looked at
    (tmp_path / "20991231-000001-zzzz.json").write_text("{", "utf-8")
    done = run(*([fault] if fault else []), at=base, mode="known")
    (found,) = done.findings
    assert (found.code, found.verdict) == (code, verdict), as_text(done.findings)
    assert found.figures["before"].value == pytest.approx(
        nights()["full"].findings[0].figures["cutoff"].value
    )
    assert done.spend.requests == 2
    other = run(mode="known", at="http://other.example/v1")
    assert [f.code for f in other.findings] == ["not_measured"]


def test_secrets_are_not_needed_to_plan(tmp_path, monkeypatch):
    """What is recalled is recalled without a key."""
    from probes.conduct import plan

    monkeypatch.setenv("EDGEPROBE_REPORTS", str(tmp_path))
    target = target_from_flags("http://a.example/v1", "openai", "m", key_env=KEY, env_proxy=False)
    [case] = plan(Order(("long",), target, overrides={"mode": "known"}), Secrets({})).cases
    assert case.params["known"] is None
