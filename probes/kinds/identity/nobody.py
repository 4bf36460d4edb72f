"""What is told where no client got the API's own answer, and is it the key that keeps it back?"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes import twins
from probes.attribution import is_refusal
from probes.clients import dialect
from probes.kinds.asking import agent, senders
from probes.kinds.conclude import conclude, is_good, not_sent, outcome_code
from probes.kinds.identity.study import evidence, passed
from probes.kinds.identity.unheard import hung_up_on_all
from probes.kinds.identity.untold import said_nothing
from probes.kinds.in_its_place import in_its_place, same_words
from probes.kinds.words import listed, named, shown
from probes.model import Ask, Confidence, Factor, Layer, Observed, Raw, Reason, Verdict
from probes.twins import confounders

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.identity.study import Study
    from probes.model import Call, Exchange, Finding, Trial

    Step = Generator[Sequence[Trial], list[Call], list[Finding]]
    Knows = Generator[Sequence[Trial], list[Call], bool]

_ABOUT_THE_BODY = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


def knows_the_key(study: Study) -> Knows:
    """Whether the API can be heard with the configured key alone, and goes on with it.

    A gateway that turns unknown keys away, in words that are no API's, tells nothing of the client. With a key that it
    knows, the API's own 400 does.
    """
    first = study.seen[0].last
    mine = study.case.keyed and study.case.target.key_env is not None and study.key == "made_up"
    if first is None or not (mine and replaceable(first)) or study.passing():
        return False
    if in_its_place(first) is Verdict.FAIL or not is_good((yield from _hello(study))):
        return False
    study.go_on_with_own_key()
    return True


def replaceable(exchange: Exchange) -> bool:
    """A client error that is not the API's own could be one that stands in its place."""
    status = exchange.status
    return status is not None and 400 <= status < 500 and status != HTTPStatus.TOO_MANY_REQUESTS


def _hello(study: Study) -> Generator[Sequence[Trial], list[Call], Call]:
    """A good request of the control, once."""
    if study.hello is None:
        ask = Ask(study.endpoint, recipe="hello", cap=1, key="target")
        plain = replace(study.trial("keyed", study.control), request=ask)
        study.hello = yield from twins.one(replace(plain, deadline=None))
    return study.hello


def of_no_known_form(study: Study) -> Finding:
    """The key is good, and still no error is one that is known as an API's."""
    last, strange = study.seen[-1].last, study.strange[-1].last
    assert last is not None
    return conclude(
        study.case,
        outcome_code(last) if outcome_code(last) != "ok" else "not_measured",
        last,
        verdict=Verdict.INCONCLUSIVE,
        reason=Reason.TOO_FEW,
        client=study.control,
        observed=Observed(len(study.strange) + len(study.seen), len(study.strange) + len(study.seen)),
        title="The errors are in no API's form, so whether any client is refused can't be told from them",
        detail=(
            ("seen", f"{shown(last)} to {study.to_what}"),
            *([("and", f"{shown(strange)} to a made-up key")] if strange is not None else []),
        ),
        next_test="the same requests straight to the origin, and completions through each client",
        evidence=evidence([*study.strange, *study.seen]),
    )


def alike(study: Study) -> Step:
    """A 400 to an invalid body proves the API only where another question meets another answer: some servers have one
    for all. A GET where a POST is due costs no inference.
    """
    last = next((c.last for c in reversed(study.controls) if passed(c)), None)
    able = study.control in senders(study.case)
    if (
        last is None
        or last.status not in _ABOUT_THE_BODY
        or study.key == "target"
        or not able
        or study.refusing()
    ):
        return []
    path = dialect.PATHS[study.case.target.api, study.endpoint]
    get = Raw("GET", path, (*agent(last), ("accept", "application/json")), key="made_up")
    call = yield from study.one(replace(study.trial("get", study.control), request=get))
    if call.not_sent is not None and not call.conditions.get("because"):
        return [not_sent(study.case, call.not_sent, "asking whether every request has one answer", [call])]
    if call.last is None or not same_words(call.last, last):
        return []
    return [
        conclude(
            study.case,
            "not_measured",
            call.last,
            reason=Reason.TOO_FEW,
            observed=Observed(len(study.seen), len(study.seen)),
            title="A GET gets the same answer as a POST of an invalid body, so nothing can be said of any client",
            detail=(("seen", f"{shown(call.last)} to both, with a made-up key"),),
            next_test="the same requests straight to the origin",
            evidence=(*evidence(study.seen), call.last.id),
        )
    ]


def nobody(study: Study) -> Step:
    """Our monitor is refused, or the edge answers in place of the API's refusal."""
    case = study.case
    first = study.seen[0].last
    assert first is not None
    if case.keyed and in_its_place(first) is Verdict.FAIL:
        good = yield from _hello(study)
        if good.last is not None and is_good(good):
            return [_replaced(study, first, good.last)]
    if not study.refusing():
        return said_nothing(study)
    if (ended := hung_up_on_all(study)) is not None:
        return [ended]
    refusal = study.refusing()[0].last
    assert refusal is not None
    return [
        conclude(
            case,
            "probe.blocked",
            refusal,
            reason=Reason.BLOCKED,
            observed=Observed(len(study.refusing()), len(study.seen)),
            title=f"Every client of this probe{_but(study)} was refused; what customers see is unknown",
            detail=(
                ("seen", f"{shown(refusal)}, {len(study.refusing())} of {len(study.seen)} requests"),
                *named(refusal),
            ),
            next_test=whose(refusal) or "the same clients from a second vantage, on another network",
            evidence=evidence(study.refusing()),
        )
    ]


def whose(refusal: Exchange) -> str | None:
    """What tells the author of a refusal that nobody signed: the same words have come from in front of two vendors."""
    made = refusal.attribution
    if refusal.status is None or (
        made is not None and made.layer is not Layer.UNKNOWN and is_refusal(refusal)
    ):
        return None
    return (
        "the same request from another network and without any proxy, then straight to the origin; compare the "
        "certificate's issuer and the edge's own headers"
    )


def _but(study: Study) -> str:
    """Those that may not be a control, such as a browser's headers, may well pass."""
    passing = dict.fromkeys(call.trial.client for call in study.passing())
    return f" but {listed(list(passing))}" if passing else ""


def _replaced(study: Study, instead: Exchange, keyed: Exchange) -> Finding:
    return conclude(
        study.case,
        "error.replaced",
        instead,
        client=study.control,
        observed=Observed(len(study.seen), len(study.seen)),
        control=keyed.id,
        variant=instead.id,
        factor=Factor.KEY,
        confounders=tuple(
            c for c in confounders(keyed, instead, ("authorization", "x-api-key")) if c != "the bodies differ"
        ),
        title="The API's own error does not reach the customer; something answers in its place",
        detail=(
            ("seen", f"{shown(instead)} to every request with a key that the API does not know"),
            ("control", f"{shown(keyed)} with the configured key and a valid body, through {study.control}"),
        ),
        confidence=Confidence.MEDIUM,
        evidence=(keyed.id, *evidence(study.seen)),
    )
