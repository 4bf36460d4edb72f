"""Is a customer refused because of the software it uses, and which part of that software's identity is it?

Needs no valid key and no inference: every request carries a made-up key and a body that is invalid by type, so the
API's own 401 or 400 proves that the edge let the client pass.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.attribution import is_refusal
from probes.kinds.conclude import conclude, listed, not_sent, outcome_code, shown
from probes.kinds.isolate import Isolation, isolate
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.study import CEILING, Study, passed, refused
from probes.model import Ask, Confidence, Factor, Layer, Observed, Reason, Verdict
from probes.twins import Side, Twin, confounders, one, side, twin, wilson

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Exchange, Finding, Flow, Trial

    Step = Generator[Sequence[Trial], list[Call], list[Finding]]


def identity(case: Case) -> Flow:
    study = Study(case)
    ended = yield from _screen(study)
    if ended is not None:
        return ended
    findings: list[Finding] = []
    for group in study.groups():
        findings += yield from _one_group(study, group)
        if study.tainted:
            return [_tainted(study)]
    return findings + _said_nothing(study) + _let_pass(study)


# --- screen ----------------------------------------------------------------------------------------------


def _screen(study: Study) -> Generator[Sequence[Trial], list[Call], list[Finding] | None]:
    """Every client once, the control first, last and after every refusal; findings where that ends the case."""
    case = study.case
    first = yield from one(study.trial("screen", study.control))
    study.saw(first)
    if first.not_sent is not None:
        return [not_sent(case, first.not_sent, "asking with the control")]
    if first.last is None or (first.last.status is None and not is_refusal(first.last)):
        return [_no_answer(study, first)]
    for _ in range(int(case.params["repeats"])):
        ended = yield from _round(study)
        if ended is not None:
            return ended
    if study.tainted:
        return [_tainted(study)]
    if not study.passing() and (study.refusing() or _replaceable(study.seen[0])):
        return (yield from _nobody(study))
    study.choose_control()
    return None


def _round(study: Study) -> Generator[Sequence[Trial], list[Call], list[Finding] | None]:
    """Every client that has not failed yet, in random order, with the control after each refusal and at the end."""
    left = [name for name in study.others if name not in study.failing()]
    study.rng.shuffle(left)
    for name in [*left, study.control]:
        call = yield from one(study.trial("screen", name))
        study.saw(call)
        if call.not_sent is not None:
            return _said_nothing(study, Reason(call.not_sent)) or [
                not_sent(study.case, call.not_sent, "screening")
            ]
        if refused(call) and name != study.control:
            study.saw((yield from one(study.trial("screen", study.control))))
    return None


def _no_answer(study: Study, call: Call) -> Finding:
    exchange = call.last
    code = outcome_code(exchange) if exchange is not None else "not_measured"
    reach = code.startswith("unreachable.")
    return conclude(
        study.case,
        code,
        exchange,
        client=call.trial.client,
        observed=Observed(1, 1),
        verdict=Verdict.FAIL if reach else Verdict.INCONCLUSIVE,
        reason=None if reach else Reason.UNAVAILABLE,
        title="Nothing answers, so nothing can be said of any client",
        detail=(("seen", f"{call.trial.client}: {shown(exchange) if exchange is not None else 'nothing'}"),),
    )


def _tainted(study: Study) -> Finding:
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
        evidence=study.evidence(study.controls),
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
        call = yield from one(replace(study.trial("keyed", study.control), request=ask))
        if call.last is not None and outcome_code(call.last) == "ok":
            return [_replaced(study, first, call.last)]
    if not study.refusing():
        return _said_nothing(study)
    refusal = study.refusing()[0].last
    assert refusal is not None
    return [
        conclude(
            case,
            "probe.blocked",
            refusal,
            reason=Reason.BLOCKED,
            observed=Observed(len(study.refusing()), len(study.seen)),
            title="Every client of this probe was refused; what customers see is unknown",
            detail=(("seen", f"{shown(refusal)}, {len(study.refusing())} of {len(study.seen)} requests"),),
            evidence=study.evidence(study.refusing()),
        )
    ]


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
        evidence=(keyed.id, *study.evidence(study.seen)),
    )


# --- confirm and isolate ---------------------------------------------------------------------------------


def _one_group(study: Study, group: list[Call]) -> Step:
    """Clients refused alike: one is confirmed and isolated, the others are sent once more and are its scope."""
    name = study.representative(group)
    if study.room() < CEILING // 8:
        return [_unfinished(study, group, name, Reason.BUDGET)]
    control = study.trial("confirm", study.control, "control")
    variant = study.trial("confirm", name, "variant")
    pair = yield from twin(control, variant, refused)
    study.saw_all(pair.control.calls)
    study.asked += len(pair.control.calls) + len(pair.variant.calls)
    if study.tainted:
        return []
    if pair.unsent is not None:
        return [_unfinished(study, group, name, Reason(pair.unsent))]
    scope = [name]
    if study.room() < len(group):
        return [_unfinished(study, group, name, Reason.BUDGET)]
    study.asked += len(group) - 1
    for other in [call.trial.client for call in group if call.trial.client != name]:
        again = yield from one(study.trial("confirm", other))
        scope += [other] if refused(again) else []
    screened = [call for call in study.seen if call.trial.client == name]
    seen = side([*screened, *pair.variant.calls], refused)
    if not (pair.claimed and seen.failed):
        return [_intermittent(study, name, Twin(side(study.controls, refused), seen))]
    isolation = yield from isolate(study, name, pair)
    return [_refused(study, scope, pair, seen, isolation)]


def _refused(study: Study, scope: list[str], pair: Twin, seen: Side, isolation: Isolation) -> Finding:
    name = scope[0]
    variant, control = pair.variant.calls[-1].last, pair.control.calls[-1].last
    assert variant is not None
    assert control is not None
    code = outcome_code(variant)
    passing = sorted({call.trial.client for call in study.passing()})
    must_pass = any(study.must_pass(client) for client in scope)
    where = (
        "at the edge"
        if variant.attribution is not None and variant.attribution.layer is Layer.EDGE
        else "before the API"
    )
    let_pass = f"{pair.control.n - pair.control.k} of {pair.control.n} let pass"
    beside = f"{study.control} with the same key and body in the same minute: {shown(control)}, {let_pass}"
    pass_ = f"{listed(passing)} pass{'es' if len(passing) == 1 else ''}"
    return conclude(
        study.case,
        code if code == "challenged" else "blocked.client",
        variant,
        verdict=Verdict.FAIL if must_pass else Verdict.WARN,
        client=name,
        factor=isolation.factor,
        observed=Observed(seen.k, seen.n),
        control=isolation.control or control.id,
        variant=isolation.variant or variant.id,
        confounders=isolation.confounders,
        title=f"{listed(scope)} {'is' if len(scope) == 1 else 'are'} refused {where}",
        detail=(
            ("seen", f"{shown(variant)}, {seen.k} of {seen.n}; {beside}"),
            *isolation.detail,
            ("so", f"every customer on {listed(scope)} is locked out; {pass_}"),
            *_named(variant.attribution.extracted if variant.attribution else {}),
        ),
        confidence=isolation.confidence,
        reason=isolation.reason,
        next_test=isolation.next_test,
        evidence=study.evidence((*seen.calls, *pair.control.calls)),
        reproduce=isolation.reproduce,
    )


def _named(extracted: object) -> tuple[tuple[str, str], ...]:
    """What the operator can look the refusal up by."""
    rows = extracted if isinstance(extracted, dict) else {}
    words = [
        f"{name.replace('_', ' ')} {rows[name]}"
        for name in ("ray", "colo", "zone", "request_id")
        if rows.get(name)
    ]
    return (("look up", ", ".join(words)),) if words else ()


def _intermittent(study: Study, name: str, every: Twin) -> Finding:
    """Refused now and then: a failure of the service with its rate; the factor is claimed by the exact test only."""
    control, seen = every.control, every.variant
    refusal = next((call.last for call in seen.calls if refused(call)), None)
    low, high = wilson(seen.k, seen.n)
    rate = f"{seen.k} of {seen.n} times ({low:.0%} to {high:.0%} with 95 % confidence)"
    return conclude(
        study.case,
        "blocked.client" if every.claimed else "blocked",
        refusal,
        verdict=Verdict.FAIL if study.must_pass(name) else Verdict.WARN,
        client=name,
        factor=Factor.CLIENT if every.claimed else None,
        observed=Observed(seen.k, seen.n),
        control=control.evidence,
        variant=refusal.id if refusal is not None else None,
        title=f"{name} is refused now and then",
        detail=(
            ("seen", f"refused {rate}; {study.control} between them {control.k} of {control.n}"),
            ("because", "which part of the client is not isolated: an intermittent refusal needs more pairs"),
        ),
        confidence=Confidence.MEDIUM if every.claimed else Confidence.LOW,
        reason=None if every.claimed else Reason.MIXED,
        evidence=study.evidence((*seen.calls, *control.calls)),
    )


def _unfinished(study: Study, group: list[Call], name: str, reason: Reason) -> Finding:
    """Seen refused once, and no more could be asked: told as it is, without a verdict on the service."""
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
        detail=(("seen", f"{shown(exchange)}, once"),),
        confidence=Confidence.LOW,
    )


# --- the rest --------------------------------------------------------------------------------------------


def _said_nothing(study: Study, why: Reason = Reason.TOO_FEW) -> list[Finding]:
    """429, 5xx, time-outs and redirects say nothing of identity."""
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in study.seen:
        if call.last is not None and not passed(call) and not refused(call):
            made = call.last.attribution
            groups.setdefault((outcome_code(call.last), made and made.layer), []).append(call)
    return [_nothing_of_identity(study, calls, why) for calls in groups.values()]


def _nothing_of_identity(study: Study, calls: list[Call], why: Reason) -> Finding:
    names = list(dict.fromkeys(call.trial.client for call in calls))
    exchange = calls[-1].last
    assert exchange is not None
    asked = sum(call.trial.client in names and call.not_sent is None for call in study.seen)
    return conclude(
        study.case,
        outcome_code(exchange),
        exchange,
        verdict=Verdict.INCONCLUSIVE,
        reason=why,
        client=names[0] if len(names) == 1 else None,
        observed=Observed(len(calls), asked),
        detail=(
            ("seen", f"{listed(names)}: {shown(exchange)}"),
            ("because", "such an answer says nothing of whether the client's identity is accepted"),
        ),
        evidence=study.evidence(calls),
    )


def _let_pass(study: Study) -> list[Finding]:
    """Green is specific: who passed each time, and proven by what."""
    failing = study.failing()
    calls = [call for call in study.passing() if call.trial.client not in failing]
    names = sorted({call.trial.client for call in calls})
    if not names:
        return []
    proof = calls[-1].last
    assert proof is not None
    return [
        conclude(
            study.case,
            "ok",
            proof,
            client=names[0] if len(names) == 1 else None,
            observed=Observed(0, len(calls)),
            title=f"{listed(names)} pass{'es' if len(names) == 1 else ''} the edge",
            detail=(("seen", f"the API's own answer, {shown(proof)}, to a made-up key and an invalid body"),),
            evidence=study.evidence(calls),
        )
    ]


def bound(_: Case) -> Bound:
    return Bound(CEILING, 2 * CEILING, 5.0)


SPEC = KindSpec(
    flow=identity,
    about="which clients the edge refuses, and for which part of their identity; no key, no inference",
    bound=bound,
    defaults={"repeats": 3},
    keyed=False,
)
