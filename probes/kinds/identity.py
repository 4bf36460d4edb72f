"""Is a customer refused because of the software it uses, and which part of that software's identity is it?

Needs no valid key and no inference: every request carries a made-up key and a body that is invalid by type, so the
API's own 401 or 400 proves that the edge let the client pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer, is_refusal
from probes.kinds.conclude import conclude, listed, not_sent, outcome_code, shown
from probes.kinds.isolate import Isolation, isolate
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.study import CEILING, Study, passed, refused
from probes.model import Ask, Confidence, Layer, Observed, Reason, Verdict
from probes.twins import Side, Twin, one, side, twin, wilson

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Finding, Flow, Trial

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
    return findings + _said_nothing(study) + _let_pass(study, findings)


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
    others = [client.name for client in case.clients if client.name != study.control]
    case.rng.shuffle(others)
    control_was_last = True
    for name in others:
        call = yield from one(study.trial("screen", name))
        study.saw(call)
        control_was_last = False
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, "asking with every client once")]
        if refused(call):
            study.saw((yield from one(study.trial("screen", study.control))))
            control_was_last = True
    if not control_was_last:
        study.saw((yield from one(study.trial("screen", study.control))))
    if study.tainted:
        return [_tainted(study)]
    if not study.passing() and study.refusing():
        return (yield from _everybody(study))
    study.choose_control()
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
        evidence=tuple(call.last.id for call in study.controls if call.last is not None),
    )


def _everybody(study: Study) -> Step:
    """All refused: either our monitor is, or the edge replaces the API's own refusal of a made-up key."""
    case = study.case
    refusal = study.refusing()[0].last
    assert refusal is not None
    if case.keyed:
        ask = Ask(study.endpoint, recipe="hello", cap=1, key="target")
        call = yield from one(replace(study.trial("keyed", study.control), request=ask))
        if call.last is not None and call.last.attribution is not None and call.last.attribution.code == "ok":
            return [_replaced(study, refusal.id, call)]
    return [
        conclude(
            case,
            "probe.blocked",
            refusal,
            reason=Reason.BLOCKED,
            observed=Observed(len(study.refusing()), len(study.seen)),
            title="Every client of this probe was refused; what customers see is unknown",
            detail=(("seen", f"{shown(refusal)}, {len(study.seen)} of {len(study.seen)} requests"),),
            evidence=tuple(call.last.id for call in study.refusing() if call.last is not None),
        )
    ]


def _replaced(study: Study, refusal: str, call: Call) -> Finding:
    assert call.last is not None
    control = study.refusing()[0].last
    assert control is not None
    return conclude(
        study.case,
        "error.replaced",
        control,
        client=study.control,
        observed=Observed(len(study.refusing()), len(study.seen)),
        control=call.last.id,
        variant=refusal,
        title="The API's own error does not reach the customer; the edge answers in its place",
        detail=(
            ("seen", f"{shown(control)} to every request with a key that the API does not know"),
            ("control", f"{shown(call.last)} with the configured key, through {study.control}"),
        ),
        confidence=Confidence.MEDIUM,
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
    for other in [call.trial.client for call in group if call.trial.client != name]:
        again = yield from one(study.trial("confirm", other))
        scope += [other] if refused(again) else []
    screened = next(call for call in group if call.trial.client == name)
    seen = side([screened, *pair.variant.calls], refused)
    if not (pair.claimed and pair.variant.failed):
        return [_intermittent(study, name, pair, seen)]
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
        evidence=tuple(call.last.id for call in (*seen.calls, *pair.control.calls) if call.last is not None),
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


def _intermittent(study: Study, name: str, pair: Twin, seen: Side) -> Finding:
    """Refused now and then: a failure of the service with its rate; the factor is claimed by the exact test only."""
    refusal = next((call.last for call in seen.calls if refused(call)), None)
    low, high = wilson(seen.k, seen.n)
    rate = f"{seen.k} of {seen.n} times ({low:.0%} to {high:.0%} with 95 % confidence)"
    return conclude(
        study.case,
        "blocked.client" if pair.claimed else "blocked",
        refusal,
        verdict=Verdict.FAIL if study.must_pass(name) else Verdict.WARN,
        client=name,
        observed=Observed(seen.k, seen.n),
        title=f"{name} is refused now and then",
        detail=(
            ("seen", f"refused {rate}; {study.control} beside it {pair.control.k} of {pair.control.n}"),
            ("because", "not isolated: an intermittent refusal needs more pairs than this run takes"),
        ),
        confidence=Confidence.MEDIUM if pair.claimed else Confidence.LOW,
        reason=None if pair.claimed else Reason.MIXED,
        evidence=tuple(call.last.id for call in (*seen.calls, *pair.control.calls) if call.last is not None),
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


def _said_nothing(study: Study) -> list[Finding]:
    """429, 5xx, time-outs and redirects say nothing of identity."""
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in study.screened():
        if call.last is not None and not passed(call) and not refused(call):
            made = call.last.attribution
            groups.setdefault((outcome_code(call.last), made and made.layer), []).append(call)
    findings = []
    for calls in groups.values():
        names = list(dict.fromkeys(call.trial.client for call in calls))
        exchange = calls[-1].last
        assert exchange is not None
        findings.append(
            conclude(
                study.case,
                outcome_code(exchange),
                exchange,
                verdict=Verdict.INCONCLUSIVE,
                reason=Reason.TOO_FEW,
                client=names[0] if len(names) == 1 else None,
                observed=Observed(len(calls), len(calls)),
                detail=(
                    ("seen", f"{listed(names)}: {shown(exchange)}"),
                    ("because", "such an answer says nothing of whether the client's identity is accepted"),
                ),
                evidence=tuple(call.last.id for call in calls if call.last is not None),
            )
        )
    return findings


def _let_pass(study: Study, found: list[Finding]) -> list[Finding]:
    """Green is specific: who passed, and proven by what; only where nothing else is to be told."""
    passing = list(dict.fromkeys(call.trial.client for call in study.passing()))
    everybody = not found and len(passing) == len(study.case.clients)
    if not everybody:
        return []
    calls = [call for call in study.passing() if call.last is not None]
    proof = calls[-1].last
    assert proof is not None
    assert is_api_answer(proof)
    return [
        conclude(
            study.case,
            "ok",
            proof,
            observed=Observed(0, len(calls)),
            title=f"{listed(passing)} pass the edge" if len(passing) > 1 else f"{passing[0]} passes the edge",
            detail=(("seen", f"the API's own answer, {shown(proof)}, to a made-up key and an invalid body"),),
            evidence=tuple(call.last.id for call in calls if call.last is not None),
        )
    ]


def bound(_: Case) -> Bound:
    return Bound(CEILING, 2 * CEILING, 5.0)


SPEC = KindSpec(
    flow=identity,
    about="which clients the edge refuses, and for which part of their identity; no key, no inference",
    bound=bound,
    keyed=False,
)
