"""Does a plain, non-streaming completion come back whole, through each client?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.budget import PROMPT_TOKENS
from probes.config import conversation
from probes.kinds.conclude import by_outcome
from probes.kinds.spec import Bound, KindSpec
from probes.model import Ask, Trial

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Flow

REPEATS = 2
"""How often a failure is asked for again, so that its rate is more than one sample."""


_AT_ONCE = 2.0


def completion(case: Case) -> Flow:
    calls = yield from asked(case, stream=False)
    return by_outcome(case, calls, "a completion")


def asked(case: Case, *, stream: bool) -> Generator[Sequence[Trial], list[Call], list[Call]]:
    """The same small request through every client at once; a client that failed is asked again."""
    endpoint = conversation(case.target)
    ask = Ask(endpoint, recipe="hello", stream=stream, cap=int(case.params["cap"]))
    rng = case.rng
    trials = [
        Trial(f"{case.kind}/{client.name}", client.name, case.route, ask, salt=f"{rng.getrandbits(48):012x}")
        for client in case.clients
    ]
    calls = yield trials
    failed = [call.trial for call in calls if _worth_repeating(call)]
    for _ in range(REPEATS if failed else 0):
        calls = calls + (yield failed)
    return calls


def _worth_repeating(call: Call) -> bool:
    """A failure that was answered at once; where it was waited for, asking again only costs time."""
    last = call.last
    if last is None or last.attribution is None or last.attribution.code == "ok":
        return False
    return last.status is not None and (last.timeline.end or _AT_ONCE) < _AT_ONCE


def bound(case: Case) -> Bound:
    worst = len(case.clients) * (1 + REPEATS)
    return Bound(worst, worst * (PROMPT_TOKENS + int(case.params["cap"])), 3.0)


SPEC = KindSpec(
    flow=completion,
    about="a plain completion, proven by the shape of its JSON",
    bound=bound,
    defaults={"cap": 32},
    limits={"cap": (1, 100_000)},
)
