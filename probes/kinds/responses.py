"""Does the Responses API answer whole, streamed and not, through each client?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.budget import PROMPT_TOKENS
from probes.config import endpoints
from probes.kinds import streaming
from probes.kinds.completion import AGAIN, ANSWER_PATIENCE, asked_for, judged
from probes.kinds.conclude import is_good
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.streaming.by_route import by_route, pairs
from probes.model import Ask

if TYPE_CHECKING:
    from probes.model import Case, Flow

ENDPOINT = "responses"
_STREAMED = "a streamed response"
LEAST_CAP = 16
"""OpenAI's own service refuses a smaller `max_output_tokens`."""


def responses(case: Case) -> Flow:
    """Where no client got one answer, the same question streamed would only cost."""
    plain = Ask(ENDPOINT, recipe="hello", cap=int(case.params["cap"]))
    calls = yield from asked_for(case, plain, "responses/plain")
    found = judged(case, calls, "a response")
    if any(is_good(call) for call in calls):
        calls = yield from asked_for(case, replace(plain, stream=True), "responses/stream")
        calls = streaming.as_read(case, calls)
        told = streaming.told(case, calls, judged(case, calls, _STREAMED), _STREAMED)
        found += yield from by_route(case, calls, told)
    return found


def undeclared(case: Case) -> str | None:
    offered = ENDPOINT in endpoints(case.target)
    return None if offered else f"the target does not declare the endpoint {ENDPOINT}"


def bound(case: Case) -> Bound:
    worst = 2 * len(case.clients) * (1 + AGAIN) + 2 * pairs(case)
    return Bound(worst, worst * (PROMPT_TOKENS + int(case.params["cap"])), 4.0)


SPEC = KindSpec(
    flow=responses,
    about="an answer of the Responses API, plain and streamed, proven by its shape and its last event",
    bound=bound,
    defaults={"cap": 32, "patience": ANSWER_PATIENCE},
    limits={"cap": (LEAST_CAP, 100_000), "patience": (0.1, 3600)},
    unfit=undeclared,
    converses=False,
)
