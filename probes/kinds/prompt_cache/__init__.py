"""Does the prompt cache hit, does it save time, and is it told?

The same long prompt is sent cold, again (warm), behind a line that changes (broken) and before it (moved). What usage
reports and how soon the first token comes are judged together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import by_outcome, is_good, not_sent
from probes.kinds.length.pace import by_preference
from probes.kinds.prompt_cache.ages import EACH, aged
from probes.kinds.prompt_cache.evidence import Tried, timed, told
from probes.kinds.prompt_cache.findings import finding
from probes.kinds.prompt_cache.judge import MORE, ORIGIN, Evidence, further, judge
from probes.kinds.prompt_cache.rounds import FURTHER, by_route, rounds, whole
from probes.kinds.prompt_cache.search import SEARCH, search
from probes.kinds.prompt_cache.trials import CAP, SIZES, SOON, Trials
from probes.kinds.spec import Bound, KindSpec
from probes.sampling import REPEATS
from probes.twins import unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.prompt_cache.search import Place
    from probes.kinds.prompt_cache.trials import Asked
    from probes.model import Call, Case, Finding, Flow, Trial

_WARM_UP = 2
MOST_TIMES = 2
"""That further rounds are asked: some of theirs may have to be left out, too."""
_LONG, _KEYED = 6, 6
"""Long prompts of a round, and of one that asks with a key, too, and no lines."""
_SECONDS = 0.3
"""That a request takes on a server that answers at once."""


def prompt_cache(case: Case) -> Flow:
    opening: list[Call] = []
    for client in by_preference(case):
        trials = Trials(case, client)
        for _ in range(_WARM_UP):
            call = (yield from trials.ask(trials.control("warm_up"))).call
            opening.append(call)
            if not is_good(call):
                break
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, "asking for a short stream", [call])]
        if is_good(call):
            return (yield from _tried(case, trials))
    return by_outcome(case, opening, "a short stream")


def _tried(case: Case, trials: Trials) -> Flow:
    place = yield from search(trials)
    warm_up = len(trials.asked)
    going = not place.broken and (yield from _arms(case, trials, place))
    reads: dict[float, list[Asked]] = {}
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
        if going and ORIGIN in case.target.routes and case.route != ORIGIN:
            going = yield from by_route(trials, place, ORIGIN)
    for _ in range(MOST_TIMES if going else 0):
        seen = _evidence(trials, place)
        more = further(seen, repeats)
        if not more:
            break
        keyed = seen.tried.usage == "mixed" and case.target.api == "openai"
        if not (yield from rounds(trials, place, more, lines=False, keyed=keyed)):
            return False
        if not seen.timed.missing:
            break
    return going


def _evidence(trials: Trials, place: Place) -> Evidence:
    tried = Tried(trials.asked)
    return Evidence(tried, timed(tried), place)


def _concluded(
    case: Case, trials: Trials, place: Place, reads: dict[float, list[Asked]], warm_up: int
) -> list[Finding]:
    calls = [asked.call for asked in trials.asked]
    what = f"a stream behind a prompt of about {place.tokens:,} tokens"
    bad = [call for call in calls if not is_good(call)]
    if (why := unsent(calls)) is not None:
        return [not_sent(case, why, f"asking for {what}", bad)]
    found = by_outcome(case, calls, what) if bad else []
    seen = _evidence(trials, place)
    if bad and (place.broken or not seen.tried.of("warm") or len(bad) >= FURTHER):
        return found
    return [*found, finding(case, seen, judge(seen), reads, warm_up)]


def bound(case: Case) -> Bound:
    repeats, ages = int(case.params["repeats"]), list(case.params["ages"])
    more = max(MOST_TIMES * repeats, MORE)
    long = SEARCH + _LONG * repeats + _KEYED * more + 5 * FURTHER + 2 * EACH * len(ages)
    short = _WARM_UP * len(case.clients) + 2 * (repeats + more)
    most = int(case.params["prompt_tokens"])
    waits = float(case.params["settle"]) + 2 * repeats * SOON + max(map(float, ages), default=0.0)
    return Bound(long + short, long * most + (long + short) * CAP, waits + (long + short) * _SECONDS)


SPEC = KindSpec(
    flow=prompt_cache,
    about="the same long prompt cold, again, behind and before a line that changes: does the prompt cache hit, save time and get told",
    bound=bound,
    defaults={
        "repeats": REPEATS,
        "prompt_tokens": SIZES[-1],
        "settle": 30.0,
        "ages": [],
        "deadline": 60.0,
    },
    limits={
        "repeats": (1, 100),
        "prompt_tokens": (500, 100_000),
        "settle": (1, 600),
        "ages": (1, 86_400),
        "deadline": (0.1, 3600),
    },
    long=True,
)
