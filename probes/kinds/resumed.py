"""Is a stream that flows by POST held back where it is fetched by GET?

The same answer both ways: a response that is made in the background is begun as a stream, left after some seconds, and
fetched from its first event on. What was seen before can be there at once; what a proxy holds back comes with the end.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from probes.arrivals import How
from probes.budget import PROMPT_TOKENS
from probes.kinds.buffering import findings as say
from probes.kinds.buffering.findings import TO_THE_ORIGIN
from probes.kinds.buffering.knobs import advice
from probes.kinds.buffering.trials import Looked
from probes.kinds.by_us import by_us
from probes.kinds.conclude import by_outcome, conclude, is_good, not_sent
from probes.kinds.length.limits import conditions
from probes.kinds.responses import ENDPOINT, LEAST_CAP, undeclared
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import clients_of, duration, listed
from probes.model import Ask, Confidence, Figure, Layer, Observed, Reason, Trial, Verdict
from probes.twins import REPEATS, unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Finding, Flow

_NOT_OFFERED = frozenset({400, 404, 405, 422, 501})
_PLAINLY, _MOMENT = 3.0, 0.25
"""Times, and seconds, that a first token fetched while an answer is made comes later than when it is over: to be held."""


_LEAST = 120.0
"""Seconds that a fetch may take at the least."""


class Way(StrEnum):
    FLOWS = "flows"
    HELD = "held"
    UNTOLD = "untold"


class Pair(NamedTuple):
    """One answer: by POST until we left, by GET, and by GET once more when it was over."""

    post: Call
    get: Call
    again: Call

    @property
    def way(self) -> Way:
        came, over = Looked(self.get), Looked(self.again)
        if not (came.usable and over.usable):
            return Way.UNTOLD
        if came.arrivals.how is How.STEPS:
            return Way.HELD if Looked(self.post).flows else Way.UNTOLD
        if came.arrivals.how is not How.WHOLE:
            flows = came.flows and came.arrivals.waited < came.arrivals.span
            return Way.FLOWS if flows else Way.UNTOLD
        late = came.arrivals.waited - over.arrivals.waited
        plain = came.arrivals.waited >= _PLAINLY * over.arrivals.waited
        return Way.HELD if plain and late >= _MOMENT else Way.UNTOLD


def resumed(case: Case) -> Flow:
    most = case.target.limits.concurrency
    names = [client.name for client in case.clients]
    pairs: list[Pair] = []
    for first in range(0, len(names), most):
        got = yield from _fetched(case, names[first : first + most])
        if not isinstance(got, tuple):
            return got
        pairs += got
    return [_told(case, pairs)]


def _fetched(
    case: Case, names: Sequence[str]
) -> Generator[Sequence[Trial], list[Call], tuple[Pair, ...] | list[Finding]]:
    """Pairs, or what kept them from being asked for."""
    rng = case.rng
    ask = Ask(ENDPOINT, recipe="count", stream=True, cap=int(case.params["tokens"]), kept=True)
    posts = yield [
        Trial(
            f"resumed/{name}/post", name, case.route, ask, deadline=float(case.params["seconds"]),
            salt=f"{rng.getrandbits(48):012x}",
        )
        for name in names
    ]  # fmt: skip
    if (why := unsent(posts)) is not None:
        return [not_sent(case, why, "beginning a response", posts)]
    if any(not _begun(call) for call in posts):
        return _not_begun(case, posts)
    asked = [
        Trial(
            f"resumed/{call.trial.client}/get", call.trial.client, case.route,
            replace(ask, kept=False, fetches=_id(call)), deadline=_limit(case, posts),
        )
        for call in posts
    ]  # fmt: skip
    sides: list[list[Call]] = []
    for trials in (asked, [replace(trial, label=f"{trial.label}/over") for trial in asked]):
        sides.append((yield trials))
        if (why := unsent(sides[-1])) is not None:
            return [not_sent(case, why, "fetching a response", sides[-1])]
        if any(not is_good(call) for call in sides[-1]):
            return _refused(case, sides[-1], "a stored response fetched by GET")
    return tuple(map(Pair, posts, *sides))


def _limit(case: Case, posts: Sequence[Call]) -> float:
    """Seconds: as set, else twice what the slowest takes at its pace, and no less than a usual limit."""
    if (asked := case.params["deadline"]) is not None:
        return float(asked)
    paces = [
        (line.end - line.first_token) / int(call.last.facts["tokens"])
        for call in posts
        if call.last is not None
        and (line := call.last.timeline).end is not None
        and line.first_token is not None
    ]
    return max([_LEAST, *(2 * pace * int(case.params["tokens"]) for pace in paces)])


def _begun(call: Call) -> bool:
    """Left by us while text was coming."""
    last = call.last
    return last is not None and by_us(last) and last.facts.get("tokens", 0) > 0 and _id(call) is not None


def _id(call: Call) -> str | None:
    return call.last.facts.get("response_id") if call.last is not None else None


def _not_begun(case: Case, posts: Sequence[Call]) -> list[Finding]:
    """An API need not have it, and an answer may be over too soon, or begin too late."""
    odd = [call for call in posts if not _begun(call)]
    if not all(is_good(call) or (call.last is not None and by_us(call.last)) for call in odd):
        return _refused(case, odd, "a response made in the background")
    last, seconds = odd[-1].last, case.params["seconds"]
    over = is_good(odd[-1])
    said = "was over within" if over else "had no text within"
    found = conclude(
        case, "not_measured", last, verdict=Verdict.INCONCLUSIVE, reason=Reason.TOO_FEW, layer=Layer.UNKNOWN,
        product=None, title=f"A response {said} {seconds:g} s, so none could be fetched while it was made",
        detail=(("seen", f"through {listed(clients_of(odd))}"),),
        advice=f"Ask for a longer one (--set tokens={4 * int(case.params['tokens'])}) or leave it "
        f"{'sooner' if over else 'later'} (--set seconds=…).",
        next_test=None,
    )  # fmt: skip
    return [found]


def _refused(case: Case, calls: Sequence[Call], what: str) -> list[Finding]:
    """What an API does not offer is no fault of it, and whose fault another error is, other kinds tell."""
    odd = [call for call in calls if not is_good(call)]
    last = odd[-1].last
    if last is not None and last.status in _NOT_OFFERED:
        path = last.request.url.partition("//")[2].partition("/")[2]
        found = conclude(
            case, "not_measured", last, verdict=Verdict.INCONCLUSIVE, reason=Reason.BLOCKED, product=None,
            title=f"The API does not give {what}, so no stream was fetched",
            detail=(("seen", f"{last.status} to {last.request.method} /{path}"),), next_test=None,
            advice="Leave --set stored=true away where the API has no background responses.",
        )  # fmt: skip
        return [found]
    found_all = by_outcome(case, odd, what)
    return [
        replace(one, verdict=Verdict.INCONCLUSIVE, reason=one.reason or Reason.BLOCKED, factor=None)
        for one in found_all
    ]


def _told(case: Case, pairs: Sequence[Pair]) -> Finding:
    held = [pair for pair in pairs if pair.way is Way.HELD]
    flowing = [pair for pair in pairs if pair.way is Way.FLOWS]
    shown = (held or flowing or pairs)[-1]
    came, over, last = Looked(shown.get), Looked(shown.again), shown.get.last
    assert shown.post.last is not None
    assert last is not None
    seen = int(shown.post.last.facts["tokens"])
    rows = [
        (
            "by POST",
            f"{seen} events with text within {duration(shown.post.last.timeline.end or 0.0)}, then we left",
        ),
        ("by GET", say.in_words(came)),
        ("when over", say.in_words(over)),
    ]
    fields: dict[str, Any] = {
        "figures": {
            "first_token": Figure(came.arrivals.waited, "s", 1),
            "first_token_when_over": Figure(over.arrivals.waited, "s", 1),
        },
        "conditions": conditions(case, shown.get.trial.client, last, shown.get.trial.deadline, len(pairs)),
        "evidence": tuple(call.last.id for pair in (held or flowing or pairs) for call in pair if call.last),
        "observed": Observed(len(held), len(held) + len(flowing)),
    }
    if held:
        return _held(case, shown, held, rows, fields)
    if not flowing:
        return conclude(
            case, "not_measured", last, verdict=Verdict.INCONCLUSIVE, reason=Reason.TOO_FEW, layer=Layer.UNKNOWN,
            product=None, title="Whether a stream is held back where it is fetched by GET can't be told",
            detail=tuple(rows), advice="Ask for a longer response (--set tokens=N), or run it again.", next_test=None,
            **fields,
        )  # fmt: skip
    names = listed(clients_of([pair.get for pair in flowing]))
    title = f"A stream fetched by GET comes as it is made, through {names}"
    return conclude(case, "ok", last, title=title, detail=tuple(rows), next_test=None, **fields)


def _held(
    case: Case, shown: Pair, held: Sequence[Pair], rows: list[tuple[str, str]], fields: dict[str, Any]
) -> Finding:
    came, last = Looked(shown.get), shown.get.last
    steps = came.arrivals.how is How.STEPS
    confidence = Confidence.HIGH if len(held) >= REPEATS else Confidence.MEDIUM
    if steps and say.proof(came) is None:  # an API that looks for news now and then gives out steps, too
        fields |= {"verdict": Verdict.WARN}
        confidence = Confidence.LOW
    waited = came.arrivals.waited
    products = last.attribution.transit if last is not None and last.attribution is not None else ()
    because = (
        f"by POST it came as it was made: the same answer, the same minute, another method; {say.proof(came) or 'who gathers the steps is not known'}"
        if steps
        else f"text that had come by POST before came by GET {duration(waited)} after it was asked for, with the end: "
        "the same answer, the same minute, another method"
    )
    return conclude(
        case, "stream.buffered", last, layer=Layer.UNKNOWN, product=None, vendor_code=None,
        client=held[0].get.trial.client if len(held) == 1 else None,
        title=f"Fetched by GET the stream is {'given out in steps' if steps else 'held back until it is over'}, and by POST "
        "it flows, through "
        f"{listed(clients_of([pair.get for pair in held]))}",
        detail=(*rows, ("because", because)), advice=advice(None, products), next_test=TO_THE_ORIGIN,
        confidence=confidence, **fields,
    )  # fmt: skip


def unfit(case: Case) -> str | None:
    if (why := undeclared(case)) is not None:
        return why
    if not case.params["stored"]:
        return "asked for by name, since the provider keeps the answers that it makes: --set stored=true"
    return None


def bound(case: Case) -> Bound:
    clients = len(case.clients)
    tokens = clients * (PROMPT_TOKENS + int(case.params["tokens"]))
    return Bound(3 * clients, tokens, 2 * float(case.params["seconds"]))


SPEC = KindSpec(
    flow=resumed,
    about="a stored response whose stream is left and fetched by GET: is it held back there, where it flows by POST",
    bound=bound,
    defaults={"stored": False, "tokens": 400, "seconds": 3.0, "deadline": None},
    limits={"tokens": (LEAST_CAP, 100_000), "seconds": (0.1, 600), "deadline": (0.1, 3600)},
    unfit=unfit,
    converses=False,
)
