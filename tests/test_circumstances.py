"""Every call says under which circumstances it was sent, and no run sends the prompts of another."""

from __future__ import annotations

import pytest
from labruns import CLOCK, bench_for, served

from probes.circumstances import Circumstances
from probes.conduct import Order, conduct
from probes.live import Live
from probes.model import Ask, Case, Trial

SALT = "0123456789ab"


def planned(*trials):
    return [(trial, 0) for trial in trials]


def trial(salt=SALT, session=None, arm=None, label="t"):
    return Trial(label, "httpx", "edge", Ask("chat", arm=arm), session=session, salt=salt)


def salts(nonce, *trials):
    return [each.salt for (each, _), _ in Circumstances(nonce, 4).salted(planned(*trials))]


def test_runs_with_one_seed_share_no_salt():
    """The order can be had again, the prompts can't: a cache would still hold them. In one run the same is the same."""
    other = "ba9876543210"
    a, b = salts("run a", trial(), trial(other)), salts("run b", trial(), trial(other))
    assert len({*a, *b, SALT, other}) == 6
    assert salts("run a", trial(), trial()) == [a[0], a[0]]
    assert {len(salt) for salt in a + b} == {len(SALT)}
    assert salts("run a", trial("")) == [""]


def test_a_trial_that_is_taken_from_a_call_keeps_its_salt():
    """What asks for the same prompt again gets the same prompt."""
    ones = Circumstances("run", 4)
    [((first, _), _)] = ones.salted(planned(trial()))
    [((again, _), _)] = ones.salted(planned(first))
    assert again.salt == first.salt != SALT


@pytest.mark.parametrize(
    ("steps", "arms"),
    [
        ([[trial()]], ["cold"]),
        ([[trial()], [trial()]], ["cold", "unknown"]),
        ([[trial(), trial()]], ["unknown", "unknown"]),
        ([[trial("")]], ["unknown"]),
        ([[trial(arm="cold")], [trial(arm="primed")]], ["cold", "primed"]),
    ],
    ids=["a prompt of its own", "asked for again", "twice at once", "no salt", "the arms of an experiment"],
)
def test_the_arm_of_a_call(steps, arms):
    """Cold is what nobody can have sent before; what was not seen to is unknown."""
    ones = Circumstances("run", 4)
    assert [under.cache for step in steps for _, under in ones.salted(planned(*step))] == arms


@pytest.mark.parametrize(("together", "limit", "seen"), [(1, 4, 1), (3, 4, 3), (9, 4, 4)])
def test_no_more_at_once_than_the_target_bears(together, limit, seen):
    """A step may hold more than are let go together."""
    step = Circumstances("run", limit).salted(planned(*[trial(f"{n}") for n in range(together)]))
    assert {under.concurrency for _, under in step} == {seen}


def test_what_a_call_on_the_wire_says():
    """Its connection, how warm its client was, its prompt, how many at once, its place in the order, and its lag."""
    with served() as (_, target, secrets):
        bench = bench_for(target, secrets)
        made = Case("s/k", "s", "k", target, (httpx(),), "edge", {}, 1)
        live = Live(made, bench)
        try:
            calls = [
                live([(trial(f"{n}" * 12, session), n)])[0] for n, session in enumerate(["a", "a", None, "b"])
            ]
        finally:
            live.close()
    keys = ("connection", "client", "cache", "concurrency", "position")
    assert [tuple(call.conditions[key] for key in keys) for call in calls] == [
        ("new", "cold", "cold", 1, 0),
        ("reused", "warm", "cold", 1, 1),
        ("new", "cold", "cold", 1, 2),
        ("new", "cold", "cold", 1, 3),
    ]
    assert all(call.own_lag is not None for call in calls)


def test_every_call_of_a_run_says_it():
    """Whatever the kind; and two runs of one seed have no prompt in common."""
    found = []
    with served() as (_, target, secrets):
        for _ in range(2):
            run = conduct(Order(("smoke",), target, seed=7, clock=CLOCK), secrets)
            found.append({call.trial.salt for call in run.calls if call.trial.salt})
            for call in run.calls:
                assert call.not_sent is not None or {
                    "connection", "client", "cache", "concurrency", "position",
                } <= call.conditions.keys(), call.id  # fmt: skip
    assert found[0]
    assert not found[0] & found[1]


def httpx():
    from probes import config

    return config.clients()["httpx"]


def test_the_arms_of_the_cache_share_no_salt_but_a_read_that_of_its_write():
    """A cache that the probe itself filled is no finding: each write has a prompt of its own, in each run."""
    from canned import case, told

    arms = {}
    for seed in (1, 2):
        _, server = told(case("prompt_cache", (httpx(),), keyed=True, seed=seed), lambda _: "good stream")
        for call in server.calls:
            arms.setdefault(call.trial.label.split("/", 2)[-1], []).append(call.trial.salt)
    for write, read in (("cold", "warm"), ("kept/cold", "kept/warm")):
        assert len(set(arms[write])) == len(arms[write]) > 1
        assert set(arms[read]) <= set(arms[write])
    mine = {
        arm: set(salts) for arm, salts in arms.items() if arm in {"cold", "kept/cold", "control", "warm_up"}
    }
    assert sum(map(len, mine.values())) == len(set().union(*mine.values()))
    assert len(set(arms["control"])) == len(arms["control"])
