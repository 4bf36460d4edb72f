"""What makes the server think for so many seconds, and at what price?"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from probes.kinds.length.pace import endpoint_of
from probes.model import Ask, NotSent
from probes.twins import unsent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.length.pace import Pace
    from probes.model import Call, Case, Client

SLOWEST_GUESS = 2000
"""Tokens, where nothing told the pace."""
_FEW = 16
SAMPLE = 2000
"""Tokens of the prompt that tells how fast prompts are read."""
_GUARDED, _GUARDED_LISTED = 21_333, 8_192
"""Tokens above which the Anthropic SDK refuses to send what is not streamed: 3600 s * cap / 128,000 may not be above
600 s; and for models that it lists (anthropic-sdk-python, `_constants.py`, MODEL_NONSTREAMING_TOKENS).
"""
_LISTED = re.compile(r"claude-(?:opus-4(?:-[01])?(?:[-@]2025\d{4}(?:-v1:0)?)?|4-opus-20250514)$")
_MARGIN = 1.1
"""Times the hold, since a busy minute may be followed by a quiet one."""
_LONGEST_PROMPT = 200_000
LESSONS = 10
"""Requests in vain at the most: each of five parameters of ours may be refused once, on either side of a pair."""
_WORTH_IT = 16
"""Tokens: a cap that the budget bears, but below this, holds nothing."""
BY_MOST_TOKENS = "by most_tokens"
BUDGET = "to what the budget bears"
HOLDING = "holding a long answer open"
Name = Literal["reasoning", "output", "prefill"]


@dataclass(frozen=True, slots=True)
class Means:
    """`chosen`: the cap is the probe's own choice, and may be lowered; `lowered`: by whom it was."""

    name: Name
    ask: Ask
    chosen: bool
    lowered: str | None = None

    def at_most(self, cap: int, why: str) -> Means:
        return replace(self, ask=replace(self.ask, cap=cap), lowered=why)


def first(case: Case, client: Client, pace: Pace, hold: float, margin: float = _MARGIN) -> Means:
    """Reasoning where there is some, else a long answer; both cost the same for a second. `margin`: times the hold."""
    wanted = case.params["means"]
    name: Name = "reasoning" if wanted == "reasoning" or (wanted == "auto" and pace.reasons) else "output"
    given = case.params["tokens"]
    cap, lowered = (
        (int(given), None) if given is not None else _allowed(case, client, _wanted(pace, margin * hold))
    )
    engine = pace.engine if case.params["engine"] == "auto" else case.params["engine"]
    ask = Ask(
        endpoint_of(case),
        recipe="ponder" if name == "reasoning" else "count",
        cap=cap,
        prompt_tokens=int(case.params["prompt_tokens"]),
        effort="high" if name == "reasoning" else None,
        endless=engine in {"vllm", "sglang"},
    )
    return Means("prefill" if ask.prompt_tokens else name, ask, given is None, lowered)


def _wanted(pace: Pace, seconds: float) -> int:
    if pace.tpot is None:
        return SLOWEST_GUESS
    return max(math.ceil((seconds - (pace.ttft or 0.0)) / pace.tpot), 1)


def _allowed(case: Case, client: Client, wanted: int) -> tuple[int, str | None]:
    """As many tokens as are wanted, or as few as may be, and why."""
    most = int(case.params["most_tokens"])
    allowed = {BY_MOST_TOKENS: most}
    if client.kind.startswith("anthropic"):
        listed = _LISTED.search(case.target.model) is not None
        allowed["to what its SDK sends without streaming"] = _GUARDED_LISTED if listed else _GUARDED
    why = min(allowed, key=lambda name: allowed[name])
    return (wanted, None) if wanted <= allowed[why] else (allowed[why], why)


def lowered(means: Means, calls: Sequence[Call]) -> Means | None:
    """With a smaller cap of the probe's own choice, where the budget does not bear this one; else `None`."""
    if means.chosen and unsent(calls) is NotSent.BUDGET:
        affords = min(int(call.conditions.get("affords", 0)) for call in calls)
        return means.at_most(affords, BUDGET) if _WORTH_IT <= affords < means.ask.cap else None
    return None


def longer(case: Case, client: Client, means: Means, times: float) -> Means | None:
    """The same with a cap as many `times` as large; `None` where it may not be larger."""
    cap, lowered = _allowed(case, client, math.ceil(_MARGIN * means.ask.cap * times))
    return replace(means, ask=replace(means.ask, cap=cap), lowered=lowered) if cap > means.ask.cap else None


def short_answer(means: Means) -> Means:
    """Of as few tokens as show a pace: the prompt is to hold it."""
    return replace(means, ask=replace(means.ask, cap=min(means.ask.cap, _FEW), recipe="count", effort=None))


def tokens_for(hold: float, tpot: float) -> int:
    """Of an answer that takes so many seconds."""
    return math.ceil(_MARGIN * hold / tpot)


def prefill(means: Means, short: Pace, long: Pace, hold: float) -> Means | str:
    """A prompt that takes as long to read as the answer falls short; or why there is none."""
    if None in {short.ttft, long.ttft, short.prompt, long.prompt, short.tpot}:
        return "how fast it reads a prompt was not to be seen"
    assert short.ttft is not None
    assert long.ttft is not None
    assert short.tpot is not None
    read, took = (long.prompt or 0) - (short.prompt or 0), long.ttft - short.ttft
    if read <= 0 or took <= 0:
        return "a longer prompt takes it no longer"
    missing = _MARGIN * hold - short.ttft - means.ask.cap * short.tpot
    tokens = math.ceil(missing / took * read)
    wanted = math.ceil(SAMPLE * tokens / read)
    if tokens > _LONGEST_PROMPT:
        return f"a prompt of {tokens:,} tokens would be needed to hold it by prefill"
    return replace(means, name="prefill", ask=replace(means.ask, prompt_tokens=max(wanted, 1)))
