"""Do the API's own errors reach the customer as it made them?

Five requests that must fail, and one that must not. A wrong key, an unknown model and broken JSON are answered by the
API, in its own form; a wrong path and a wrong method may be answered by the framework it is built with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer
from probes.budget import PROMPT_TOKENS
from probes.kinds.asking import HTTPX, agent, senders, turned_away
from probes.kinds.base_url import MOST, find_base_url, off_path
from probes.kinds.completion import but_out_of_budget
from probes.kinds.conclude import by_outcome, conclude, not_sent
from probes.kinds.in_its_place import in_its_place
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import clients_of, listed, shown
from probes.kinds.wrong_requests import (
    API,
    CONTROL,
    QUESTIONS,
    independent,
    judge,
    opening,
    others,
    proof,
    question,
)
from probes.model import Confidence, Layer, Observed, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from probes.model import Call, Case, Exchange, Finding, Flow, Trial

AGAIN = 2
"""How often an error that came out wrong is asked for again."""
_ON_PATH = frozenset({CONTROL, "bad_key", "malformed"})
"""Answered by the API itself where the base URL is its own."""
_FAILED = frozenset({"unreachable.origin", "server.error"})
"""What an edge says of an origin that is gone: not believed where only one question is answered so."""
_ADVICE = (
    "See whether the origin answers so too: if it does, give its errors the API's form, which SDKs read code and message "
    "from; if not, turn error pages off for the API hostname."
)
_RANK = {
    verdict: rank
    for rank, verdict in enumerate(
        (Verdict.PASS, Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.ERROR, Verdict.FAIL)
    )
}


def error_format(case: Case) -> Flow:
    calls, shut = yield from _opened(case)
    if shut:
        return _shut(case, calls)
    sender = calls[0].trial.client
    answered = {question(call) for call in calls if call.not_sent is None and _complete(call)}
    if answered:
        # A server that is slow to say hello may take any model's name and be as slow again.
        slow = CONTROL in _labels(calls) and CONTROL not in answered
        left = others(case, sender, agent(calls[0].last))
        calls = calls + (
            yield [trial for trial in left if not (slow and trial.label.startswith("unknown_model"))]
        )
    wrong = [call.trial for call in calls if _worth_repeating(call)]
    for _ in range(AGAIN if wrong else 0):
        calls = calls + but_out_of_budget((yield wrong))
    by_question = {label: [c for c in calls if question(c) == label] for label in _labels(calls)}
    found: list[Finding] = []
    if not proof(calls) and (
        missed := [call for call in calls if question(call) in _ON_PATH and off_path(call)]
    ):
        found += yield from find_base_url(case, missed, sender)
    return found + _findings(case, calls, by_question, settled=any(f.code == "wrong_base_url" for f in found))


def _opened(case: Case) -> Generator[Sequence[Trial], list[Call], tuple[list[Call], bool]]:
    """The opening through the first client that is let in, or through every one, and whether the door stayed shut."""
    every: list[Call] = []
    for sender in senders(case):
        calls = yield opening(case, sender)
        every += calls
        asked = [call for call in calls if question(call) == CONTROL] or calls
        if not turned_away(asked):
            return calls, False
    return every, True


def _shut(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """What came instead is no answer to the question; who is refused, and why, is told by identity."""
    asked = [call for call in calls if question(call) == CONTROL] or calls
    last = next(call.last for call in reversed(asked) if call.last is not None)
    names = clients_of(asked)
    return [
        conclude(
            case,
            "probe.blocked",
            last,
            reason=Reason.BLOCKED,
            observed=Observed(len(asked), len(asked)),
            client=names[0] if len(names) == 1 else None,
            title=f"{listed(names)} {'is' if len(names) == 1 else 'are'} refused, so the API's errors could not be asked for",
            detail=(
                (
                    "seen",
                    f"{shown(last)} to {'a good request' if question(asked[0]) == CONTROL else 'a made-up key'}",
                ),
            ),
            next_test="suite identity, which tells who is refused and for what",
            evidence=tuple(call.last.id for call in asked if call.last is not None),
        )
    ]


def _labels(calls: Sequence[Call]) -> list[str]:
    return list(dict.fromkeys(map(question, calls)))


def _complete(call: Call) -> bool:
    return call.last is not None and call.last.status is not None and call.last.error is None


def _worth_repeating(call: Call) -> bool:
    last = call.last
    if last is None or last.status is None:
        return False
    label = question(call)
    return label in QUESTIONS and judge(label, last)[1] in {Verdict.FAIL, Verdict.WARN}


def _findings(
    case: Case, calls: Sequence[Call], by_question: Mapping[str, list[Call]], *, settled: bool
) -> list[Finding]:
    why = next((call.not_sent for call in calls if call.not_sent is not None), None)
    found = [not_sent(case, why, "asking for errors", calls)] if why is not None else []
    if settled:
        return found
    silent = [call for call in calls if call.last is None and call.not_sent is None]
    found += by_outcome(case, silent, "an error")
    spoken = proof(calls)
    if spoken is None:
        return found + _nothing_of_the_api(case, calls)
    if independent(calls):
        return [*found, _one_for_all(case, calls)]
    groups: dict[tuple[object, ...], list[str]] = {}
    good: list[str] = []
    for label, members in by_question.items():
        # What a good request met is the completion's to tell.
        outcome = _outcome(label, members) if label in QUESTIONS else None
        if outcome is not None:
            groups.setdefault(outcome, []).append(label)
        elif label in QUESTIONS and all(call.last is not None for call in members):
            good.append(label)
    found += [_wrong(case, labels, by_question, spoken) for labels in groups.values()]
    # What the dropped question was, the row of what was not asked says; then the whole is not claimed.
    dropped = "unknown_model" if CONTROL in by_question and "unknown_model" not in by_question else None
    return found + ([_fine(case, good, by_question, whole=not groups, dropped=dropped)] if good else [])


def _outcome(label: str, members: Sequence[Call]) -> tuple[object, ...] | None:
    """(code, verdict, layer, product) of a question that came out wrong: told together with others of its kind."""
    judged = [(judge(label, call.last), call.last) for call in members if call.last is not None]
    wrong = [(outcome, last) for outcome, last in judged if outcome[0] != "ok"]
    if not wrong:
        return None
    (code, verdict), last = max(wrong, key=lambda each: _RANK[each[0][1]])
    made = last.attribution
    layer = Layer.EDGE if code == "cached.private" else made.layer if made is not None else Layer.UNKNOWN
    edge = all(e.attribution is not None and e.attribution.layer is Layer.EDGE for _, e in wrong)
    unlikely = verdict is Verdict.WARN or code in _FAILED
    if code == "error.replaced" and any(outcome[0] == "ok" and is_api_answer(e) for outcome, e in judged):
        verdict = Verdict.FAIL  # the API's own answer to the very same request came, too
    if edge and len(wrong) == len(judged) > AGAIN and label in API and unlikely:
        # Each time, and only to this request: it is how the edge tells the API's error.
        code, verdict = "error.replaced", Verdict.FAIL
    return (code, verdict, layer, made.product if made is not None else None)


def _nothing_of_the_api(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Nobody spoke for the API, so nothing can be said of its errors; whether it serves, the completion tells."""
    answered = [call for call in calls if call.last is not None]
    return [
        replace(finding, verdict=Verdict.INCONCLUSIVE, reason=finding.reason or Reason.TOO_FEW)
        for finding in by_outcome(case, answered, "an error")
    ]


def _one_for_all(case: Case, calls: Sequence[Call]) -> Finding:
    every = [call.last for call in calls if call.last is not None]
    good = ", a good one too" if CONTROL in _labels(calls) else ""
    return conclude(
        case,
        "not_measured",
        every[-1],
        reason=Reason.TOO_FEW,
        client=calls[0].trial.client,
        observed=Observed(len(every), len(every)),
        title=f"One answer to every request{good}, so nothing can be said of the API's errors",
        detail=(("seen", f"{shown(every[-1])} to {len(every)} different requests"),),
        next_test="the same requests straight to the origin",
        evidence=tuple(exchange.id for exchange in every),
    )


def _wrong(
    case: Case, labels: Sequence[str], by_question: Mapping[str, list[Call]], spoken: Exchange
) -> Finding:
    outcome = _outcome(labels[0], by_question[labels[0]])
    assert outcome is not None
    code, verdict = str(outcome[0]), Verdict(str(outcome[1]))
    members = {label: [c.last for c in by_question[label] if c.last is not None] for label in labels}
    wrong = {label: [e for e in seen if judge(label, e)[0] != "ok"] for label, seen in members.items()}
    every = [exchange for exchanges in wrong.values() for exchange in exchanges]
    replaced = code == "error.replaced"
    rows = [f"{shown(exchanges[-1])} to {QUESTIONS[label].shown}" for label, exchanges in wrong.items()]
    to = listed([QUESTIONS[label].shown for label in labels])
    named: dict[str, object] = {"title": f"Not the API's own: the answer to {to}"} if replaced else {}
    if replaced and verdict is Verdict.WARN and all(in_its_place(e) is Verdict.WARN for e in every):
        named = {"title": f"In no API's form, whoever wrote it: the answer to {to}", "advice": _ADVICE}
    if code == "cached.private":
        named = {
            "layer": Layer.EDGE,
            "product": None,
            "title": f"A shared cache gives the answer of another to {to}",
        }
    beside = (("control", f"{shown(spoken)} from the API itself in the same case"),) if replaced else ()
    return conclude(
        case,
        code,
        every[-1],
        verdict=verdict,
        observed=Observed(len(every), sum(map(len, members.values()))),
        client=by_question[labels[0]][0].trial.client,
        control=spoken.id if replaced else None,
        variant=every[-1].id if replaced else None,
        detail=(("seen", "; ".join(rows)), *beside),
        confidence=Confidence.MEDIUM if verdict is Verdict.FAIL else Confidence.LOW,
        evidence=tuple(exchange.id for exchange in every),
        **named,
    )


def _fine(
    case: Case,
    good: Sequence[str],
    by_question: Mapping[str, list[Call]],
    *,
    whole: bool,
    dropped: str | None,
) -> Finding:
    answers = {label: [call.last for call in by_question[label] if call.last] for label in good}
    rows = [f"{QUESTIONS[label].shown}: {shown(exchanges[-1])}" for label, exchanges in answers.items()]
    every = [exchange for exchanges in answers.values() for exchange in exchanges]
    only = listed([QUESTIONS[label].shown for label in good])
    return conclude(
        case,
        "ok",
        every[-1],
        client=by_question[good[0]][0].trial.client,
        observed=Observed(0, len(every)),
        title="The API's own errors reach the customer"
        if whole and dropped is None
        else f"Rightly answered: {only}",
        detail=(
            ("seen", "; ".join(rows)),
            *(
                (("not asked", f"{QUESTIONS[dropped].shown}: the server is slow to answer"),)
                if dropped
                else ()
            ),
        ),
        next_test=None,
        evidence=tuple(exchange.id for exchange in every),
    )


def bound(_: Case) -> Bound:
    asked = 1 + (1 + AGAIN) * len(QUESTIONS) + 2
    completions = 2 + 2 * (1 + AGAIN)
    return Bound(asked + MOST, completions * (PROMPT_TOKENS + 1), 3.0)


SPEC = KindSpec(
    flow=error_format,
    about="whether the API's own errors arrive as it made them, and whether a made-up key is refused",
    bound=bound,
    brings=(HTTPX,),
    keyed=False,
)
