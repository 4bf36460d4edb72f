"""Runs as the metrics meet them, of calls that are given."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from canned import answer, case

from probes.model import Ask, Call, Run, Slo, Spend, Target, Timeline, Trial, Verdict
from probes.vocabulary import vocabulary

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
CODES = {code: row.verdict for code, row in vocabulary().items()}
ASK = Ask("chat", stream=True)


def timed(name="good stream", *, cached=None, connection="new", tokens=11, stalls=(), tls=None, **times):
    """A canned answer with times of its own."""
    line = {
        "upload_start": 0.1,
        "upload_end": 0.1,
        "first_token": 0.6,
        "last_token": 1.6,
        "end": 1.7,
        **times,
    }
    usage = {"prompt_tokens": 100, "completion_tokens": tokens}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    found = answer(name)
    return replace(
        found,
        timeline=Timeline(**line),
        facts={**found.facts, "usage": usage},
        conditions={"connection": connection, "stalls": list(stalls), "tls": tls},
    )


def call(*exchanges, ask=ASK, client="curl", kind="streaming", deadline=10.0, **more):
    trial = Trial("a", client, "edge", ask)
    conditions = {"deadline": deadline}
    return Call("c", f"s/{kind}", trial, 0, exchanges, conditions=conditions, **more)


def run(*calls, findings=(), slo=None, target="prod", kinds=("streaming",)):
    asked = replace(case().target, name=target, slo=slo or Slo())
    cases = tuple(replace(case(kind), target=asked) for kind in kinds)
    return Run(
        id="r", suites=("s",), target=asked, vantage=None, started=NOW, finished=NOW, versions={}, seed=1,
        time_scale=1.0, verdict=Verdict.PASS, spend=Spend(), cases=cases, calls=calls, findings=tuple(findings),
    )  # fmt: skip


__all__ = ["ASK", "CODES", "NOW", "Target", "answer", "call", "run", "timed"]
