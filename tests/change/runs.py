"""Runs as a probe would have kept them, with the answers and times that a test gives them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import canned
import numpy as np

from probes.kinds.conclude import by_outcome
from probes.model import Ask, Call, Figure, Finding, Layer, Run, Timeline, Trial, Verdict, call_id
from probes.runner import worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from probes.model import Case, Exchange

AT = datetime(2026, 11, 29, 14, 0, tzinfo=UTC)


def streamed(
    ttft: float = 0.4, tpot: float = 0.02, *, tokens: int | None = 11, cached: int | None = None, **conditions
) -> Exchange:
    """A good stream with these times; `cached`: of its 100 prompt tokens."""
    last = ttft + tpot * ((tokens or 11) - 1)
    usage = {"prompt_tokens": 100} if tokens is None else {"prompt_tokens": 100, "completion_tokens": tokens}
    usage |= {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    good = canned.answer("good stream")
    times = Timeline(upload_start=0.0, upload_end=0.0, headers=0.01, first_byte=0.01, first_token=ttft, last_token=last, end=last)  # fmt: skip
    return replace(
        good,
        timeline=times,
        facts={**good.facts, "usage": usage, "tokens": 3},
        conditions={"connection": "new", **conditions},
    )


def run(
    asked: Iterable[tuple[str, Exchange | str]] = (),
    *,
    at: datetime = AT,
    case: Case | None = None,
    findings: Sequence[Finding] = (),
    **changed,
) -> Run:
    """`asked`: a client and what it got, one after the other; a word is an answer of `canned`."""
    case = case or canned.case("streaming", keyed=True)
    calls: list[Call] = []
    repeats: Counter[str] = Counter()
    for client, got in asked:
        name = call_id(case, f"streaming/{client}", repeats[client])
        found = canned.answer(got) if isinstance(got, str) else got
        ask = Trial(f"streaming/{client}", client, case.route, Ask("chat", stream=True, cap=11))
        calls.append(Call(name, case.id, ask, repeats[client], (replace(found, id=f"{name}/0"),), conditions={"concurrency": 1, "resolution": 0.01}))  # fmt: skip
        repeats[client] += 1
    told = [*findings, *by_outcome(case, calls, "a stream")]
    made = canned.run_of(case, calls, told)
    name = f"{at:%Y%m%d-%H%M%S}-aaaa"
    return replace(
        made, id=name, started=at, finished=at + timedelta(seconds=60), verdict=worst(told), **changed
    )


def timed(ttft: Iterable[float], client: str = "openai-py", **more) -> Run:
    """Of one client, with these seconds to the first token."""
    return run([(client, streamed(seconds)) for seconds in ttft], **more)


def found(verdict: Verdict, code: str = "ok", **more) -> Finding:
    """A finding of the whole case of `run`."""
    return Finding(code, verdict, "s/streaming", "streaming", **{"layer": Layer.EDGE, **more})


def cutoff(seconds: float, off: float = 0.5, at: datetime = AT) -> Run:
    """Of suite `long`, in which a plain answer was cut after so many seconds."""
    case = canned.case("length", keyed=True)
    figure = Figure(seconds, "s", 1, seconds - off, seconds + off)
    one = Finding("timeout.first_byte", Verdict.FAIL, case.id, "length", client="openai-py", route="edge", figures={"cutoff": figure})  # fmt: skip
    return replace(canned.run_of(case, (), [one]), id=f"{at:%Y%m%d-%H%M%S}-aaaa", started=at, finished=at)


def latencies(rng: np.random.Generator, n: int, scatter: float = 0.3) -> list[float]:
    """As they are on a bad day: lognormal around 0.4 s, three in ten from a faster way, one in twenty far behind."""
    seconds = np.exp(rng.normal(np.log(0.4), scatter, n))
    fast, slow = rng.random(n) < 0.3, rng.random(n) < 0.05
    seconds[fast] *= 0.45
    seconds[slow] *= 1 + rng.pareto(1.5, int(slow.sum()))
    return [float(one) for one in seconds]
