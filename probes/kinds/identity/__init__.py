"""Is a customer refused because of the software it uses, and which part of that software's identity is it?

Needs no valid key and no inference: every request carries a made-up key and a body that is invalid by type, so the
API's own 401 or 400 proves that the edge let the client pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.attribution import is_refusal
from probes.budget import PROMPT_TOKENS
from probes.credentials import made_up_key
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.identity.hanging import proven, told_of_hanging
from probes.kinds.identity.intermittent import intermittent
from probes.kinds.identity.isolate import isolate
from probes.kinds.identity.keyed import exempts, in_words, keyed
from probes.kinds.identity.load import REQUESTS
from probes.kinds.identity.nobody import whose
from probes.kinds.identity.screen import screen, tainted, unconfirmed
from probes.kinds.identity.sizes import sizes
from probes.kinds.identity.study import CEILING, Study, evidence, outcome, passed, refused
from probes.kinds.identity.untold import said_nothing
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import emulated, in_title, listed, named, shown
from probes.model import Confidence, Layer, Observed, Reason, Reproduce, Verdict
from probes.twins import REPEATS, Side, Twin, side

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.identity.suspect import Isolation
    from probes.model import Call, Case, Exchange, Finding, Flow, Trial

    Step = Generator[Sequence[Trial], list[Call], list[Finding]]


def identity(case: Case) -> Flow:
    study = Study(case)
    ended = yield from screen(study)
    if ended is not None:
        return ended
    findings: list[Finding] = []
    for group in study.groups():
        found = yield from _one_group(study, group)
        if study.tainted:
            return [*findings, tainted(study)]
        findings += found
    findings += yield from keyed(study)
    findings += yield from sizes(study)
    return findings + told_of_hanging(study) + said_nothing(study, but=proven(study)) + _let_pass(study)


# --- confirm and isolate ---------------------------------------------------------------------------------


def _one_group(study: Study, group: list[Call]) -> Step:
    """Clients refused alike: one is confirmed and isolated, the others are sent once more and are its scope."""
    name = study.representative(group)
    if study.room() < 2 * REPEATS + len(group):
        return [unconfirmed(study, group, name, Reason.BUDGET)]
    control = study.trial("confirm", study.control, "control")
    screened = [call for call in study.seen if call.trial.client == name]
    doubtful = any(passed(call) for call in screened)
    pair = yield from study.twin(control, study.trial("confirm", name, "variant"), doubtful=doubtful)
    if pair.unsent is not None:
        return [unconfirmed(study, group, name, Reason(pair.unsent))]
    others = [call.trial.client for call in group if call.trial.client != name]
    again = yield from study.together([study.trial("confirm", other) for other in others])
    scope = [name, *study.ranked([call.trial.client for call in again if refused(call)])]
    seen = side([*screened, *pair.variant.calls], outcome)
    if not (pair.claimed and seen.failed):
        return [intermittent(study, name, pair, seen)]
    if (astray := _another_way(study, name, pair, seen)) is not None:
        return [astray]
    isolation = yield from isolate(study, name, pair)
    scope, others = yield from _of_one_cause(study, scope, isolation)
    key = yield from exempts(study, name)
    # A rule that has begun to count us meanwhile would look like one against the client: the control is asked last.
    last = yield from study.one(study.trial("confirm", study.control))
    if last.not_sent is not None:
        return [unconfirmed(study, group, name, Reason(last.not_sent))]
    told = [_refused(study, scope, pair, seen, isolation, key)]
    rest = [call for call in group if call.trial.client in others]
    return told + ((yield from _one_group(study, rest)) if rest else [])


def _of_one_cause(
    study: Study, scope: list[str], isolation: Isolation
) -> Generator[Sequence[Trial], list[Call], tuple[list[str], list[str]]]:
    """Who of the clients refused alike is let pass by what let the first one pass, and who is not: theirs is another."""
    cure = isolation.cure
    asked = [name for name in scope[1:] if study.case.client(name).edits]
    if cure is None or study.room() < len(asked) + REPEATS:
        return scope, []
    calls = yield from study.together([study.trial("scope", name, edits=cure) for name in asked])
    still = [call.trial.client for call in calls if refused(call)]
    return [name for name in scope if name not in still], still


def _refused(
    study: Study, scope: list[str], pair: Twin, seen: Side, isolation: Isolation, key: Twin | None
) -> Finding:
    name = scope[0]
    variant, control = _last(pair.variant), _last(pair.control)
    code = outcome_code(variant)
    passing = study.ranked(list({call.trial.client for call in study.passing()} - study.failing()))
    exempt = key is not None and key.claimed
    must_pass = any(study.must_pass(client) for client in scope) and not exempt
    let_pass = f"let pass {pair.control.n - pair.control.k} of {pair.control.n}"
    beside = f"{study.control} with the same request in the same minute: {shown(control)}, {let_pass}"
    pass_ = f"{in_title(study.case, passing)} pass{'es' if len(passing) == 1 else ''}"
    return conclude(
        study.case,
        code if code == "challenged" else "blocked.client",
        variant,
        **_layer_by_shape(variant),
        verdict=Verdict.FAIL if must_pass else Verdict.WARN,
        client=name,
        factor=isolation.factor,
        observed=Observed(seen.k, seen.n),
        control=isolation.control or control.id,
        variant=isolation.variant or variant.id,
        confounders=isolation.confounders,
        title=f"{in_title(study.case, scope)} {'is' if len(scope) == 1 else 'are'} refused {_where(variant)}"
        + (" unless the key is known" if exempt else ""),
        detail=(
            ("seen", f"{shown(variant)}, {seen.k} of {seen.n}; {beside}"),
            *isolation.detail,
            *in_words(key),
            ("so", f"{_locked_out(scope, exempt=exempt)}; {pass_}"),
            *emulated(study.case, scope),
            *named(variant),
        ),
        confidence=isolation.confidence,
        reason=isolation.reason,
        next_test=isolation.next_test or whose(variant),
        evidence=evidence((*seen.calls, *pair.control.calls)),
        reproduce=_with_own_key(study, isolation.reproduce),
    )


def _with_own_key(study: Study, shown_by: Reproduce | None) -> Reproduce | None:
    """A made-up key would show only how unknown keys are turned away; the configured one is never written out."""
    if shown_by is None or study.key == "made_up":
        return shown_by
    return Reproduce(shown_by.command.replace(made_up_key(study.case.target.api), "YOUR_KEY"))


def _locked_out(scope: list[str], *, exempt: bool) -> str:
    if exempt:
        return f"a customer on {listed(scope)} whose key is wrong or has expired is not told so"
    return f"every customer on {listed(scope)} is locked out"


def _last(side: Side) -> Exchange:
    exchange = side.calls[-1].last
    assert exchange is not None
    return exchange


def _where(refusal: Exchange) -> str:
    if not is_refusal(refusal):
        return "with an answer in the API's own form"
    at_edge = refusal.attribution is not None and refusal.attribution.layer is Layer.EDGE
    return "at the edge" if at_edge else "before the API"


def _layer_by_shape(refusal: Exchange) -> dict[str, object]:
    """A 403 that only some clients get is nobody's by its JSON alone: a WAF can write that, too."""
    return {} if is_refusal(refusal) else {"layer": Layer.UNKNOWN, "product": None}


def _another_way(study: Study, name: str, pair: Twin, seen: Side) -> Finding | None:
    """Where the refused client went through a proxy and the control did not, the proxy may be who refuses."""
    variant, control = _last(pair.variant), _last(pair.control)
    if variant.conditions.get("proxy") == control.conditions.get("proxy"):
        return None
    proxied, direct = (name, study.control) if variant.conditions.get("proxy") else (study.control, name)
    return conclude(
        study.case,
        "blocked",
        variant,
        layer=Layer.UNKNOWN,
        product=None,
        verdict=Verdict.INCONCLUSIVE,
        reason=Reason.MIXED,
        client=name,
        observed=Observed(seen.k, seen.n),
        title=f"{name} is refused, but not on the control's way",
        detail=(
            ("seen", f"{shown(variant)}, {seen.k} of {seen.n}; {study.control}: {shown(control)}"),
            ("because", f"not isolated: {proxied} goes through a proxy of this machine, {direct} does not"),
        ),
        confidence=Confidence.LOW,
        next_test="every client the same way: --no-env-proxy, or --proxy URL",
        evidence=evidence((*seen.calls, *pair.control.calls)),
    )


# --- the rest --------------------------------------------------------------------------------------------


def _let_pass(study: Study) -> list[Finding]:
    """Green is specific: who passed each time, and proven by what."""
    failing = study.failing()
    calls = [call for call in study.passing() if call.trial.client not in failing]
    names = study.ranked(list({call.trial.client for call in calls}))
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
            title=f"{in_title(study.case, names)} pass{'es' if len(names) == 1 else ''} the edge",
            detail=(
                ("seen", f"the API's own answer, {shown(proof)}, to {study.to_what}"),
                *_strange(study),
                *_left_out(study),
                *emulated(study.case, names),
            ),
            evidence=evidence(calls),
        )
    ]


def _strange(study: Study) -> list[tuple[str, str]]:
    last = study.strange[-1].last if study.strange else None
    said = "which tells nothing of who is asking; so the configured key was sent"
    return [("key", f"a made-up one got {shown(last)}, {said}")] if last is not None else []


def _left_out(study: Study) -> tuple[tuple[str, str], ...]:
    what = list(dict.fromkeys(study.left_out))
    return (("not asked", f"{listed(what)}: the server answers slowly, or not at all"),) if what else ()


def bound(case: Case) -> Bound:
    requests = CEILING + (REQUESTS if case.params["sizes"] else 0)
    return Bound(requests, 2 * requests + PROMPT_TOKENS, 10.0 if case.params["sizes"] else 5.0)


SPEC = KindSpec(
    flow=identity,
    about="which clients the edge refuses, and for which part of their identity; no key, no inference",
    bound=bound,
    defaults={"repeats": 3, "patience": 10.0, "sizes": [], "upload": 10_000_000},
    limits={
        "repeats": (1, 20),
        "patience": (0.1, 3600),
        "sizes": (2048, 10_000_000),
        "upload": (4096, 100_000_000),
    },
    keyed=False,
)
