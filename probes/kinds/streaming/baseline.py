"""Does this endpoint never give a finish reason, or was this answer cut?

A stream without one behind a tidy marker is a cut one until the endpoint is proven to end whole answers so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.config import conversation
from probes.kinds.conclude import is_good, outcome_code
from probes.model import Ask, Attribution, Confidence, Layer, Trial
from probes.samples import counted

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Exchange, Flow

PROOFS = 3
CAP = 24
"""Tokens of a proof: an answer that goes on until the cap has exactly as many."""
Learnt = tuple[list["Call"], str | None]


def learn(case: Case, calls: list[Call]) -> Generator[Sequence[Trial], list[Call], Learnt]:
    """The calls with those made good that end as the endpoint always does, and the proof in words; `None` where there is
    nothing to learn or nothing proven.
    """
    bare = [call for call in calls if _bare(call)]
    if not bare or any(is_good(call) for call in calls) or len(bare) < sum(_answered(call) for call in calls):
        return calls, None
    proof = yield from _proof(case, bare[0])
    if proof is None:
        return calls, None
    return [_made_good(call) if call in bare else call for call in calls], proof


def taken(flow: Flow, proof: str) -> Flow:
    """A flow that is given streams which end as this endpoint always does as good ones, and says by which proof."""
    calls: list[Call] | None = None
    while True:
        try:
            asked = next(flow) if calls is None else flow.send(calls)
        except StopIteration as over:
            row = ("no reason", f"no finish reason comes, as always from this endpoint: {proof}")
            return [replace(found, detail=(*found.detail, row)) for found in over.value]
        calls = [as_always(call) for call in (yield asked)]


def as_always(call: Call) -> Call:
    """Of an endpoint that was proven to end so: a stream without a finish reason, and with nothing else wrong, is good."""
    return _made_good(call) if _bare(call) else call


def _bare(call: Call) -> bool:
    """Without a finish reason, and without any other sign that something is wrong."""
    last = call.last
    if last is None or outcome_code(last) != "stream.masked":
        return False
    facts = last.facts
    wrong = facts.get("errors") or facts.get("malformed") or (facts.get("tool_calls") or {}).get("cut")
    return not (facts.get("finish_reason") or wrong) and bool(facts.get("tokens"))


def _answered(call: Call) -> bool:
    return call.last is not None and call.last.facts.get("stream") is True


def _proof(case: Case, first: Call) -> Generator[Sequence[Trial], list[Call], str | None]:
    """The answer that is not streamed lacks the reason, too; or streams that were asked for a number of tokens have it."""
    ask = Ask(conversation(case.target), recipe="count", cap=CAP, endless=True)
    plain = Trial("baseline/plain", first.trial.client, case.route, ask, salt=f"{first.trial.salt}p")
    (whole,) = yield [plain]
    if whole.last is not None and _reasonless(whole.last):
        return "its answers that are not streamed give none, either"
    streams = [
        replace(
            plain,
            label=f"baseline/stream/{n}",
            request=replace(ask, stream=True),
            salt=f"{first.trial.salt}{n}",
        )
        for n in range(PROOFS)
    ]
    came = yield streams
    if all(_bare(call) and call.last is not None and counted(call.last) == CAP for call in came):
        return f"{PROOFS} streams that were asked for {CAP} tokens have them all by their usage, and give none, either"
    return None


def _reasonless(exchange: Exchange) -> bool:
    facts = exchange.facts
    return (
        outcome_code(exchange) == "ok"
        and facts.get("complete") is True
        and facts.get("finish_reason") is None
    )


def _made_good(call: Call) -> Call:
    assert call.last is not None
    good = Attribution(Layer.ORIGIN, "ok", confidence=Confidence.LOW)
    return replace(call, exchanges=(*call.exchanges[:-1], replace(call.last, attribution=good)))
