"""How fast does this server answer, through which products, and for how long has it to be held?

A short stream tells it before anything long is paid for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes import timers
from probes.config import conversation, endpoints
from probes.errors import UsageError
from probes.kinds.length.side import REFUSED_WITHIN, Side
from probes.kinds.length.spans import waited
from probes.model import Ask, Trial

if TYPE_CHECKING:
    from probes.model import Call, Case, Client, Exchange

TOKENS = 64
"""Of the short stream."""
MOST_COMMON = "Cloudflare"
"""Its timer is the one held for where nothing is recognised."""
_BEYOND = 1.1
"""Times a product's timer, so that one which is there is met."""
_PATIENCE = 180.0
"""Seconds for the short stream: longer than the timers of all that may end it."""
_LONGEST, _TIMES = 600.0, 3.0
_ENGINES = {"vLLM": "vllm", "SGLang": "sglang"}


@dataclass(frozen=True, slots=True)
class Pace:
    """`ttft`, `tpot`: seconds; of a model that shows nothing of its reasoning `tpot` is that of the whole. `reasons`: it
    thought before it answered. `products`: on the way, and who answered. `prompt`: its tokens, as the server counts.
    """

    ttft: float | None = None
    tpot: float | None = None
    reasons: bool = False
    products: tuple[str, ...] = ()
    engine: str | None = None
    prompt: int | None = None

    @classmethod
    def of(cls, call: Call) -> Pace:
        side, last = Side(call), Side(call).sent
        made = last.attribution
        products = (*made.transit, *((made.product,) if made.product else ())) if made is not None else ()
        usage = last.facts.get("usage") or {}
        prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
        return cls(
            ttft=side.ttft,
            tpot=side.tpot or _over_the_whole(side),
            reasons=_reasons(last, usage),
            products=products,
            engine=next((_ENGINES[name] for name in products if name in _ENGINES), None),
            prompt=prompt if isinstance(prompt, int) else None,
        )


def endpoint_of(case: Case) -> str:
    """As asked for, else the one that takes completions; that of responses where there is no other."""
    wanted: str = case.params["endpoint"]
    if wanted != "auto":
        return wanted
    alone = "responses" in endpoints(case.target) and not {"chat", "messages"} & set(endpoints(case.target))
    return "responses" if alone else conversation(case.target)


def unfit(case: Case) -> str | None:
    """Why nothing long can be asked of this target."""
    try:
        endpoint = endpoint_of(case)
    except UsageError as fault:
        return str(fault)
    offered = endpoint in endpoints(case.target)
    return None if offered else f"the target does not declare the endpoint {endpoint}"


def short_stream(case: Case, client: Client, salt: str, prompt_tokens: int, name: str = "pace") -> Trial:
    ask = Ask(endpoint_of(case), recipe="count", stream=True, cap=TOKENS, prompt_tokens=prompt_tokens)
    label = f"length/{client.name}/{name}"
    deadline = min(deadline_for(case, None), _PATIENCE)
    return Trial(label, client.name, case.route, ask, deadline=deadline, salt=salt)


def tells(call: Call) -> bool:
    """A twin can follow: tokens came, or a clock ended it, which the twin will tell more of."""
    side = Side(call)
    if side.last is None:
        return False
    came = side.last.status is not None and side.last.timeline.first_token is not None
    ending = side.ending
    return side.whole or came or (ending is not None and ending.at >= REFUSED_WITHIN)


def hold_for(case: Case, products: tuple[str, ...]) -> float:
    """Seconds to hold an answer back: as given, else beyond the longest timer of what was recognised on the way."""
    if case.params["hold"] is not None:
        return float(case.params["hold"])
    known = [timer for name in products if (timer := timers.default(name, "first_byte")) is not None]
    longest = max((timer.seconds for timer in known), default=None)
    return beyond(longest if longest is not None else _unknown())


def beyond(seconds: float) -> float:
    return float(math.floor(_BEYOND * seconds)) if seconds >= 1 / (_BEYOND - 1) else _BEYOND * seconds


def _unknown() -> float:
    timer = timers.default(MOST_COMMON, "first_byte")
    assert timer is not None
    return timer.seconds


def deadline_for(case: Case, hold: float | None) -> float:
    """Seconds after which the probe itself gives a request up: as given, else so late that a slow server is not taken
    for one that was cut.
    """
    if case.params["deadline"] is not None:
        return float(case.params["deadline"])
    return max(_LONGEST, _TIMES * (hold or 0.0))


def _over_the_whole(side: Side) -> float | None:
    whole = waited(side.sent, side.sent.timeline.last_byte)
    return whole / side.tokens if side.good and side.tokens and whole is not None else None


def _reasons(last: Exchange, usage: Any) -> bool:
    """By what it sent or counted of it: text that comes late, or never, may be a call of a tool."""
    details = usage.get("completion_tokens_details") or usage.get("output_tokens_details") or {}
    counted = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return bool(last.facts.get("reasoned")) or (isinstance(counted, int) and counted > 0)
