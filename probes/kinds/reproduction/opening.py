"""Does it fail here, too?"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.kinds.reproduction.draft import Draft, as_told, encoded
from probes.kinds.reproduction.failure import failure, tells
from probes.kinds.reproduction.family import other, spoken
from probes.kinds.reproduction.plain import agent_of
from probes.kinds.reproduction.study import FEW, KEYS, SDKS, TOLD, Question, Study, without_key
from probes.model import NotSent

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from probes.model import Call, Trial

    Asks = Generator[Sequence[Trial], list[Call], "Opening"]
    Tried = Generator[Sequence[Trial], list[Call], bool]

_LONG = 16 * 1024
"""Bytes of a body from which on it costs too much to be computed again and again."""


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
    """The request as told, up to `repeats` times until it fails, then over other clients and the other IP family."""
    found = Opening(Question(TOLD, first_draft(study)))
    yield from _until_it_fails(study, found, found.told, int(study.case.params["repeats"]))
    if study.failure is None and found.why is None:
        for client in _others(study, found.told.draft):
            question = Question(f"as_told/{client}", replace(found.told.draft, client=client))
            yield from _until_it_fails(study, found, question, 1)
            if found.failing is not None or found.why is not None:
                break
    if study.failure is None and found.why is None:
        yield from _over_the_other_family(study, found)
    if found.failing is not None and found.why is None:
        yield from _below_the_sdk(study, found)
    if found.failing is not None and found.why is None and found.same_bytes is not False:
        yield from _without_the_key(study, found)
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
        study.count(question, met is not None if tells(call) else None)
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
    study.count(question, met is not None if spoken(call.last) is not None and tells(call) else None)
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
    for _ in range(FEW):
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


def says_reset(seen: str | None) -> bool:
    """What was told is a connection that ended, which a fresh one may not show."""
    return bool(re.search(_ENDED, seen or "", re.IGNORECASE))


_ENDED = r"reset|closed|hang ?up|broken pipe|EOF|disconnect|ECONNRESET|EPIPE|dropped|aborted"
