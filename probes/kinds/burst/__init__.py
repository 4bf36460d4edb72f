"""Does each of many small completions at once get an answer?

Only of targets that are owned, and never more at once than `limits.concurrency` of the target allows: a burst that our
own queue thins out would be green for a question nobody asked. A request alone goes before it and one after it, so that
a service that fails anyway is not burdened, and that "lost" is not "down".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.budget import PROMPT_TOKENS
from probes.config import conversation
from probes.kinds.burst.findings import judged
from probes.kinds.conclude import by_outcome, is_good
from probes.kinds.spec import Bound, KindSpec
from probes.model import Ask, Reason, Trial, Verdict
from probes.twins import one

if TYPE_CHECKING:
    from probes.model import Case, Finding, Flow


def burst(case: Case) -> Flow:
    rng, ask = case.rng, Ask(conversation(case.target), recipe="hello", cap=int(case.params["cap"]))

    def trial(what: str) -> Trial:
        return Trial(
            f"burst/{what}", _client(case), case.route, ask,
            deadline=float(case.params["deadline"]), salt=f"{rng.getrandbits(48):012x}",
        )  # fmt: skip

    before = yield from one(trial("before"))
    if not is_good(before):
        return [_not_worth_it(f) for f in by_outcome(case, [before], "a completion before the burst")]
    calls = yield [trial(f"{number}") for number in range(1, int(case.params["size"]) + 1)]
    after = yield from one(trial("after"))
    return judged(case, before, calls, after)


def _client(case: Case) -> str:
    """One for all: plain httpx where it may be used, which takes the least of this machine's time to start."""
    return next((c.name for c in case.clients if c.kind == "raw_httpx"), case.clients[0].name)


def _not_worth_it(finding: Finding) -> Finding:
    """The burst was not sent; what the one request met is told, and is for the other kinds to judge."""
    row = ("so", "no burst was sent: a request alone does not succeed")
    reason = finding.reason or Reason.STOPPED_EARLY
    return replace(finding, verdict=Verdict.INCONCLUSIVE, reason=reason, detail=(*finding.detail, row))


def unfit(case: Case) -> str | None:
    size, limits = int(case.params["size"]), case.target.limits
    if not case.target.owned:
        return "target not owned: many requests at once are only sent where the target says owned: true"
    if limits.concurrency < size:
        return (
            f"a burst of {size} needs limits.concurrency: {size} in the target's file, which allows {limits.concurrency}; "
            f"or --set size={limits.concurrency}"
        )
    if limits.per_minute is not None and limits.per_minute < size + 2:
        return f"a burst of {size} needs limits.per_minute: {size + 2} of the target, which allows {limits.per_minute}"
    return None


def bound(case: Case) -> Bound:
    requests = int(case.params["size"]) + 2
    return Bound(requests, requests * (PROMPT_TOKENS + int(case.params["cap"])), 5.0)


SPEC = KindSpec(
    flow=burst,
    about="many small completions at once, each with its own deadline: is any lost",
    bound=bound,
    defaults={"size": 20, "cap": 16, "deadline": 60.0},
    limits={"size": (2, 200), "cap": (1, 1000), "deadline": (0.1, 600)},
    unfit=unfit,
)
