"""Does a plain, non-streaming completion come back whole, through each client?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from probes.budget import PROMPT_TOKENS
from probes.config import conversation
from probes.endings import broke, by_itself
from probes.kinds.asking import senders
from probes.kinds.base_url import MOST, find_base_url, off_path
from probes.kinds.conclude import by_outcome, is_good
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import listed
from probes.model import Ask, NotSent, Trial
from probes.refusals import must_pass

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence
    from random import Random

    from probes.model import Call, Case, Finding, Flow

AGAIN = 2
"""How often a failure is asked for again, so that its rate is more than one sample."""
_QUICK = 2.0
"""Seconds within which a failure has to come, to be asked for again."""
NOT_ASKED = "not asked"
MOMENT = 1.0
"""Seconds that a door may need to open again, such as during a restart."""
MOST_REPEATS = 1000
_ROUND = 0.5
"""Seconds that a plan takes for each further round."""
ANSWER_PATIENCE = 5.0
"""Seconds of the slowest answer, above which a second round of clients is not begun."""


def completion(case: Case) -> Flow:
    calls = yield from asked(case, stream=False)
    return (yield from judged_or_astray(case, calls, "a completion"))


def judged_or_astray(case: Case, calls: list[Call], what: str) -> Flow:
    """By outcome; where nobody got anything and it looks like a wrong path, with the base URL that is right."""
    missed = [call for call in calls if off_path(call)]
    if not missed or any(is_good(call) for call in calls):
        return judged(case, calls, what)
    found = yield from find_base_url(case, missed, _plain(case, missed))
    told = {call.id for call in missed} if any(f.code == "wrong_base_url" for f in found) else set()
    return judged(case, calls, what, but=told) + found


def _plain(case: Case, missed: Sequence[Call]) -> str | None:
    """A client that can ask at another path, best one that got as far as the others."""
    came = {call.trial.client for call in missed}
    return next(iter(sorted(senders(case), key=lambda name: name not in came)), None)


def judged(case: Case, calls: list[Call], what: str, but: Collection[str] = ()) -> list[Finding]:
    """By outcome, `but` calls that are told otherwise, and with the clients that were not asked any more."""
    found = by_outcome(case, [call for call in calls if call.id not in but], what)
    left = [c.name for c in case.clients if c.name not in {call.trial.client for call in calls}]
    if not (left and found):
        return found
    sent = any(call.not_sent is None for call in calls)
    why = "the server answers slowly, or not at all" if sent else "for the same reason"
    row = (NOT_ASKED, f"{listed(left)}: {why}")
    return [replace(found[0], detail=(*found[0].detail, row)), *found[1:]]


def asked(case: Case, *, stream: bool) -> Generator[Sequence[Trial], list[Call], list[Call]]:
    """The same small request through every client, see `asked_for`."""
    ask = Ask(conversation(case.target), recipe="hello", stream=stream, cap=int(case.params["cap"]))
    return (yield from asked_for(case, ask))


def asked_for(
    case: Case, ask: Ask, label: str | None = None
) -> Generator[Sequence[Trial], list[Call], list[Call]]:
    """One request through every client, as many at once as the target bears; a client that failed is asked again. Of a
    server that answers none of them, or takes longer than the case's patience, the others are not asked: smoke has to
    end in time. Those that must pass come first. `repeats` of the case: so often each that got what it asked for.
    """
    rng = case.rng
    trials = [
        Trial(
            f"{label or case.kind}/{client.name}",
            client.name,
            case.route,
            ask,
            deadline=case.params.get("deadline"),
            salt=_salt(rng),
        )
        for client in sorted(case.clients, key=lambda client: not must_pass(client, case.target))
    ]
    patience = float(case.params.get("patience", ANSWER_PATIENCE))
    most = case.target.limits.concurrency
    calls: list[Call] = []
    for first in range(0, len(trials), most):
        batch = trials[first : first + most]
        came = yield batch
        if all(map(_broke, came)):
            came = came + (yield [replace(trial, start=MOMENT, salt=_salt(rng)) for trial in batch])
        calls = calls + came
        if max(map(_took, calls)) > patience or all(map(_unanswered, calls)):
            break
    if all(map(_unanswered, calls)):
        return calls
    calls = yield from _again(calls, rng)
    return (yield from _repeated(calls, int(case.params.get("repeats", 1)), most, rng))


def _salt(rng: Random) -> str:
    return f"{rng.getrandbits(48):012x}"


def _repeated(
    calls: list[Call], repeats: int, most: int, rng: Random
) -> Generator[Sequence[Trial], list[Call], list[Call]]:
    """Round after round, each as it was asked the first time but for its salt, so that none finds another's prompt in a
    cache; until the budget or the time is used up.
    """
    good = {call.trial.label: call.trial for call in calls if is_good(call)}
    trials = list(good.values())
    for _ in range(repeats - 1):
        for first in range(0, len(trials), most):
            came = yield [replace(trial, salt=_salt(rng)) for trial in trials[first : first + most]]
            calls = calls + but_out_of_budget(came)
            if any(call.not_sent is not None for call in came):
                return calls
    return calls


def _again(calls: list[Call], rng: Random) -> Generator[Sequence[Trial], list[Call], list[Call]]:
    """What failed, until each was asked three times; what had no connection a moment later."""
    failed = {c.trial.label: c for c in calls if _worth_repeating(c)}
    for _ in range(AGAIN):
        times = Counter(call.trial.label for call in calls)
        left = [
            replace(call.trial, start=MOMENT if _broke(call) else 0.0, salt=_salt(rng))
            for label, call in failed.items()
            if times[label] <= AGAIN
        ]
        calls = calls + (but_out_of_budget((yield left)) if left else [])
    return calls


def but_out_of_budget(repeats: Sequence[Call]) -> list[Call]:
    """What was seen once is known: that it could not be afforded again takes nothing from it."""
    return [call for call in repeats if call.not_sent is not NotSent.BUDGET]


def _unanswered(call: Call) -> bool:
    """Not where it was the client's own matter: the next one may fare better."""
    return call.last is None or (call.last.status is None and not by_itself(call.last))


def _broke(call: Call) -> bool:
    return call.last is not None and broke(call.last)


def _took(call: Call) -> float:
    return (call.last.timeline.end if call.last is not None else None) or 0.0


def _worth_repeating(call: Call) -> bool:
    """A failure that was answered at once; where it was waited for, asking again only costs time."""
    last = call.last
    if last is None or last.attribution is None or last.attribution.code == "ok":
        return False
    if broke(last):
        return True
    return last.status is not None and (last.timeline.end or _QUICK) < _QUICK


def bound(case: Case) -> Bound:
    repeats = int(case.params["repeats"])
    worst = len(case.clients) * (repeats + AGAIN)
    return Bound(
        worst + MOST, worst * (PROMPT_TOKENS + int(case.params["cap"])), 3.0 + _ROUND * (repeats - 1)
    )


SPEC = KindSpec(
    flow=completion,
    about="a plain completion, proven by the shape of its JSON",
    bound=bound,
    defaults={"cap": 16, "patience": ANSWER_PATIENCE, "repeats": 1},
    limits={"cap": (1, 100_000), "patience": (0.1, 3600), "repeats": (1, MOST_REPEATS)},
)
