"""How does the time to the first token grow with the prompt, and what of an answer's time is which?

Each request has a text of its own, so that no prompt cache answers for the model. All of them go one after the other, in
shuffled order, on the connection that a discarded round has opened and warmed; between them a short control, always of one
size, shows whether the server itself got slower meanwhile.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from probes.config import conversation
from probes.errors import UsageError
from probes.kinds.conclude import by_outcome, is_good, outcome_code
from probes.kinds.spec import KindSpec
from probes.kinds.ttft_curve.ahead import CONTROLS, bound, foretold, lengths
from probes.kinds.ttft_curve.findings import LEAST_LENGTHS, judged
from probes.model import Ask, Reason, Trial, Verdict
from probes.sampling import REPEATS
from probes.twins import one

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from random import Random

    from probes.model import Call, Case, Finding, Flow

LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
_EXAMPLE = "--set lengths=128,512,1024,2048"
CONTROL = "control"
_MOST_BAD = 3
"""Failures after which the rest is not asked."""
_SESSION = "curve"


def ttft_curve(case: Case) -> Flow:
    rng = case.rng
    tried: list[Call] = []
    for client in _plainest_first(case):
        tried = [*tried, (yield from one(_trial(case, client, CONTROL, 0, rng, warm=True)))]
        if is_good(tried[-1]) or tried[-1].not_sent is not None:
            break
    if not is_good(tried[-1]):
        return by_outcome(case, tried, "a stream")
    name = tried[-1].trial.client
    asked = lengths(case)
    warmed = yield from _one_by_one([_trial(case, name, f"{n}", n, rng, warm=True) for n in asked])
    refused = [n for n, call in zip(asked, warmed, strict=False) if _too_long(call)]
    if troubles := _troubles(case, [call for call in warmed if not _too_long(call)]):
        return troubles
    kept = [n for n in asked if n not in refused]
    if len(kept) < LEAST_LENGTHS:
        return _troubles(case, warmed, {"verdict": Verdict.INCONCLUSIVE, "reason": Reason.STOPPED_EARLY})
    calls = yield from _one_by_one(_planned(case, name, kept, rng))
    if troubles := _troubles(case, calls):
        return troubles
    return [judged(case, calls, rng, refused)]


def _too_long(call: Call) -> bool:
    """The API itself says that it does not take such a prompt, which is no fault of it."""
    return call.last is not None and outcome_code(call.last) == "request.rejected"


def _plainest_first(case: Case) -> list[str]:
    """Plain httpx where it is let in, which takes the least of this machine's time; curl can't keep a connection."""
    able = [c for c in case.clients if c.kind != "curl" and c.mode == "sync"] or case.clients
    return [client.name for client in sorted(able, key=lambda client: client.kind != "raw_httpx")]


def _planned(case: Case, client: str, lengths: Sequence[int], rng: Random) -> list[Trial]:
    """Round after round, each in an order of its own, with a control at both ends of all."""
    found = [_trial(case, client, CONTROL, 0, rng)]
    for _ in range(int(case.params["repeats"])):
        order = list(lengths)
        rng.shuffle(order)
        for number, length in enumerate(order, 1):
            found.append(_trial(case, client, f"{length}", length, rng))
            if number % CONTROLS == 0 or number == len(order):
                found.append(_trial(case, client, CONTROL, 0, rng))
    return found


def _trial(case: Case, client: str, what: str, length: int, rng: Random, *, warm: bool = False) -> Trial:
    ask = Ask(
        conversation(case.target),
        recipe="count",
        stream=True,
        cap=int(case.params["cap"]),
        prompt_tokens=length,
    )
    return Trial(
        f"{case.kind}/{client}/{'warm-up/' if warm else ''}{what}",
        client,
        case.route,
        ask,
        session=_SESSION,
        deadline=float(case.params["deadline"]),
        salt=f"{rng.getrandbits(64):016x}",
    )


def _one_by_one(trials: Sequence[Trial]) -> Generator[Sequence[Trial], list[Call], list[Call]]:
    calls: list[Call] = []
    for trial in trials:
        calls.append((yield from one(trial)))
        if calls[-1].not_sent is not None or sum(not is_good(call) for call in calls) >= _MOST_BAD:
            break
    return calls


def _troubles(
    case: Case, calls: Sequence[Call], instead: Mapping[str, Any] = MappingProxyType({})
) -> list[Finding]:
    """What failed or was not sent; no figure is made of what is left."""
    if all(map(is_good, calls)):
        return []
    found = by_outcome(case, calls, "a stream with a prompt of another length")
    return [replace(finding, **instead) for finding in found if finding.verdict is not Verdict.PASS]


def unfit(case: Case) -> str | None:
    """Raises UsageError for fewer lengths than a curve has."""
    if len(lengths(case)) < LEAST_LENGTHS:
        raise UsageError(
            f"{case.id}: lengths: must be {LEAST_LENGTHS} different ones at the least, such as {_EXAMPLE}"
        )
    return None


SPEC = KindSpec(
    flow=ttft_curve,
    about="time to the first token by the length of the prompt: prefill and decode speed, and what a total is made of",
    bound=bound,
    foretells=foretold,
    unfit=unfit,
    defaults={"lengths": list(LENGTHS), "repeats": REPEATS, "cap": 32, "deadline": 120.0},
    limits={"lengths": (16, 200_000), "repeats": (3, 50), "cap": (8, 1000), "deadline": (1, 3600)},
)
