"""Does it fail here, too, and what is the nearest request that passes?"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.kinds.reproduction.draft import (
    Composer,
    Draft,
    as_told,
    capitalized,
    encoded,
    turned,
    written_like,
)
from probes.kinds.reproduction.failure import failure
from probes.kinds.reproduction.family import base, other, spoken
from probes.kinds.reproduction.key import with_made_up_key
from probes.kinds.reproduction.parts import differences
from probes.kinds.reproduction.path import plain_path, with_version
from probes.kinds.reproduction.plain import agent_of, plainly, streamed
from probes.kinds.reproduction.study import (
    KEYS,
    PLAIN,
    RAW,
    SDKS,
    TOLD,
    Question,
    Study,
    unanswered,
    without_key,
)
from probes.model import NotSent

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from probes.model import Call, Case, Trial

    Asks = Generator[Sequence[Trial], list[Call], "Opening"]
    Tried = Generator[Sequence[Trial], list[Call], bool]

_LONG = 16 * 1024
"""Bytes of a body from which on it costs too much to be computed again and again."""
_SLOW, _FEW = 20.0, 3
"""Seconds of one answer beyond which less is asked."""


@dataclass
class Opening:
    """`failing` where it fails here, `passing` where something passes beside it. `why`: a request was not sent.
    `same_bytes`: of what an SDK sent, asked without it: whether that fails, too.
    """

    told: Question
    failing: Question | None = None
    passing: Question | None = None
    why: NotSent | None = None
    same_bytes: bool | None = None


def opened(study: Study) -> Asks:
    """The request as told, up to `repeats` times until it fails; then the control beside it until both were asked so often."""
    found = Opening(Question(TOLD, first_draft(study)))
    yield from _until_it_fails(study, found, found.told, int(study.case.params["repeats"]))
    if study.failure is None and found.why is None:
        for client in _others(study, found.told.draft):
            other = Question(f"as_told/{client}", replace(found.told.draft, client=client))
            yield from _until_it_fails(study, found, other, 1)
            if found.failing is not None or found.why is not None:
                break
    if study.failure is None and found.why is None:
        yield from _over_the_other_family(study, found)
    if found.failing is not None and found.why is None:
        yield from _below_the_sdk(study, found)
    if found.failing is not None and found.why is None and found.same_bytes is not False:
        yield from _without_the_key(study, found)
    return found


def controlled(study: Study, found: Opening) -> Asks:
    """The nearest of the plain requests that passes, asked in turns with the one that fails."""
    assert found.failing is not None
    for number, draft in enumerate(candidates(study, found.failing.draft)):
        question = Question(f"{PLAIN}/{number}", draft)
        if (yield from _passes(study, found, question)):
            recorded = yield from _bytes_of(study, found, question)
            if recorded is not None:
                found.passing = recorded
                break
        if found.why is not None:
            return found
    if found.passing is None:
        yield from _all_alike(study, found)
        return found
    _compose(study, found)
    yield from _in_turns(study, found)
    return found


def first_draft(study: Study) -> Draft:
    """Through the client told where it is here, with what that adds of its own accord."""
    told, case = study.told, study.case
    sdk = next((c.name for c in case.clients if c.kind in SDKS and c.name == told.client), None)
    if told.form == "sdk" and sdk is not None:
        return as_told(told, sdk, case.route)
    names = study.raw
    client = told.client if told.client in names else names[0]
    if told.http_version == "2" and "curl-h2" in names:
        client = "curl-h2"
    draft = as_told(told, client, case.route)
    if told.form != "curl":
        return draft
    for name, value in (("User-Agent", agent_of(case, "curl")), ("Accept", "*/*")):
        draft = draft if draft.header(name.lower()) is not None else draft.with_header(name, ((name, value),))
    return draft


def _until_it_fails(study: Study, found: Opening, question: Question, times: int) -> Tried:
    for _ in range(times):
        call = yield from study.ask(question)
        if call.not_sent is not None:
            found.why = call.not_sent
            return False
        met = failure(call, study.told.seen)
        study.count(question, met is not None if call.last is not None else None)
        if met is not None:
            study.failure, found.failing = met, question
            return True
    return False


def _others(study: Study, draft: Draft) -> Iterator[str]:
    """Clients through which it may fail though it passes through the first, where nobody said which it was."""
    if study.told.client is None or study.told.client not in study.raw:
        yield from (name for name in study.raw if name != draft.client)


def _over_the_other_family(study: Study, found: Opening) -> Generator[Sequence[Trial], list[Call], None]:
    """Once, where it passes over the one. That no connection comes about says more of the network here than of theirs."""
    last = study.every[-1].last if study.every else None
    draft = other(study, found.told.draft, last)
    if draft is None:
        return
    question = Question(f"as_told/{draft.route}", draft)
    call = yield from study.ask(question)
    met = failure(call, study.told.seen) if spoken(call.last) is not None else None
    study.count(question, met is not None if spoken(call.last) is not None else None)
    if met is not None:
        study.failure, found.failing = met, question


def _below_the_sdk(study: Study, found: Opening) -> Generator[Sequence[Trial], list[Call], None]:
    """What an SDK sent, sent again by a plain client, of which single parts can be changed."""
    assert found.failing is not None
    assert study.failure is not None
    sent = study.of_question(found.failing)[-1].last
    if study.case.client(found.failing.draft.client).kind not in SDKS or sent is None:
        return
    study.adds_key = True
    draft = replace(found.failing.draft, client=study.raw[0], headers=without_key(sent.request.headers))
    question = Question("as_told/bytes", draft)
    for _ in range(_FEW):
        call = yield from study.ask(question)
        if call.not_sent is not None:
            found.why = call.not_sent
            return
        study.count(question, study.failure.says(call))
        if study.failure.says(call):
            found.same_bytes, found.failing = True, question
            return
    found.same_bytes = False


def _without_the_key(study: Study, found: Opening) -> Generator[Sequence[Trial], list[Call], None]:
    """A long prompt that is refused before the API is looked into with a made-up key: nothing that passes is computed."""
    assert found.failing is not None
    assert study.failure is not None
    draft, adds = found.failing.draft, study.adds_key
    if not study.failure.before_api or len(encoded(draft, study.told)) < _LONG:
        return
    kept = tuple(pair for pair in draft.headers if pair[0].lower() not in KEYS)
    question = Question("as_told/made_up_key", replace(draft, headers=kept))
    study.adds_key = study.made_up_key = True
    call = yield from study.ask(question)
    fails = study.failure.says(call)
    study.count(question, fails if call.last is not None else None)
    if fails:
        found.failing = question
        return
    # Then the key may have to do with it.
    study.adds_key, study.made_up_key, found.why = adds, False, call.not_sent


# --- the control -----------------------------------------------------------------------------------------


def candidates(study: Study, failing: Draft) -> Iterator[Draft]:
    """The nearest first: its headers are written like those of the one that fails."""
    case, names = study.case, study.raw
    met = next((call.last for call in study.every if study.says(call)), None)
    elsewhere = other(study, failing, met)
    if elsewhere is not None and base(failing.route) != failing.route:
        yield elsewhere  # where it passed
    plain = "curl" if "curl" in names else names[0]
    for draft in _plain(case, failing, plain):
        yield written_like(draft, failing.headers, failing.headers)
    python = next((c.name for c in case.clients if c.name in names and c.kind == RAW[0]), None)
    if python is not None:
        draft = plainly(case, failing, python)
        draft = draft.with_header("user-agent", (("User-Agent", agent_of(case, "httpx")),))
        yield turned(written_like(capitalized(draft), failing.headers))
    for client in case.clients:
        if client.kind in SDKS and client.mode == "sync" and client.api == case.target.api:
            yield replace(plainly(case, failing, plain), client=client.name)
    if elsewhere is not None:
        yield elsewhere
    for route in case.target.routes:
        if base(route) == route != failing.route:
            yield replace(failing, route=route)


def _plain(case: Case, failing: Draft, client: str) -> Iterator[Draft]:
    yield plainly(case, failing, client)
    model = (failing.fields or {}).get("model")
    if model not in {None, case.target.model}:
        yield plainly(case, failing, client, case.target.model)
    yield from streamed(case, failing, client)
    version = with_version(plain_path(failing.path))
    if version is not None:
        yield replace(plainly(case, failing, client), path=version)


def _all_alike(study: Study, found: Opening) -> Generator[Sequence[Trial], list[Call], None]:
    """The request as told and the nearest plain one in turns, so that no single answer is believed; more often
    where something passed. Before an answer that is not the API's own, once with a made-up key, and again where that passes.
    """
    assert found.failing is not None
    assert study.failure is not None
    nearest = Question(f"{PLAIN}/0", next(candidates(study, found.failing.draft)))
    some = study.failure.before_api and any(study.says(call) is False for call in study.every)
    asked = [found.failing, nearest] * (int(study.case.params["repeats"]) if some else _FEW - 1)
    keyed = with_made_up_key(study, nearest.draft) if study.failure.before_api and not some else None
    for question in ([keyed] if keyed is not None else []) + asked:
        call = yield from study.ask(question)
        if call.not_sent is not None:
            return
        study.count(question, study.failure.says(call))
    if keyed is not None and study.passed(keyed) is not None:
        study.count(keyed, study.failure.says((yield from study.ask(keyed))))


def _passes(study: Study, found: Opening, question: Question) -> Tried:
    assert study.failure is not None
    call = yield from study.ask(question)
    if call.not_sent is not None:
        found.why = call.not_sent
        return False
    study.count(question, study.failure.says(call))
    return study.failure.says(call) is False


def _bytes_of(
    study: Study, found: Opening, question: Question
) -> Generator[Sequence[Trial], list[Call], Question | None]:
    """Of a control through an SDK the same bytes without it, where they pass as well."""
    sent = study.of_question(question)[-1].last
    if study.case.client(question.draft.client).kind not in SDKS or sent is None:
        return question
    assert found.failing is not None
    keys = tuple(pair for pair in found.failing.draft.headers if pair[0].lower() in KEYS)
    study.adds_key = True
    headers = (*without_key(sent.request.headers), *keys)
    plain = replace(question.draft, client=study.raw[0], headers=headers)
    again = Question(f"{question.label}/bytes", plain)
    return again if (yield from _passes(study, found, again)) else None


def _compose(study: Study, found: Opening) -> None:
    """From here on both sides are sets of parts: all of them, and none."""
    assert found.failing is not None
    assert found.passing is not None
    failing, passing = found.failing.draft, found.passing.draft
    kinds = {study.case.client(draft.client).kind for draft in (failing, passing)}
    parts = differences(failing, passing, version=kinds == {"curl"})
    study.composer = Composer(passing, failing, study.told, parts)
    for question, names in (
        (found.failing, frozenset(study.composer.names)),
        (found.passing, frozenset[str]()),
    ):
        study.calls[names] = study.calls.pop(question)
        study.evidence.tallies[names] = study.evidence.tallies.pop(question)


def _in_turns(study: Study, found: Opening) -> Generator[Sequence[Trial], list[Call], None]:
    assert study.composer is not None
    assert study.failure is not None
    every = frozenset(study.composer.names)
    told = study.of_question(every)
    slow = any((call.last.timeline.end or 0.0) > _SLOW for call in told if call.last)
    times = _FEW if slow else int(study.case.params["repeats"])
    if any(map(unanswered, told)):
        times = _FEW - 1  # each costs a deadline
    asked = dict.fromkeys((every, frozenset[str]()), 0)
    while asked:
        for question in list(asked):
            if study.evidence.of(question).n >= times or asked[question] > times:
                del asked[question]
                continue
            asked[question] += 1
            call = yield from study.ask(question)
            if call.not_sent is not None:
                found.why = call.not_sent
                return
            study.count(question, study.failure.says(call))


def says_reset(seen: str | None) -> bool:
    """What was told is a connection that ended, which a fresh one may not show."""
    return bool(re.search(_ENDED, seen or "", re.IGNORECASE))


_ENDED = r"reset|closed|hang ?up|broken pipe|EOF|disconnect|ECONNRESET|EPIPE|dropped|aborted"
