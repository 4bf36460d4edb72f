"""Does the prompt cache hit, does it save time, and is it told?

The same long prompt is sent cold, again (warm), behind a line that changes (broken) and before it (moved). What usage
reports and how soon the first token comes are judged together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.config import endpoints
from probes.errors import UsageError
from probes.kinds.conclude import by_outcome, is_good, not_sent
from probes.kinds.length.pace import by_preference, endpoint_of
from probes.kinds.prompt_cache.ages import aged
from probes.kinds.prompt_cache.ahead import MOST_TIMES, WARM_UP, bound, foretold
from probes.kinds.prompt_cache.evidence import Tried, timed, told
from probes.kinds.prompt_cache.findings import finding
from probes.kinds.prompt_cache.instead import so_far, too_long, wrong_usage
from probes.kinds.prompt_cache.judge import ORIGIN, Evidence, displaced, further, judge, undecided
from probes.kinds.prompt_cache.rounds import FURTHER, by_route, moved_by_route, rounds, whole
from probes.kinds.prompt_cache.search import search
from probes.kinds.prompt_cache.trials import KEEPS, SIZES, Trials
from probes.kinds.spec import KindSpec
from probes.sampling import REPEATS
from probes.twins import unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.prompt_cache.ages import Aged
    from probes.kinds.prompt_cache.search import Place
    from probes.model import Call, Case, Client, Finding, Flow, Trial


def prompt_cache(case: Case) -> Flow:
    opening: list[Call] = []
    for client in _by_connection(case):
        trials = Trials(case, client)
        for _ in range(WARM_UP):
            call = (yield from trials.ask(trials.control("warm_up"))).call
            opening.append(call)
            if not is_good(call):
                break
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, "asking for a short stream", [call])]
        if is_good(call):
            return (yield from _tried(case, trials))
    return by_outcome(case, opening, "a short stream")


def _by_connection(case: Case) -> list[Client]:
    """First one that keeps its connection after a stream, as SDKs do not; the cache is the server's, whoever asks."""
    return sorted(by_preference(case), key=lambda client: client.kind != KEEPS)


def _tried(case: Case, trials: Trials) -> Flow:
    place = yield from search(trials)
    warm_up = len(trials.asked)
    going = not place.broken and (yield from _arms(case, trials, place))
    reads: dict[float, list[Aged]] = {}
    old = sorted({float(age) for age in case.params["ages"]})
    if going and old and Tried(trials.asked).usage == "hits":
        reads = yield from aged(trials, place, old)
    return _concluded(case, trials, place, reads, warm_up)


def _arms(case: Case, trials: Trials, place: Place) -> Generator[Sequence[Trial], list[Call], bool]:
    """Whether all was sent, and nearly all was good."""
    repeats = int(case.params["repeats"])
    going = yield from rounds(trials, place, repeats, lines=place.read)
    if going and Tried(trials.asked).usage in {"zero", "absent"}:
        going = yield from whole(trials, place)
        if told(Tried(trials.asked).of("whole/warm")) == "hits":
            return going
        if going and _beside(case):
            going = yield from by_route(trials, place, ORIGIN)
    elif going and displaced(Tried(trials.asked)) and _beside(case):
        going = yield from moved_by_route(trials, place, ORIGIN)
    for _ in range(MOST_TIMES if going else 0):
        seen = _evidence(trials, place)
        more = further(seen, repeats)
        if not more:
            break
        keyed = seen.tried.usage == "mixed" and case.target.api == "openai"
        if not (yield from rounds(trials, place, more, lines=False, keyed=keyed)):
            return False
        if not (seen.timed.missing or undecided(Tried(trials.asked))):
            break
    return going


def _beside(case: Case) -> bool:
    """Whether there is a way straight to the origin to hold this one against."""
    return ORIGIN in case.target.routes and case.route != ORIGIN


def _evidence(trials: Trials, place: Place) -> Evidence:
    tried = Tried(trials.asked)
    return Evidence(tried, timed(tried), place)


def _concluded(
    case: Case, trials: Trials, place: Place, reads: dict[float, list[Aged]], warm_up: int
) -> list[Finding]:
    calls = [asked.call for asked in trials.asked]
    what = f"a stream behind a prompt of about {place.tokens:,} tokens"
    bad = [call for call in calls if not is_good(call)]
    seen = _evidence(trials, place)
    if (why := unsent(calls)) is not None:
        return [so_far(case, not_sent(case, why, f"asking for {what}", bad), bad, seen, warm_up)]
    if place.broken and place.refused:
        return [too_long(case, place, bad[-1])]
    found = by_outcome(case, calls, what) if bad else []
    if bad and (place.broken or not seen.tried.of("warm") or len(bad) >= FURTHER):
        return found
    found += wrong_usage(case, seen.tried)
    return [*found, finding(case, seen, judge(seen), reads, warm_up)]


def unfit(case: Case) -> str | None:
    try:
        endpoint = endpoint_of(case)
    except UsageError as fault:
        return str(fault)
    return (
        None if endpoint in endpoints(case.target) else f"the target does not declare the endpoint {endpoint}"
    )


SPEC = KindSpec(
    flow=prompt_cache,
    converses=False,
    about="the same long prompt cold, again, behind and before a line that changes: does the prompt cache hit, save time and get told",
    bound=bound,
    unfit=unfit,
    foretells=foretold,
    defaults={
        "repeats": REPEATS,
        "prompt_tokens": SIZES[-1],
        "settle": 30.0,
        "ages": [],
        "endpoint": "auto",
        "deadline": 60.0,
    },
    limits={
        "repeats": (1, 100),
        "prompt_tokens": (500, 100_000),
        "settle": (1, 600),
        "ages": (1, 86_400),
        "endpoint": ("auto", "chat", "responses", "messages"),
        "deadline": (0.1, 3600),
    },
    long=True,
)
