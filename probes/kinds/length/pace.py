"""How fast does this server answer, through which products, and for how long has it to be held?

A short stream tells it before anything long is paid for; a short answer, where the API has no streams.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probes import timers
from probes.attribution import is_api_answer
from probes.config import conversation, endpoints
from probes.errors import UsageError
from probes.kinds.length.side import REFUSED_WITHIN, Side
from probes.kinds.length.spans import waited
from probes.model import Ask, Trial
from probes.response import Response

if TYPE_CHECKING:
    from probes.model import Call, Case, Client, Exchange

TOKENS = 64
"""Of the short stream."""
MOST_COMMON = "Cloudflare"
"""Its timer is the one held for where nothing is recognised."""
_BEYOND = 1.1
"""Times a product's timer, so that one which is there is met."""
PATIENCE = 180.0
"""Seconds for the short stream: longer than the timers of all that may end it."""
LONGEST_HOLD = 330.0
"""Seconds that the probe holds by its own choice: a timer of a quarter of an hour is met by hardly any customer."""
_LONGEST, _TIMES = 600.0, 2.0
_FEWEST = 1.1
"""Times the hold, that a given deadline has to be."""
_NO_STREAMS = frozenset({400, 404, 405, 415, 422, 501})
_ENGINES = {"vLLM": "vllm", "SGLang": "sglang"}


@dataclass(frozen=True, slots=True)
class Pace:
    """`ttft`, `tpot`: seconds; of a model that shows nothing of its reasoning `tpot` is that of the whole. `reasons`: it
    thought before it answered. `streams`: the API has them. `products`: on the way, and who answered. `prompt`: its tokens, as the server counts.
    """

    ttft: float | None = None
    tpot: float | None = None
    reasons: bool = False
    products: tuple[str, ...] = ()
    engine: str | None = None
    prompt: int | None = None
    streams: bool = True

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
            streams=side.streamed,
        )


def endpoint_of(case: Case) -> str:
    """As asked for, else the one that takes completions; that of responses where there is no other."""
    wanted: str = case.params["endpoint"]
    if wanted != "auto":
        return wanted
    alone = "responses" in endpoints(case.target) and not {"chat", "messages"} & set(endpoints(case.target))
    return "responses" if alone else conversation(case.target)


def by_preference(case: Case) -> list[Client]:
    """The SDK that customers use first; one that the edge refuses can't hold anything open, so then the next."""
    return sorted(case.clients, key=lambda client: client.api != case.target.api)


def unfit(case: Case) -> str | None:
    """Why nothing long can be asked of this target. Raises UsageError for a deadline that ends what it is to hold."""
    _check_deadline(case)
    try:
        endpoint = endpoint_of(case)
    except UsageError as fault:
        return str(fault)
    offered = endpoint in endpoints(case.target)
    return None if offered else f"the target does not declare the endpoint {endpoint}"


def _check_deadline(case: Case) -> None:
    given, mode = case.params["deadline"], case.params["mode"]
    hold = hold_for(case, ())
    if given is None or mode == "known" or float(given) >= _FEWEST * hold:
        return
    chosen = "" if case.params["hold"] is not None else ", which is the probe's own choice: give hold as well"
    raise UsageError(
        f"{case.id}: deadline: must be {math.ceil(_FEWEST * hold):g} or more, not {float(given):g}: the probe would give up "
        f"what it is to hold for {hold:g} s{chosen}"
    )


def short(
    case: Case, client: Client, salt: str, prompt_tokens: int, name: str = "pace", *, stream: bool = True
) -> Trial:
    ask = Ask(endpoint_of(case), recipe="count", stream=stream, cap=TOKENS, prompt_tokens=prompt_tokens)
    label = f"length/{client.name}/{name}"
    deadline = min(deadline_for(case, None), PATIENCE)
    return Trial(label, client.name, case.route, ask, deadline=deadline, salt=salt)


def tells(call: Call) -> bool:
    """A twin can follow: tokens came, or a clock ended it, which the twin will tell more of."""
    side = Side(call)
    if side.last is None:
        return False
    came = side.last.status is not None and side.last.timeline.first_token is not None
    ending = side.ending
    return side.whole or came or (ending is not None and ending.at >= REFUSED_WITHIN)


def refuses_streams(call: Call) -> bool:
    """The API itself says that it has none."""
    last = call.last
    if last is None or last.status not in _NO_STREAMS or not is_api_answer(last):
        return False
    return "stream" in Response.of(last).text


def hold_for(case: Case, products: tuple[str, ...]) -> float:
    """Seconds to hold an answer back: as given, else beyond the longest timer of what was recognised on the way, but no
    longer than `LONGEST_HOLD`.
    """
    if case.params["hold"] is not None:
        return float(case.params["hold"])
    return min(_beyond(_longest(products).seconds), LONGEST_HOLD)


def not_reached(case: Case, products: tuple[str, ...]) -> str | None:
    """Which timer is longer than what is held by the probe's own choice, for people."""
    timer = _longest(products)
    if case.params["hold"] is not None or _beyond(timer.seconds) <= LONGEST_HOLD:
        return None
    return (
        f"{timer.product}'s {timer.timer} ({timer.seconds:g} s) is longer than the {LONGEST_HOLD:g} s that the probe holds by "
        f"its own choice (--set hold={_beyond(timer.seconds):g})"
    )


def _longest(products: tuple[str, ...]) -> timers.Timer:
    known = [timer for name in products if (timer := timers.default(name, "first_byte")) is not None]
    most_common = timers.default(MOST_COMMON, "first_byte")
    assert most_common is not None
    return max(known, key=lambda timer: timer.seconds, default=most_common)


def _beyond(seconds: float) -> float:
    return float(math.floor(_BEYOND * seconds)) if seconds >= 1 / (_BEYOND - 1) else _BEYOND * seconds


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
    return bool((last.facts.get("channels") or {}).get("reasoning")) or (
        isinstance(counted, int) and counted > 0
    )
