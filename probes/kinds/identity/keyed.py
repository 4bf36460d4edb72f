"""Does the key change who is refused?

Asked where a key is configured, with the same invalid body, so that it costs no tokens: an edge may look at requests
with a key alone, or only at those without one that it knows.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.attribution import is_refusal
from probes.kinds.conclude import conclude, not_sent, outcome_code
from probes.kinds.identity.screen import unconfirmed
from probes.kinds.identity.study import evidence, passed, refused
from probes.kinds.words import in_title, listed, named, shown
from probes.model import Ask, Confidence, Factor, Layer, NotSent, Observed, Reason, Verdict
from probes.twins import REPEATS, Twin, confounders, unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.identity.study import Study
    from probes.model import Call, Exchange, Finding, Trial

    Step = Generator[Sequence[Trial], list[Call], list[Finding]]

_KEYS = ("authorization", "x-api-key")


def keyed(study: Study) -> Step:
    """What only the configured key is refused for, among genuine clients that pass with a made-up one."""
    names = [
        client.name
        for client in study.case.clients
        if (client.genuine or client.name == study.control) and client.name not in study.failing()
    ]
    if not (has_key(study) and names) or study.left < len(names) + 2 * REPEATS:
        return []
    if not study.affords(len(names)):
        study.left_out.append("with the configured key")
        return []
    calls = yield from study.together([_with_key(study, name) for name in names])
    group = [call for call in calls if refused(call)]
    why = unsent(calls)
    if not group and any(call.conditions.get("because") for call in calls if call.not_sent is NotSent.BUDGET):
        study.left_out.append("with the configured key")
        return []
    if why is not None or not group:
        name = study.representative(group) if group else ""
        told = [unconfirmed(study, group, name, Reason(why))] if group and why is not None else []
        return told or (
            [not_sent(study.case, why, "asking with the configured key", calls)] if why is not None else []
        )
    scope = study.ranked([call.trial.client for call in group])
    others = study.ranked([call.trial.client for call in calls if passed(call)])
    pair = yield from study.twin(
        study.trial("key", scope[0], "made_up"), _with_key(study, scope[0], "target")
    )
    if pair.unsent is not None:
        return [unconfirmed(study, group, scope[0], Reason(pair.unsent))]
    return [_refused(study, scope, others, pair)]


def has_key(study: Study) -> bool:
    """And has not gone with every request already."""
    return study.case.keyed and study.case.target.key_env is not None and study.key == "made_up"


def _with_key(study: Study, name: str, side: str | None = None) -> Trial:
    made_up = study.trial("key", name, side)
    assert isinstance(made_up.request, Ask)
    return replace(made_up, request=replace(made_up.request, key="target"))


def exempts(study: Study, name: str) -> Generator[Sequence[Trial], list[Call], Twin | None]:
    """A client refused with a made-up key, against the same with the configured one; `None` where that is not asked."""
    if not has_key(study) or study.left < 2 * REPEATS:
        return None
    made_up, target = study.trial("key", name, "made_up"), _with_key(study, name, "target")
    control, variant = yield from study.cells([target, made_up])
    return Twin(control, variant)


def in_words(pair: Twin | None) -> tuple[tuple[str, str], ...]:
    """What the configured key changed for a client that is refused with a made-up one."""
    if pair is None or not pair.control.n:
        return ()
    k, n = pair.control.k, pair.control.n
    if pair.claimed:
        return (("key", f"with the configured key the same request is let pass, {n - k} of {n}"),)
    return (("key", f"refused with the configured key{', too' if k == n else ''}: {k} of {n}"),)


def _refused(study: Study, scope: list[str], others: list[str], pair: Twin) -> Finding:
    variant, control = _last(pair.variant.calls), _last(pair.control.calls)
    assert variant is not None
    claimed = pair.claimed
    must_pass = any(study.must_pass(name) for name in scope)
    let_pass = pair.control.n - pair.control.k
    with_made_up = f"{shown(control)}, " if control is not None else ""
    said = f"{shown(variant)} with the configured key, {pair.variant.k} of {pair.variant.n}; "
    said += f"with a made-up key {with_made_up}let pass {let_pass} of {pair.control.n}"
    return conclude(
        study.case,
        _code(variant, alone=bool(others)),
        variant,
        **_layer(variant, alone=bool(others)),
        verdict=Verdict.FAIL if must_pass else Verdict.WARN,
        client=scope[0] if others or len(scope) == 1 else None,
        factor=Factor.KEY if claimed else None,
        observed=Observed(pair.variant.k, pair.variant.n),
        control=control.id if control is not None else None,
        variant=variant.id,
        confounders=_confounders(control, variant),
        title=f"{in_title(study.case, scope)} {'is' if len(scope) == 1 else 'are'} refused with the configured key",
        detail=(("seen", said), ("because", _because(others, claimed=claimed)), *named(variant)),
        confidence=Confidence.MEDIUM if claimed else Confidence.LOW,
        next_test="the same request with another key of the same account, and with one of another account",
        evidence=evidence((*pair.variant.calls, *pair.control.calls)),
    )


def _because(others: Sequence[str], *, claimed: bool) -> str:
    if not claimed:
        return "not isolated: the answers with the one key and the other are mixed"
    if others:
        are = "is" if len(others) == 1 else "are"
        return f"the key together with the client: {listed(others)} {are} let pass with it, and each client without it"
    return (
        "the key alone: no other part of the request differs. Either the key's own rights, project or allowed sources, "
        "or a rule that looks at requests with this key"
    )


def _code(variant: Exchange, *, alone: bool) -> str:
    """`alone`: others with the same key are let pass, so that it is not the key's rights."""
    code = outcome_code(variant)
    if code == "challenged" or (not alone and not is_refusal(variant)):
        return code
    return "blocked.client" if alone else "blocked"


def _layer(variant: Exchange, *, alone: bool) -> dict[str, object]:
    """Of a 403 in the API's form that only some clients get a WAF may be the author, too."""
    written = variant.status == HTTPStatus.FORBIDDEN and not is_refusal(variant)
    return {"layer": Layer.UNKNOWN, "product": None} if written and alone else {}


def _confounders(control: Exchange | None, variant: Exchange) -> tuple[str, ...]:
    return confounders(control, variant, _KEYS) if control is not None else ()


def _last(calls: Sequence[Call]) -> Exchange | None:
    return next((call.last for call in reversed(calls) if call.last is not None), None)
