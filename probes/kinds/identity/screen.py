"""Which clients does the edge let pass, when each is asked in turn with the control between them?"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.attribution import is_refusal
from probes.endings import by_itself
from probes.kinds.conclude import conclude, emulated, in_title, listed, named, not_sent, outcome_code, shown
from probes.kinds.identity.study import Study, evidence, passed, refused
from probes.kinds.identity.unheard import hung_up_on_all, no_answer
from probes.model import Ask, Confidence, Factor, Layer, NotSent, Observed, Reason, Verdict
from probes.twins import confounders
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Exchange, Finding, Trial

    Step = Generator[Sequence[Trial], list[Call], list[Finding]]


def screen(study: Study) -> Generator[Sequence[Trial], list[Call], list[Finding] | None]:
    """Every client, the control first, last and after every refusal; findings where that ends the case."""
    first = yield from study.screen(study.control)
    if first.last is not None and by_itself(first.last) and study.others:
        study.next_control()
        first = yield from study.screen(study.control)
    if (why := _unsent_or_ended(first)) is not None:
        return [not_sent(study.case, why, "asking with the control")]
    if first.last is None or (first.last.status is None and not is_refusal(first.last)):
        return [no_answer(study, first)]
    ended = yield from _round(study, [name for name in study.others if _genuine(study, name)])
    if ended is None:
        ended = yield from _beside(study, [name for name in study.others if not _genuine(study, name)])
    for _ in range(1, int(study.case.params["repeats"])):
        left = [name for name in study.others if study.must_pass(name) and name not in study.failing()]
        if ended is not None or not (left and study.room()):
            break
        ended = yield from _beside(study, left)
    if ended is not None:
        return ended
    if study.tainted:
        return [tainted(study)]
    if not study.possible_controls() and (study.refusing() or _replaceable(first)):
        return (yield from _nobody(study))
    study.choose_control()
    return None


def _unsent_or_ended(call: Call) -> NotSent | None:
    interrupted = (
        call.last is not None and call.last.error is not None and call.last.error.kind == "interrupted"
    )
    return NotSent.INTERRUPTED if interrupted else call.not_sent


def _round(study: Study, left: list[str]) -> Generator[Sequence[Trial], list[Call], list[Finding] | None]:
    """Every client that has not failed yet, in random order, with the control at the end, and after each that was
    refused or got no answer: a server that hangs for one must not be taken for one that hangs for all.
    """
    study.rng.shuffle(left)
    order = [*left, study.control]
    for name, after in zip(order, [*order[1:], None], strict=True):
        if name != study.control and not study.patient:
            return _too_slow(study)
        call = yield from study.screen(name)
        if (why := _unsent_or_ended(call)) is not None:
            told = [*_all_unconfirmed(study, Reason(why)), *said_nothing(study, Reason(why))]
            return told or [not_sent(study.case, why, "screening")]
        if (refused(call) or _no_byte(call)) and study.control not in {name, after}:
            yield from study.screen(study.control)
    return None


def _too_slow(study: Study) -> list[Finding]:
    """Waiting for every client would hold the suite up; who was not asked is said."""
    asked = {call.trial.client for call in study.seen}
    left = [client.name for client in study.case.clients if client.name not in asked]
    rest = conclude(
        study.case,
        "not_measured",
        layer=Layer.PROBE,
        reason=Reason.BUDGET,
        title=f"The server is too slow for every client to be asked; not asked: {listed(left)}",
        detail=(("seen", f"{len(study.seen)} requests took longer than the case's patience"),),
        advice="Raise the patience (--set patience=SECONDS) to ask every client all the same.",
    )
    return [*_all_unconfirmed(study, Reason.BUDGET), *said_nothing(study, Reason.BUDGET), rest]


def _no_byte(call: Call) -> bool:
    return call.last is not None and call.last.status is None


def _all_unconfirmed(study: Study, reason: Reason) -> list[Finding]:
    return [unconfirmed(study, group, study.representative(group), reason) for group in study.groups()]


def unconfirmed(study: Study, group: list[Call], name: str, reason: Reason) -> Finding:
    """Seen refused, and no more could be asked: told as it is, without a verdict on the service."""
    exchange = next(call.last for call in group if call.trial.client == name)
    assert exchange is not None
    return conclude(
        study.case,
        "blocked",
        exchange,
        verdict=Verdict.INCONCLUSIVE,
        reason=reason,
        client=name,
        observed=Observed(1, 1),
        title=f"{name} was refused once; it could not be confirmed",
        detail=(("seen", f"{shown(exchange)}, once"), *emulated(study.case, [name]), *named(exchange)),
        confidence=Confidence.LOW,
        evidence=(exchange.id,),
    )


def _genuine(study: Study, name: str) -> bool:
    return study.case.client(name).genuine


def _beside(study: Study, names: list[str]) -> Generator[Sequence[Trial], list[Call], list[Finding] | None]:
    """Each once more or for the first time, side by side to save the server's time, the control with them."""
    if not names:
        return None
    study.rng.shuffle(names)
    asked = [*names[: max(study.left - 1, 0)], study.control]
    calls = yield from study.together([study.trial("screen", name) for name in asked])
    study.seen += calls
    for call in calls:
        if (why := _unsent_or_ended(call)) is not None:
            told = [*_all_unconfirmed(study, Reason(why)), *said_nothing(study, Reason(why))]
            return told or [not_sent(study.case, why, "screening")]
    return None


def tainted(study: Study) -> Finding:
    last = study.controls[-1].last
    return conclude(
        study.case,
        "probe.tainted",
        layer=Layer.PROBE,
        reason=Reason.TAINTED,
        confidence=Confidence.LOW,
        client=study.control,
        title="The control was let pass at first and refused later",
        detail=(
            (
                "seen",
                f"{study.control}: {shown(last) if last is not None else 'no answer'}, after it had passed",
            ),
            (
                "because",
                "a rule may have begun to count this probe's own requests; later answers prove nothing",
            ),
        ),
        evidence=evidence(study.controls),
    )


def _replaceable(call: Call) -> bool:
    """A client error that is not the API's own could be one that stands in its place."""
    status = call.last.status if call.last is not None else None
    return status is not None and 400 <= status < 500 and status != HTTPStatus.TOO_MANY_REQUESTS


def _nobody(study: Study) -> Step:
    """Nobody got the API's own answer: our monitor is refused, or the edge answers in place of the API's refusal."""
    case = study.case
    first = study.seen[0].last
    assert first is not None
    if case.keyed:
        ask = Ask(study.endpoint, recipe="hello", cap=1, key="target")
        call = yield from study.one(replace(study.trial("keyed", study.control), request=ask))
        if call.last is not None and outcome_code(call.last) == "ok":
            return [_replaced(study, first, call.last)]
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


def said_nothing(study: Study, why: Reason = Reason.TOO_FEW) -> list[Finding]:
    """429, 5xx, time-outs and redirects say nothing of identity."""
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in study.seen:
        if call.last is not None and not passed(call) and not refused(call):
            made = call.last.attribution
            groups.setdefault((outcome_code(call.last), made and made.layer), []).append(call)
    return [_nothing_of_identity(study, calls, why) for calls in groups.values()]


def _nothing_of_identity(study: Study, calls: list[Call], why: Reason) -> Finding:
    names = study.ranked(list(dict.fromkeys(call.trial.client for call in calls)))
    exchange = calls[-1].last
    assert exchange is not None
    through = f" through {in_title(study.case, names)}" if len(names) > 1 else ""
    asked = sum(call.trial.client in names and call.not_sent is None for call in study.seen)
    return conclude(
        study.case,
        outcome_code(exchange),
        exchange,
        verdict=Verdict.INCONCLUSIVE,
        reason=why,
        client=names[0] if len(names) == 1 else None,
        observed=Observed(len(calls), asked),
        title=vocabulary()[outcome_code(exchange)].title + through,
        detail=(
            ("seen", f"{listed(names)}: {shown(exchange)}"),
            ("because", "such an answer says nothing of whether the client's identity is accepted"),
            *emulated(study.case, names),
        ),
        evidence=evidence(calls),
    )
