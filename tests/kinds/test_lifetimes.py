"""Are cuts at one age told from cuts at one moment?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from canned import attributed, case, told
from exchanges import exchange, stream_facts

from probes.deaths import Life, Pattern, judge
from probes.kinds import KINDS
from probes.model import Confidence, Limits, NotSent, Timeline, Verdict


def dead(*pairs):
    return [Life(began, age, died=True) for began, age in pairs]


@pytest.mark.parametrize(
    "lives, pattern, died, of",
    [
        ([], Pattern.NONE, 0, 0),
        ([Life(0, 60, died=False)], Pattern.NONE, 0, 1),
        (dead((0, 30), (5, 30.2), (10, 29.9)), Pattern.AGE, 3, 3),
        ([*dead((0, 30), (5, 30.2)), Life(10, 12, died=False)], Pattern.AGE, 2, 2),
        ([*dead((0, 30), (5, 30.2)), Life(10, 50, died=False)], Pattern.NEITHER, 2, 3),
        (dead((0, 20), (5, 15.1), (10, 9.9)), Pattern.MOMENT, 3, 3),
        ([*dead((0, 20), (5, 15.1)), Life(10, 40, died=False)], Pattern.MOMENT, 2, 3),
        ([*dead((0, 20), (5, 15.1)), Life(22, 40, died=False), Life(0, 4, died=False)], Pattern.MOMENT, 2, 2),
        (dead((0, 20), (5, 24), (10, 31)), Pattern.NEITHER, 3, 3),
        (dead((0, 20)), Pattern.UNTOLD, 1, 1),
        (dead((0, 20), (0.1, 20)), Pattern.UNTOLD, 2, 2),
        (dead((0, 0.2), (5, 0.9), (10, 0.4)), Pattern.NEITHER, 3, 3),
        (dead((0, 6.0), (5, 6.8), (10, 6.3)), Pattern.NEITHER, 3, 3),
        (dead((0, 6.4), (5, 6.5), (10, 6.4)), Pattern.AGE, 3, 3),
    ],
    ids=[
        "nobody", "all lived", "one age", "one was done before", "one outlived it", "one moment", "one instance of several",
        "others were not open", "neither", "one alone", "begun together", "young, by chance", "within a second, by chance", "young, and to the point",
    ],
)  # fmt: skip
def test_what_ends_have_in_common(lives, pattern, died, of):
    """An age, a moment, or nothing; what does not tell them apart is told as that."""
    found = judge(lives)
    assert (found.pattern, found.died, found.of) == (pattern, died, of)


def cut(age, silent=0.0, **more):
    facts = stream_facts(**{"terminal": None, "finish_reason": None, "complete": False, "tokens": 50, **more})
    found = exchange(
        200,
        b"data: {}\n\n",
        {"content-type": "text/event-stream"},
        facts=facts,
        error=("closed", "body"),
        stream=True,
    )
    line = Timeline(
        upload_end=0.0, headers=0.1, first_byte=0.1, first_token=0.2, last_token=age - silent, last_byte=age - silent, end=age
    )  # fmt: skip
    return attributed(replace(found, timeline=line))


def staggered(age_of, **params):
    asked = case("lifetimes", streams=4, **params)
    return told(asked, lambda a: age_of(a.trial.start))[0]


def test_a_limit_on_age():
    """Each after 100 s, whenever it began; the timers that fire then are named."""
    [found] = staggered(lambda began: cut(100.0, tokens=50 + int(began)))
    assert (found.code, found.verdict, found.confidence) == ("timeout.total", Verdict.FAIL, Confidence.HIGH)
    assert found.figures["cutoff"].value == pytest.approx(100.0)
    assert "matches" in dict(found.detail)


def test_a_limit_on_silence():
    """A silence of 60 s before each cut is what is measured."""
    [found] = staggered(lambda _: cut(90.0, silent=60.0))
    assert found.code == "timeout.idle"
    assert found.figures["cutoff"].value == pytest.approx(60.0)


def test_a_restart():
    """All at the same moment of wall clock."""
    [found] = staggered(lambda began: cut(50.0 - began))
    assert (found.code, found.confidence) == ("stream.truncated", Confidence.HIGH)
    assert "restart or a reload" in found.title
    assert found.title.startswith("All 4")


def test_one_instance_of_several():
    """Who went on is counted, and not called cut."""
    good = replace(cut(80.0), error=None, facts=stream_facts(tokens=50))
    [found] = staggered(lambda began: attributed(good) if began == 0.0 else cut(50.0 - began))
    assert (found.observed.k, found.observed.n) == (3, 4)
    assert "one instance of several" in dict(found.detail)["because"]


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ("VIE", "edge location ZAG; those at VIE went on: it, or the way to it, may be what broke"),
        ("ZAG", "edge location ZAG: it, or the way to it, may be what broke"),
        (None, "edge location ZAG: it, or the way to it, may be what broke"),
    ],
    ids=["another location", "the same location", "an unknown location"],
)
def test_one_edge_location_resets(others, says):
    """C71: whose streams died in one moment is said by its name, and whether another went on meanwhile."""

    def at(colo, found):
        named = {**found.headers, "cf-ray": [f"8f3a5c1d2e4b6a70-{colo}"]} if colo else found.headers
        return replace(found, headers=named)

    good = replace(cut(80.0), error=None, facts=stream_facts(tokens=50))
    [found] = staggered(
        lambda began: attributed(at(others, good)) if began == 0.0 else at("ZAG", cut(50.0 - began))
    )
    assert dict(found.detail)["where"] == says
    assert found.conditions["colo"] == "ZAG"


def test_neither():
    """Cuts without a pattern are told as cuts, and the pattern as unknown."""
    found = staggered(lambda began: cut({0.0: 20.0, 5.0: 31.0, 10.0: 44.0, 15.0: 25.0}[began]))
    assert {f.code for f in found} == {"stream.truncated"}
    assert "can't be told apart" in dict(found[0].detail)["pattern"]


def test_nobody_cut_them():
    """Said with how long they lived."""
    good = replace(cut(80.0), error=None, facts=stream_facts(tokens=50))
    [found] = staggered(lambda _: attributed(good))
    assert (found.code, found.figures["lived"].value) == ("ok", pytest.approx(80.0))


def test_one_age_and_one_token_may_be_what_fails_there():
    """Streams of one prompt and one pace come to the same chunk at the same age: that is said, and less sure."""
    [found] = staggered(lambda _: cut(100.0))
    assert (found.code, found.confidence) == ("timeout.total", Confidence.MEDIUM)
    assert "50 chunks" in dict(found.detail)["or"]


@pytest.mark.parametrize(
    "facts, says",
    [
        ({"finish_reason": "abort"}, "a finish reason (abort)"),
        ({"errors": [{"message": "CUDA out of memory", "type": "server_error"}]}, "CUDA out of memory"),
        ({"usage": {"completion_tokens": 50}, "usages": 1, "terminal": "[DONE]"}, "its usage came"),
    ],
    ids=["a finish reason", "an error of its own", "its usage"],
)
def test_what_says_why_it_ends_was_ended_by_no_limit(facts, says):
    """At one age and with other tokens: even so it is the model server's own end."""
    found = staggered(lambda began: cut(100.0, tokens=50 + int(began), **facts))
    assert not [f for f in found if f.code.startswith("timeout.")]
    assert says in dict(found[0].detail)["pattern"]


@pytest.mark.parametrize("message", ["upstream connect error or disconnect/reset", "Request timed out."])
def test_an_error_of_the_way_may_be_a_limits(message):
    """A gateway tells so of a stream that a timer behind it has ended."""
    [found] = staggered(lambda began: cut(100.0, tokens=50 + int(began), errors=[{"message": message}]))
    assert found.code == "timeout.total"


def test_whole_but_for_its_end_was_cut_by_nobody():
    """Its connection broke behind the answer."""
    [found] = staggered(lambda _: cut(80.0, finish_reason="stop", terminal="[DONE]"))
    assert found.code == "ok"


@pytest.mark.parametrize("answer", ["refused", "server error", NotSent.BUDGET, "timeout"])
def test_what_never_began_is_no_cut(answer):
    """Refusals and errors are told as what they are."""
    found = staggered(lambda began: answer if began == 5.0 else cut(100.0))
    assert not {f.code for f in found} & {"timeout.total"}
    assert not [f for f in found if f.verdict is Verdict.PASS]


@pytest.mark.parametrize(
    "streams, concurrency, says", [(0, 4, "asked for by name"), (8, 4, "limits.concurrency: 8"), (4, 4, None)]
)
def test_when_it_is_asked(streams, concurrency, says):
    """By name, and where the target bears as many at once."""
    asked = case("lifetimes", streams=streams)
    asked = replace(asked, target=replace(asked.target, limits=Limits(concurrency=concurrency)))
    why = KINDS["lifetimes"].unfit(asked)
    assert (why is None) if says is None else (says in why)
