"""What is told of a request that fails here, too?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.attribution import is_refusal
from probes.kinds.conclude import conclude
from probes.kinds.reproduction import words
from probes.kinds.reproduction.drift import ADVICE
from probes.kinds.reproduction.outcome import CANNOT, OUTCOME, REPRODUCED
from probes.kinds.reproduction.parts import FAMILY
from probes.kinds.reproduction.reply import paragraph
from probes.kinds.reproduction.rows import (
    PROOF,
    because,
    changed,
    evidence,
    key,
    rated,
    seen,
    times,
)
from probes.kinds.reproduction.sides import reproduced, sides
from probes.kinds.reproduction.study import unanswered
from probes.kinds.words import named
from probes.model import Confidence, Factor, Finding, Layer, Observed, Reason, Verdict, WhoActs
from probes.twins import confounders

if TYPE_CHECKING:
    from probes.kinds.reproduction.experiment import Found
    from probes.kinds.reproduction.refine import Refined
    from probes.kinds.reproduction.rows import Rows
    from probes.kinds.reproduction.study import Study
    from probes.model import Exchange

_AS_THE_RULE_SAYS = "Change what stands at `rule`, for this method and path alone and for every client, then ask again by edgeprobe repro."
_UNANNOUNCED = frozenset({Factor.ACCEPT, Factor.ACCEPT_ENCODING, Factor.HTTP_VERSION})
"""Differ by client, and are no software that it announces."""
_BY_FACTOR = {
    Factor.SIZE: "blocked.size",
    Factor.BODY: "blocked.content",
    Factor.USER_AGENT: "blocked.client",
    Factor.SDK_HEADERS: "blocked.client",
    Factor.ACCEPT: "blocked.client",
    Factor.ACCEPT_ENCODING: "blocked.client",
    Factor.CLIENT: "blocked.client",
    Factor.TLS: "blocked.client",
    Factor.HTTP_VERSION: "blocked.client",
}


def isolated(study: Study, found: Found) -> Finding:
    """The causes, each of which suffices; what else there is to do is of the first."""
    assert study.composer is not None
    every, nothing = frozenset(study.composer.names), frozenset[str]()
    failed, passed = study.failed(every), study.passed(nothing)
    assert failed is not None
    first = found.refined[0]
    factor = words.factor(study, first) if len(found.refined) == 1 else None
    code = _code(failed, factor)
    causes = [words.named(study, one) for one in found.refined]
    tally = study.evidence.of(every)
    fields: dict[str, Any] = {
        "factor": factor,
        "observed": Observed(tally.k, tally.n),
        "control": passed.id if passed is not None else None,
        "variant": failed.id,
        "confounders": _confounders(study, first, failed),
        "title": f"Reproduced: what {_does(failed)} is {' or, by itself, '.join(causes)}",
        "confidence": _confidence(study, found),
        "evidence": evidence(study),
        "reproduce": reproduced(study, first.failing),
        "next_test": _larger(study, next((one.halted for one in found.refined if one.halted), None)),
        **({"retryable": True} if study.evidence.intermittent else {}),
    }
    rows = (
        (OUTCOME, f"{REPRODUCED} {words.score(tally)}"),
        *seen(study, failed, passed),
        *because(study, found, causes),
        *rated(study),
        *key(study),
        *sides(study, found.result, first),
        *named(failed),
        *times(study),
    )
    found_so = conclude(study.case, code, failed, verdict=Verdict.FAIL, **fields)
    return replace(
        found_so, **_to_do(study, found_so, failed, rows, list(zip(found.refined, causes, strict=True)))
    )


def _does(failed: Exchange) -> str:
    end = failed.timeline.end
    if failed.status is None and end is not None and _code(failed, None) == "timeout.first_byte":
        return f"leaves it without an answer for {end:.0f} s"
    return "makes it fail"


def _to_do(
    study: Study, finding: Finding, failed: Exchange, rows: Rows, causes: list[tuple[Refined, str]]
) -> dict[str, Any]:
    """The rules to change where they are the operator's, and what the customer is told."""
    announced = finding.factor not in _UNANNOUNCED
    again = True if study.evidence.intermittent else None
    customer = ("customer", paragraph(failed, finding.code if announced else "blocked", again=again))
    if finding.who_acts is WhoActs.CUSTOMER:
        return {"detail": (*rows, customer)}
    rules = [
        ("rule", changed(study, failed, _code(failed, f), f, said))
        for one, said in causes
        for f in [words.factor(study, one)]
    ]
    more = {"advice": _AS_THE_RULE_SAYS} if is_refusal(failed) else {}
    return {"detail": (*rows, *dict.fromkeys(rules), ("proves it", PROOF), customer), **more}


def unfinished(study: Study, found: Found) -> Finding:
    """It fails here, and asking ended before the cause was proven."""
    assert study.composer is not None
    every = frozenset(study.composer.names)
    failed = study.failed(every)
    assert failed is not None
    left = words.suspects(found.result.suspects or tuple(study.composer.names))
    so_far = [words.named(study, one) for one in found.refined]
    ended = found.result.halted or study.halted or ""
    why = words.halted(ended)
    beside = (
        f"; {' or '.join(so_far)} suffices, and whether something else does, too, is not known"
        if so_far
        else ""
    )
    tally = study.evidence.of(every)
    rows = (
        (OUTCOME, f"{REPRODUCED} {words.score(tally)}"),
        *seen(study, failed, study.passed(frozenset())),
        ("because", f"not isolated: {why}{beside}; suspects left: {left}"),
        *rated(study),
        *named(failed),
        *times(study),
        (
            "customer",
            paragraph(failed, _code(failed, None), again=True if study.evidence.intermittent else None),
        ),
    )
    return conclude(
        study.case, _code(failed, None), failed, verdict=Verdict.INCONCLUSIVE, detail=rows,
        title=f"Reproduced{': it hangs without an answer' if failed.status is None and _code(failed, None) == 'timeout.first_byte' else ''}; which part of the request makes it fail is not isolated",
        observed=Observed(tally.k, tally.n), confidence=Confidence.LOW, evidence=evidence(study),
        reason=_REASONS.get(ended) or (Reason(ended) if ended in set(Reason) else Reason.MIXED),
        next_test=_further(study, ended), advice=_LEFT_OPEN,
    )  # fmt: skip


_REASONS = dict.fromkeys(("tokens", "money", "tokens or money", "time"), Reason.BUDGET)
_LEFT_OPEN = "Look up these times in the logs of the edge and of the servers; the cause is among the suspects that are left."
_LARGER = 120
"""Requests, twice what is asked by default."""
_MORE = {
    "budget": "the same again with --max-requests 120",
    "tokens": "the same again with a larger --max-tokens-total",
    "money": "the same again with a larger --max-usd",
    "tokens or money": "the same again with a larger --max-tokens-total or --max-usd",
}


def _further(study: Study, ended: str) -> str | None:
    return _larger(study, ended) or "the same request with half of these suspects left out by hand"


def _larger(study: Study, ended: str | None) -> str | None:
    """The flag for more of the budget that ended it."""
    return None if ended == "budget" and study.evidence.budget >= _LARGER else _MORE.get(ended or "")


def moved(study: Study, found: Found) -> Finding:
    """What was so at the beginning is not so at the end."""
    assert study.composer is not None
    every, nothing = frozenset(study.composer.names), frozenset[str]()
    failed = study.failed(every)
    assert failed is not None
    tally = study.evidence.of(every)
    if found.gone:
        title = "It failed, and went away by itself while it was looked at"
        said = f"it failed {words.score(tally)}, and does not at the end"
        advice = ADVICE
    else:
        title = "While it was looked at the plain request began to fail as well"
        said = "the plain request passed at first and fails at the end, so nothing is known of the parts"
        advice = "Ask again later or from another network: a rule that counts requests, or is new, may have met the probe itself."
    rows = (
        (OUTCOME, f"{CANNOT}: {said}"),
        *seen(study, failed, study.passed(nothing)),
        *named(failed),
        *times(study),
    )
    return conclude(
        study.case, _code(failed, None), failed, verdict=Verdict.INCONCLUSIVE, reason=Reason.DRIFT, detail=rows,
        title=title, advice=advice, observed=Observed(tally.k, tally.n), confidence=Confidence.LOW,
        evidence=evidence(study),
    )  # fmt: skip


def _code(failed: Exchange, factor: Factor | None) -> str:
    """A refusal by what it is for; what is no refusal, or says more by itself, keeps its own."""
    own = failed.attribution.code if failed.attribution is not None else "blocked"
    if factor is None or not is_refusal(failed) or own in {"challenged", "size.rejected", "headers.rejected"}:
        return own
    return _BY_FACTOR.get(factor, own)


def _confidence(study: Study, found: Found) -> Confidence:
    known = study.composer.every() if study.composer is not None else {}
    stack = any(
        known[name].factor is Factor.TLS for one in found.result.causes for name in one.parts if name in known
    )
    unsure = any(one.halted for one in found.refined) or any(map(unanswered, study.every))
    return Confidence.MEDIUM if study.evidence.intermittent or stack or unsure else Confidence.HIGH


def _confounders(study: Study, refined: Refined, failed: Exchange) -> tuple[str, ...]:
    """What else differs between the smallest request that fails and the plain one, for a cause that is headers alone."""
    assert study.composer is not None
    small, plain = study.failed(refined.failing) or failed, study.passed(frozenset())
    names = [name.removeprefix("header ") for name in refined.cause.parts if name.startswith("header ")]
    names += ["user-agent"] * any("user agent" in name for name in refined.cause.parts)
    if FAMILY in refined.cause.parts:
        return (_OTHER_ADDRESSES,)
    if plain is None or len(names) != len(refined.cause.parts):
        return ()
    return (*confounders(plain, small, names), *_rewritten(study, refined.failing, small))


_OTHER_ADDRESSES = "with the family the address that asks and the one that answers are others, too; each may have rules of its own"
_THEIR_OWN = (
    "its client writes the headers in an order or in capitals of its own, so those could not be varied"
)


def _rewritten(study: Study, question: Any, sent: Exchange) -> tuple[str, ...]:
    """Where the headers were not written as they were to be."""
    two = sent.conditions.get("http_version") == "HTTP/2"
    asked, seen = (
        [name.lower() if two else name for name, _ in headers if name.lower() != "host"]
        for headers in (study.draft(question).headers, sent.request.headers)
    )
    return () if [name for name in seen if name in asked] == asked else (_THEIR_OWN,)


def cannot(study_case: Any, said: str, reason: Reason = Reason.TOO_FEW) -> Finding:
    """Nothing was asked, or nothing answered."""
    rows = ((OUTCOME, f"{CANNOT}: {said}"),)
    return conclude(
        study_case, "not_measured", layer=Layer.PROBE, reason=reason, detail=rows,
        title=f"It could not be found out: {said}",
    )  # fmt: skip
