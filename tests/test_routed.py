"""Is it told over which instances requests were spread, and is chance told from a crooked balancer?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import attributed
from exchanges import GOOD_CHAT, exchange

from probes.instances import instances, spreads, uneven
from probes.model import Ask, Call, Trial, Verdict
from probes.routed import routed


def call(number, headers=None, status=200, id="chatcmpl-1"):  # noqa: A002 - the member's own name
    made = attributed(exchange(status, {**GOOD_CHAT, "id": id}, headers))
    trial = Trial(f"t/{number}", "openai-py", "edge", Ask("chat"))
    return Call(f"c{number}", "s/completion", trial, 0, (replace(made, id=f"c{number}/0"),))


def told(counts, header="x-backend"):
    names = [name for name, n in counts.items() for _ in range(n)]
    return routed([call(n, {header: name}) for n, name in enumerate(names)], "s")


@pytest.mark.parametrize(
    "headers, id, seen",
    [
        ({"x-litellm-model-id": "a1"}, "x", {("model id", "a1")}),
        ({"cf-ray": "9f140b785e57c458-FRA"}, "x", {("colo", "FRA")}),
        ({}, "chatcmpl-___prefill_addr_10.0.0.1:14579___decode_addr_10.0.1.1:14580_ab12",
         {("prefill", "10.0.0.1:14579"), ("decode", "10.0.1.1:14580")}),
        ({"x-request-id": "___prefill_addr_p:1___decode_addr_d:2_u"}, "x", {("prefill", "p:1"), ("decode", "d:2")}),
        ({}, "chatcmpl-1", set()),
    ],
    ids=["gateway", "colo", "id of the answer", "id of the request", "nothing"],
)  # fmt: skip
def test_who_answered(headers, id, seen):  # noqa: A002 - the member's own name
    """By the answer's id and by what gateways say in headers."""
    assert set(instances(call(1, headers, id=id).last)) == seen


@pytest.mark.parametrize(
    "counts, p",
    [
        ([10, 10], 1.0),
        ([15, 5], 0.0253),
        ([20, 10, 6], 0.01312),
        ([30, 10, 10, 10], 0.0001697),
        ([12, 8, 10, 11, 9], 0.9098),
        ([4, 3], None),
        ([9], None),
    ],
    ids=str,
)
def test_chance(counts, p):
    """The tail of the chi-squared distribution for even and odd degrees of freedom; too few say nothing."""
    assert uneven(counts) == (None if p is None else pytest.approx(p, rel=0.01))


def test_an_even_spread():
    """Shares, the ratio of the busiest to the idlest, and that chance explains it."""
    [found] = told({"a": 11, "b": 9})
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)
    assert "backend: a 55% (11), b 45% (9); the busiest 1.2 times the idlest" in dict(found.detail)["seen"]
    assert found.figures["max_to_min"].value == pytest.approx(11 / 9)
    assert "no more uneven than" in dict(found.detail)["chance"]


def test_an_uneven_spread():
    """More than chance has it is a warning, and not put down to a fault."""
    [found] = told({"a": 40, "b": 5})
    assert (found.code, found.verdict) == ("routed.uneven", Verdict.WARN)
    assert found.figures["p"].value < 0.01


@pytest.mark.parametrize("counts", [{"a": 7, "b": 1}, {"a": 2, "b": 1, "c": 1}], ids=str)
def test_too_few_to_say(counts):
    """The shares are told, and no verdict on them."""
    [found] = told(counts)
    assert (found.code, "p" in found.figures) == ("ok", False)
    assert "too few" in dict(found.detail)["chance"]


def test_data_centres_are_not_to_share():
    """Which of them answers is the network's choice."""
    [found] = told({"9f140b785e57c458-FRA": 60, "9f140b785e57c458-AMS": 2}, "cf-ray")
    assert (found.code, found.verdict) == ("ok", Verdict.PASS)


def test_one_instance_or_none_is_no_spread():
    """Nothing is said."""
    assert told({"a": 9}) == []
    assert spreads([call(1).last]) == []


def test_only_good_answers_count():
    """Who refuses is not asked for work; and a run of failures gets no pass from its routing."""
    assert routed([call(n, {"x-backend": f"b{n}"}, status=500) for n in range(4)], "s") == []
