"""Does the request that a customer told fail here, too, and which one thing in it makes it fail?

Asked as told, beside the nearest plain request that passes; then the parts in which the two differ are put together and
left out until the smallest set that fails is left, and each claim is shown by requests that were sent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.complaint import Told
from probes.kinds.asking import HTTPX
from probes.kinds.conclude import not_sent
from probes.kinds.reproduction.control import controlled
from probes.kinds.reproduction.drift import gone, gone_at_once, went_away
from probes.kinds.reproduction.everybody import source, unanswered
from probes.kinds.reproduction.experiment import Found, experiment
from probes.kinds.reproduction.failure import late, redirects, tells
from probes.kinds.reproduction.findings import cannot, isolated, moved, unfinished
from probes.kinds.reproduction.idle import idled, stale
from probes.kinds.reproduction.key import any_key, of_the_key
from probes.kinds.reproduction.negative import not_reproduced
from probes.kinds.reproduction.opening import opened, says_reset
from probes.kinds.reproduction.outcome import CANNOT, OUTCOME
from probes.kinds.reproduction.redirection import redirected
from probes.kinds.reproduction.stacks import below_sdk
from probes.kinds.reproduction.study import WIDER, Study
from probes.kinds.spec import Bound, KindSpec
from probes.model import NotSent, Reason

if TYPE_CHECKING:
    from probes.kinds.reproduction.opening import Opening
    from probes.kinds.reproduction.study import Question
    from probes.model import Case, Finding, Flow

_SECONDS = 0.5
"""Of a request that is answered at once, for a guess."""
_IDLE_REQUESTS = 55
"""At the most, where a connection is what breaks."""


def reproduction(case: Case) -> Flow:
    told = case.params["told"]
    if not isinstance(told, Told):
        return [cannot(case, "no request was told")]
    study = Study.of(case, told)
    if not study.raw:
        return [cannot(case, "none of its clients can send a request as it was told")]
    found = yield from opened(study)
    if found.failing is None:
        return (yield from _passes_here(study, found))
    if found.why is None and found.same_bytes is False:
        if (yield from gone_at_once(study, found)):
            return [gone(study)]
        if found.why is None:
            return [below_sdk(study, found)]
    return (yield from _fails_here(study, found, found.failing))


def _fails_here(study: Study, found: Opening, failing: Question) -> Flow:
    met = study.failed(failing)
    if met is not None and redirects(met):
        return [(yield from redirected(study, failing, met))]
    if found.why is None:
        yield from controlled(study, found)
        asked = frozenset(study.composer.names) if study.composer is not None else failing
        if found.why is None and (yield from went_away(study, found, asked)):
            return [gone(study)]
    if study.composer is None:
        return [_alone(study, found)]
    if not study.composer.parts or study.evidence.of(frozenset()).k:
        return [source(study)]
    if found.why is not None:
        study.halted = study.ended(found.why)
        return [unfinished(study, Found())]
    result = yield from study.driven(experiment(study))
    return [_concluded(study, result or Found())]


def _alone(study: Study, found: Opening) -> Finding:
    """Where nothing was found that passes beside it."""
    if found.why is not None:
        return _unsent(study, found.why)
    this_key = any_key(study) is False and not study.evidence.intermittent
    return of_the_key(study) if this_key else source(study)


def _passes_here(study: Study, found: Opening) -> Flow:
    if found.why is not None:
        return [_unsent(study, found.why)]
    if all(call.last is None for call in study.every):
        return [cannot(study.case, "the client refused to send it")]
    if all(call.last is None or late(call.last) for call in study.every):
        return [cannot(study.case, "this process itself ran late whenever it waited", Reason.TAINTED)]
    if not any(map(tells, study.every)):
        return [cannot(study.case, "the probe ended each answer at a bound of its own", Reason.BUDGET)]
    broken = None
    if says_reset(study.told.seen):
        broken = yield from idled(study, found.told.draft)
        if broken.dead is not None:
            return [stale(study, broken)]
    return [not_reproduced(study, broken.said if broken is not None else None)]


def _concluded(study: Study, found: Found) -> Finding:
    assert study.composer is not None
    told = study.evidence.of(frozenset(study.composer.names))
    if found.spread and told.k < told.n:
        return source(study)
    if found.gone or found.spread:
        return moved(study, found)
    return isolated(study, found) if found.proven else unfinished(study, found)


def _unsent(study: Study, why: NotSent) -> Finding:
    """The end of what was not sent; the first row says the word."""
    if (ended := unanswered(study, why)) is not None:
        return ended
    told = not_sent(study.case, why, "asking as it was told", study.every)
    interrupted = "it was interrupted before it was known whether it fails here"
    said = interrupted if why is NotSent.INTERRUPTED else f"a request was not sent ({why})"
    return replace(told, detail=((OUTCOME, f"{CANNOT}: {said}"), *told.detail))


def _bound(case: Case) -> Bound:
    requests = int(WIDER * int(case.params["budget"])) + _IDLE_REQUESTS
    return Bound(requests, 0, _SECONDS * int(case.params["budget"]))


def _unfit(case: Case) -> str | None:
    told = isinstance(case.params.get("told"), Told)
    return None if told else "edgeprobe repro asks it, of the request that somebody told"


SPEC = KindSpec(
    flow=reproduction,
    about="whether a request that somebody told fails here, too, and what of it makes the difference",
    bound=_bound,
    defaults={"told": None, "budget": 60, "repeats": 5, "idle": [6.0, 65.0, 130.0, 410.0]},
    limits={"budget": (10, 1000), "repeats": (3, 20), "idle": (0.1, 1800)},
    unfit=_unfit,
    keyed=False,
    converses=False,
    brings=(HTTPX,),
)
