"""Calls beside a command as a server of a given mind would have answered them; nothing is sent."""

from __future__ import annotations

from dataclasses import replace

from canned import ANSWERS, OPENAI, attributed
from exchanges import exchange, stream_facts

from probes.during.child import Line
from probes.during.judging import judged
from probes.during.plan import KNOCKS, STREAMS
from probes.during.timed import Command
from probes.model import Ask, Call, Case, Limits, NotSent, Route, Target, Timeline, Trial, call_id, unsent

BEGAN, ENDED = 8.0, 10.0
EVENTS = {"content-type": "text/event-stream"}


def case(kind, **params):
    target = Target(
        "t", "openai", "m", {"edge": Route("edge", "http://a.example/v1")}, limits=Limits(concurrency=4)
    )
    given = {"every": 1.0, "streams": 3, "wanted": 3, "tokens": 1000, "apart": 2.5, **params}
    return Case(f"during/{kind}", "during", kind, target, (OPENAI,), "edge", given, seed=1, keyed=True)


KNOCKING, HOLDING = case(KNOCKS), case(STREAMS)
ASK = Ask("chat", recipe="hello", stream=True)


def knock(at, name="good stream", *, took=0.3, ttft=0.2, lag=0.0):
    """A short request sent `at` seconds since the measuring began, `lag` later than it was due."""
    trial = Trial("knock", "openai-py", "edge", ASK, start=at - lag)
    repeat = int(at * 10)
    if isinstance(name, NotSent):
        return unsent(KNOCKING, trial, repeat, name)
    line = Timeline(
        upload_start=0.0,
        upload_end=0.0,
        headers=0.1,
        first_byte=0.1,
        first_token=ttft if name == "good stream" else None,
        end=took,
    )
    found = attributed(replace(ANSWERS[name], id=f"{call_id(KNOCKING, 'knock', repeat)}/0", timeline=line))
    return Call(found.id.removesuffix("/0"), KNOCKING.id, trial, repeat, (found,), own_lag=lag)


def stream(number, began, age, how="closed"):
    """A long one of a lane: `closed` on its way, `interrupted` by us at the end of the measuring, or `whole`."""
    facts = stream_facts(tokens=50 + number)
    if how != "whole":
        facts = stream_facts(terminal=None, finish_reason=None, complete=False, tokens=50 + number)
    error = None if how == "whole" else (how, "body")
    line = Timeline(
        upload_start=0.0, upload_end=0.0, headers=0.1, first_byte=0.1, first_token=0.2, last_token=age, last_byte=age, end=age
    )  # fmt: skip
    name = f"{HOLDING.id}:stream/{number}#{int(began * 10)}"
    found = replace(
        exchange(200, b"data: {}\n\n", EVENTS, facts=facts, error=error, stream=True), id=f"{name}/0", timeline=line
    )  # fmt: skip
    trial = Trial(f"stream/{number}", "openai-py", "edge", replace(ASK, recipe="count"), start=began)
    return Call(name, HOLDING.id, trial, int(began * 10), (attributed(found),), own_lag=0.0)


def knocks(until=20, *, but=(), name="no route"):
    """One a second; those at the seconds of `but` fail."""
    return [knock(float(at), name if at in but else "good stream") for at in range(until)]


def told(calls, *, holding=HOLDING, lines=(), words=("deploy",), **command):
    given = {"began": BEGAN, "ended": ENDED, "code": 0, **command}
    ran = Command(words, lines=tuple(Line(at, text) for at, text in lines), **given)
    return judged(KNOCKING, holding, calls, ran, str)
