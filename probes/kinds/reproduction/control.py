"""What is the nearest request that passes?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.kinds.reproduction.draft import Composer, Draft, capitalized, turned, written_like
from probes.kinds.reproduction.family import base, nameless, other
from probes.kinds.reproduction.key import with_made_up_key
from probes.kinds.reproduction.parts import differences
from probes.kinds.reproduction.path import plain_path, with_version
from probes.kinds.reproduction.plain import agent_of, plainly, streamed
from probes.kinds.reproduction.study import (
    FEW,
    KEYS,
    PLAIN,
    RAW,
    SDKS,
    Question,
    Study,
    unanswered,
    without_key,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from probes.kinds.reproduction.opening import Opening
    from probes.model import Call, Case, Trial

    Steps = Generator[Sequence[Trial], list[Call], None]
    Tried = Generator[Sequence[Trial], list[Call], bool]

_SLOW = 20.0
"""Seconds of one answer beyond which less is asked."""


def controlled(study: Study, found: Opening) -> Steps:
    """The nearest of the plain requests that passes, asked in turns with the one that fails."""
    assert found.failing is not None
    for number, draft in enumerate(candidates(study, found.failing.draft)):
        if (draft.route, study.case.client(draft.client).kind == "curl") in _nowhere(study):
            continue
        question = Question(f"{PLAIN}/{number}", draft)
        if (yield from _passes(study, found, question)):
            recorded = yield from _bytes_of(study, found, question)
            if recorded is not None:
                found.passing = recorded
                break
        if found.why is not None:
            return
    if found.passing is None:
        yield from _all_alike(study, found)
        return
    _compose(study, found)
    yield from _in_turns(study, found)


def _nowhere(study: Study) -> set[tuple[str, bool]]:
    """Routes of one family whose name does not resolve: for curl, or for the clients that look it up in this process."""
    return {
        (call.trial.route, study.case.client(call.trial.client).kind == "curl")
        for call in study.every
        if nameless(call) and study.case.target.routes[call.trial.route].family is not None
    }


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
    asked_over = study.told.family is not None and base(failing.route) == failing.route
    if elsewhere is not None and asked_over:
        yield elsewhere  # before other clients: each looks a name up its own way
    python = next((c.name for c in case.clients if c.name in names and c.kind == RAW[0]), None)
    if python is not None:
        draft = plainly(case, failing, python)
        draft = draft.with_header("user-agent", (("User-Agent", agent_of(case, "httpx")),))
        yield turned(written_like(capitalized(draft), failing.headers))
    for client in case.clients:
        if client.kind in SDKS and client.mode == "sync" and client.api == case.target.api:
            yield replace(plainly(case, failing, plain), client=client.name)
    if elsewhere is not None and not asked_over:
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


def _all_alike(study: Study, found: Opening) -> Steps:
    """The request as told and the nearest plain one in turns, so that no single answer is believed; more often
    where something passed. Before an answer that is not the API's own, once with a made-up key, and again where that passes.
    """
    assert found.failing is not None
    assert study.failure is not None
    nearest = Question(f"{PLAIN}/0", next(candidates(study, found.failing.draft)))
    some = study.failure.before_api and any(study.says(call) is False for call in study.every)
    asked = [found.failing, nearest] * (int(study.case.params["repeats"]) if some else FEW - 1)
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


def _in_turns(study: Study, found: Opening) -> Steps:
    assert study.composer is not None
    assert study.failure is not None
    every = frozenset(study.composer.names)
    told = study.of_question(every)
    slow = any((call.last.timeline.end or 0.0) > _SLOW for call in told if call.last)
    times = FEW if slow else int(study.case.params["repeats"])
    if any(map(unanswered, told)):
        times = FEW - 1  # each costs a deadline
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
