"""Whatever a server says, a flow ends with a finding, within its bound, and claims no cause that was not seen."""

from __future__ import annotations

import pytest
from canned import (
    ALL,
    ANSWERS,
    CURL,
    HTTPX,
    NO_EXCHANGE,
    OPENAI,
    OUTCOMES,
    as_text,
    case,
    check_not_better,
    random_mind,
    run_of,
    told,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.kinds import KINDS
from probes.model import NotSent, Reason, Verdict
from probes.runner import judge, replay, worst
from probes.signatures import catalogue
from probes.vocabulary import vocabulary

kinds = pytest.mark.parametrize("kind", KINDS)
pools = st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=4, unique=True)
seeds = st.integers(0, 2**16)
client_sets = st.sampled_from([ALL, (OPENAI,), (OPENAI, CURL), (HTTPX, OPENAI), (CURL,)])
quick = settings(max_examples=80, deadline=None)


def worlds(kind, pool, seed, clients, keyed):
    asked = case(kind, clients, seed=seed, keyed=keyed)
    findings, server = told(asked, random_mind(pool, seed))
    return asked, findings, server


@kinds
@quick
@given(pools, seeds, client_sets, st.booleans())
def test_every_flow_ends_with_a_finding(kind, pool, seed, clients, keyed):
    """No outcome of any call breaks a flow, and none leaves it without a finding."""
    _, findings, _ = worlds(kind, pool, seed, clients, keyed)
    assert findings
    assert not [f for f in findings if f.code == "probe.bug"], as_text(findings)
    assert {f.code for f in findings} <= vocabulary().keys()
    assert {f.kind for f in findings} == {kind}


@kinds
@quick
@given(pools, seeds, client_sets, st.booleans())
def test_no_flow_exceeds_its_bound(kind, pool, seed, clients, keyed):
    """No strategy of answers makes a case ask for more than it announces."""
    asked, _, server = worlds(kind, pool, seed, clients, keyed)
    assert len(server.calls) <= KINDS[kind].bound(asked).requests


@kinds
@quick
@given(pools, seeds, client_sets, st.booleans())
def test_evidence_is_of_this_case(kind, pool, seed, clients, keyed):
    """What a finding names as its evidence, control and variant was seen in the case; k is never above n."""
    _, findings, server = worlds(kind, pool, seed, clients, keyed)
    seen = {e.id for call in server.calls for e in call.exchanges}
    for finding in findings:
        assert {*finding.evidence, finding.control, finding.variant} - {None} <= seen
        assert finding.observed is None or 0 <= finding.observed.k <= finding.observed.n, as_text([finding])


@kinds
@quick
@given(seeds, st.sampled_from([*ANSWERS, NO_EXCHANGE]), client_sets, st.sampled_from(list(NotSent)))
def test_nothing_sent_is_not_green(kind, seed, told_before, clients, why):
    """From the first call that is not sent on, a flow that had nothing but that ends inconclusive with the same word."""
    findings, _ = told(case(kind, clients, seed=seed), lambda _: why)
    assert worst(findings) is Verdict.INCONCLUSIVE
    assert {f.reason for f in findings} == {Reason(why)}


@kinds
@quick
@given(pools, seeds, client_sets, st.booleans())
def test_a_call_not_sent_is_never_hidden(kind, pool, seed, clients, keyed):
    """A case with a call that was not sent does not pass."""
    _, findings, server = worlds(kind, pool, seed, clients, keyed)
    if any(call.not_sent for call in server.calls):
        assert worst(findings) not in {Verdict.PASS, Verdict.WARN}, as_text(findings)


# --- replay ----------------------------------------------------------------------------------------------


@kinds
@quick
@given(pools, seeds, client_sets, st.booleans())
def test_replay_is_live(kind, pool, seed, clients, keyed):
    """The same calls give the same findings, and attributing them anew by the same signatures changes nothing."""
    asked, findings, server = worlds(kind, pool, seed, clients, keyed)
    run = run_of(asked, server.calls, findings)
    assert judge(asked, replay(run, asked)) == findings
    assert judge(asked, replay(run, asked, catalogue())) == findings


@kinds
@settings(max_examples=150, deadline=None)
@given(pools, seeds, client_sets, st.booleans(), st.data())
def test_a_replay_with_calls_missing_is_never_better(kind, pool, seed, clients, keyed, data):
    """Missing calls never turn trouble into a pass, never make up a failure, and never name a new cause."""
    asked, findings, server = worlds(kind, pool, seed, clients, keyed)
    missing = data.draw(st.sets(st.integers(0, len(server.calls) - 1), min_size=1), label="missing")
    left = [call for index, call in enumerate(server.calls) if index not in missing]
    again = judge(asked, replay(run_of(asked, left, findings), asked))
    check_not_better(findings, again)
