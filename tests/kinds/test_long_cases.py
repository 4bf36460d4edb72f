"""Field cases of long requests that a row of the lab's tables can't tell: who repeats, and who does not send at all."""

from __future__ import annotations

from collections import Counter

import pytest
from labruns import KEY, served

from probes import lab
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.lab.behaviour import Behaviour
from probes.lab.faults import Answer, Do, Fault, Timer
from probes.model import Layer, Verdict

CLOCK = Clock(0.02)


def asked(*faults, api="openai", **params):
    """(run, the origin's arrivals)."""
    with served(*faults, clock=CLOCK, tpot=lab.TPOT) as (running, _, secrets):
        target = target_from_flags(
            running.url(api), api, running.model, key_env=KEY, env_proxy=False, owned=True
        )
        overrides = {name: str(value) for name, value in params.items()}
        run = conduct(Order(("long",), target, overrides=overrides, seed=7, clock=CLOCK), secrets)
        return run, list(running.origin.requests)


def repeats(seconds: float, times: int) -> Fault:
    timer = Timer(seconds, Answer(page="nginx-504", proxied=True), repeats=times)
    return Fault("repeats", "", Do(first_byte_timer=timer))


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_gateway_that_asks_again_is_told_apart_by_an_origin_that_counts(times):
    """C23. From outside there is one answer after all the waits, and nothing says how many they were; the arrivals of a
    cooperating origin do, by the digest of the body that the run's exchange has as well.
    """
    run, arrivals = asked(repeats(60 / (times + 1), times), hold=66)
    [found] = [f for f in run.findings if f.verdict is Verdict.FAIL]
    assert (found.code, found.product) == ("timeout.first_byte", "nginx")
    assert found.figures["cutoff"].value == pytest.approx(60, abs=2.5)
    assert not [f for f in run.findings if f.code == "retry.amplified"]
    exchanges = {e.id: e for call in run.calls for e in call.exchanges}
    counted = Counter(f"sha256:{arrival.digest}" for arrival in arrivals)
    assert counted[exchanges[found.variant].request.body_digest] == times + 1
    assert counted[exchanges[found.control].request.body_digest] == 1


def test_the_sdk_refuses_before_it_sends():
    """C24. No packet of the side that is not streamed leaves; no edge is blamed."""
    quick = Fault("quick", "", Do(model=Behaviour(stops_after=20)))
    run, arrivals = asked(quick, api="anthropic", tokens=22_000, hold=5)
    [found] = [f for f in run.findings if f.verdict is not Verdict.PASS]
    assert (found.code, found.layer, found.client) == ("client.guard", Layer.CLIENT, "anthropic-py")
    assert "Streaming is required" in dict(found.detail)["seen"]
    plain = [call for call in run.calls if call.trial.label.endswith("/variant")]
    assert [call.exchanges for call in plain if call.trial.client == "anthropic-py"] == [()]
    assert len(arrivals) == sum(len(call.exchanges) for call in run.calls)
