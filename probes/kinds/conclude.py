"""How does a flow put what it saw into a finding?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes import next_tests
from probes.acceptance import apart
from probes.attribution import is_refusal
from probes.endings import broke
from probes.handshakes import distrusts, fault
from probes.kinds.by_proxy import kept_by_proxy
from probes.kinds.by_us import by_us, told_of_us, worded
from probes.kinds.words import clients_of, emulated, listed, shown
from probes.model import Confidence, Finding, Layer, NotSent, Observed, Reason, Verdict, WhoActs
from probes.redirects import told_by_outcome
from probes.refusals import must_pass
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Attribution, Call, Case, Exchange

_SOONER = 0.5
"""Of the time that another was waited for in vain, within which an answer shows that the wait is not the request's."""


def conclude(case: Case, code: str, exchange: Exchange | None = None, **fields: Any) -> Finding:
    """A finding of `code`: its row of the vocabulary, then what the exchange was attributed to, then `fields`."""
    row = vocabulary()[code]
    made = exchange.attribution if exchange is not None else None
    values: dict[str, Any] = {
        "verdict": row.verdict,
        "title": _title(code, exchange) or row.title,
        "advice": row.advice,
        "who_acts": _who_acts(code, row.who_acts, made),
        "retryable": row.retryable,
        "case": case.id,
        "kind": case.kind,
        "route": case.route,
        "confidence": Confidence.HIGH,  # of what no exchange is the evidence for, such as that nothing was sent
    }
    if made is not None:
        values |= {
            "layer": made.layer,
            "product": made.product,
            "vendor_code": made.vendor_code,
            "confidence": made.confidence,
            "next_test": made.next_test,
        }
        if made.retryable is not None:
            values["retryable"] = made.retryable
        if made.advice and made.code.partition(".")[0] == code.partition(".")[0]:
            values["advice"] = made.advice
        if exchange is not None and made.code == code:
            values |= worded(case, exchange)
    if exchange is not None:
        values |= kept_by_proxy(case, exchange) if made is not None and made.code == code else {}
        values["conditions"] = dict(exchange.conditions)
        values["evidence"] = (exchange.id,)
    values |= fields
    if values.get("next_test"):
        values["next_test"] = str(next_tests.of_finding(values["next_test"], case))
    return Finding(code=code, **values)


def _title(code: str, exchange: Exchange | None) -> str | None:
    """Of a handshake that failed, by what kept it."""
    why = fault(exchange) if exchange is not None and code == "unreachable.tls" else None
    return why.title if why is not None else None


def _who_acts(code: str, default: WhoActs, made: Attribution | None) -> WhoActs:
    return made.who_acts if made is not None and made.who_acts is not None and made.code == code else default


def not_sent(case: Case, why: NotSent, doing: str, calls: Sequence[Call] = ()) -> Finding:
    """The end of a flow whose trial was not sent; one of `calls` may know more of why."""
    closer = next((str(c.conditions["because"]) for c in calls if c.conditions.get("because")), None)
    out_of_time = why is NotSent.BUDGET and closer is not None
    overran = any(c.conditions.get("overran") for c in calls)
    return conclude(
        case,
        "not_measured",
        layer=Layer.PROBE,
        reason=Reason(why),
        title=f"{case.kind} was not measured to its end",
        detail=(
            (
                "seen",
                f"a request was not sent while {doing}: {closer or (_OVERRAN if overran else _WHY[why])}",
            ),
        ),
        advice=_MORE_TIME if out_of_time else _CAP if overran else _DO[why],
    )


_MORE_TIME = "Ask for this alone, with a suite that bounds it by no seconds of its own, or raise `seconds` in the suite's row."
_OVERRAN = "the server counted more tokens than were asked for, so nothing more is bought; the budget itself is not used up"
_CAP = (
    "Have the server honour the cap on output tokens, or count tokens right; a larger budget changes nothing."
)
_WHY = {
    NotSent.BUDGET: "the budget is used up",
    NotSent.PAUSED: "the server asked for a longer pause than a run waits",
    NotSent.UNAVAILABLE: "two requests in a row got no first byte",
    NotSent.NOT_OWNED: "the target is not marked as owned (owned: true, --owned)",
    NotSent.INTERRUPTED: "the run was interrupted",
    NotSent.NOT_RECORDED: "the stored run does not hold it",
}
_DO = {
    NotSent.BUDGET: "Raise the target's budget, or run fewer cases at a time.",
    NotSent.PAUSED: "Run again after the time that the server named in Retry-After.",
    NotSent.UNAVAILABLE: "Find out why nothing answers first; the other findings of this run say how far it got.",
    NotSent.NOT_OWNED: "Mark the target as owned if it is yours: owned: true in its file, or --owned.",
    NotSent.INTERRUPTED: "Run it again and let it end.",
    NotSent.NOT_RECORDED: "Run it against the server again; what was stored does not answer this question.",
}


def outcome_code(exchange: Exchange) -> str:
    """The finding code of one exchange; `blocked` where nothing more is known."""
    return exchange.attribution.code if exchange.attribution is not None else "blocked"


def by_outcome(case: Case, calls: Sequence[Call], what: str) -> list[Finding]:
    """One finding per kind of outcome of calls that should all be good; each names its clients.

    A failure is told with its k of n, and a call that was not sent as not measured. What a client lost by following a
    redirect is told of every case (`passive`), and what came after it says nothing more.
    """
    calls = told_by_outcome(calls)
    groups: dict[tuple[object, ...], list[Call]] = {}
    failed = {call.trial.client for call in calls if not is_good(call)}
    for call in calls:
        if not (is_good(call) and call.trial.client in failed):
            key = (*_outcome(call), apart(case.target, call.trial.client) if not is_good(call) else None)
            groups.setdefault(key, []).append(call)
    return [_group_finding(case, members, calls, what) for members in groups.values()]


def is_good(call: Call) -> bool:
    """It got what was asked for."""
    return call.last is not None and vocabulary()[outcome_code(call.last)].verdict is Verdict.PASS


def came_whole(call: Call) -> bool:
    """It got all that was asked for, though perhaps without the formality behind it, or with a character in doubt."""
    last = call.last
    if is_good(call) or last is None or last.attribution is None:
        return is_good(call)
    return outcome_code(last) == "stream.no_end" or bool(last.attribution.extracted.get("maybe"))


def _outcome(call: Call) -> tuple[object, ...]:
    last = call.last
    if call.not_sent is not None or last is None or last.attribution is None:
        return (call.not_sent, call.raised.type if call.raised else None)
    made = last.attribution
    return (made.layer, made.product, made.code, made.vendor_code)


def _group_finding(case: Case, calls: list[Call], every: Sequence[Call], what: str) -> Finding:
    first, last = calls[0], calls[-1]
    names = clients_of(calls)
    if first.not_sent is not None:
        return not_sent(case, first.not_sent, f"asking for {what} with {listed(names)}", calls)
    client = names[0] if len(names) == 1 else None
    if last.last is None:
        said = f"{first.raised.type}: {first.raised.text}" if first.raised else "nothing"
        return conclude(
            case, "client.guard", layer=Layer.CLIENT, client=client, confidence=Confidence.HIGH,
            title=f"{listed(names)} refused to send", detail=(("seen", said),),
        )  # fmt: skip
    code, good = outcome_code(last.last), is_good(last)
    asked = sum(call.trial.client in names and call.not_sent is None for call in every)
    others = sorted({call.trial.client for call in every if is_good(call)} - set(names))
    rows = [("seen", f"{shown(last.last)} through {listed(names)}")]
    rows += _kept(last.last)
    if not good and others:
        rows.append(("beside", f"{listed(others)} got what they asked for, with the same key and request"))
    ours = by_us(last.last)
    sooner = [name for name in others if _took(every, name) <= _SOONER * (last.last.timeline.end or 0.0)]
    told = told_of_us(case, last.last, names, sooner) if not good else {}
    told = told or _told_otherwise(case, last.last, names, others, what, good=good)
    if _passed_later(calls, every):
        told["verdict"] = Verdict.WARN
        rows.append(("then", "the same request was answered as it should be, each time that it was repeated"))
    return conclude(
        case,
        told.pop("code", code),
        last.last,
        client=client,
        observed=Observed(0 if good else len(calls), asked),
        detail=(*rows, *emulated(case, names), *(_as_the_caller_saw_it(calls) if not (good or ours) else ())),
        evidence=tuple(call.last.id for call in calls if call.last is not None),
        **told,
    )


def _took(calls: Sequence[Call], name: str) -> float:
    """Until the slowest answer to that client was whole."""
    return max(
        (call.last.timeline.end or 0.0 for call in calls if call.trial.client == name and call.last),
        default=0.0,
    )


def _passed_later(calls: Sequence[Call], every: Sequence[Call]) -> bool:
    """Each client was without a connection once, and got what it asked for whenever it asked again."""
    names = [call.trial.client for call in calls]
    if len(set(names)) < len(names) or not all(call.last is not None and broke(call.last) for call in calls):
        return False
    again = {name: [c for c in every if c.trial.client == name and c not in calls] for name in names}
    return all(later and all(map(is_good, later)) for later in again.values())


def _kept(exchange: Exchange) -> list[tuple[str, str]]:
    mark = exchange.attribution.extracted.get("cache") if exchange.attribution is not None else None
    return [("because", f"{mark}: a shared cache gave the answer to an earlier request")] if mark else []


def _told_otherwise(
    case: Case, exchange: Exchange, names: Sequence[str], others: Sequence[str], what: str, *, good: bool
) -> dict[str, Any]:
    """Where a finding is not what its exchange alone would make it."""
    if good:
        return {"title": f"{what} is good through {listed(names)}"}
    if others and distrusts(exchange):
        return {
            "code": "client.trust",
            "layer": Layer.CLIENT,
            "who_acts": WhoActs.CUSTOMER,
            "next_test": "where this client looks for authorities (SSL_CERT_FILE, CURL_CA_BUNDLE, the system's store)",
        }
    told: dict[str, Any] = {}
    if others and exchange.status in {401, 403} and not is_refusal(exchange):
        # Not the key: it is the same. An API's form is no proof of the API, a WAF can write it, too.
        told = {
            "code": "blocked.client",
            "layer": Layer.UNKNOWN,
            "product": None,
            "confidence": Confidence.LOW,
            "title": f"{listed(names)} {'is' if len(names) == 1 else 'are'} refused where others are let in",
            "next_test": "suite identity, which isolates what it is of the client",
        }
    if others and _refused(exchange) and outcome_code(exchange) == "blocked":
        told = {
            "title": f"{listed(names)} {'is' if len(names) == 1 else 'are'} refused before the API, others are not",
            "next_test": "suite identity, which isolates what it is of the client",
        }
    if told or _refused(exchange):
        if not any(must_pass(case.client(name), case.target) for name in names):
            told["verdict"] = Verdict.WARN
        elif not others:
            told |= {"verdict": Verdict.INCONCLUSIVE, "reason": Reason.BLOCKED}
    return told


def _refused(exchange: Exchange) -> bool:
    """By an answer: a reset here need not be for who asked."""
    return exchange.status is not None and is_refusal(exchange)


def _as_the_caller_saw_it(calls: Sequence[Call]) -> tuple[tuple[str, str], ...]:
    """What an SDK showed its user: often less than the wire, and for a 200 that is wrong, nothing at all."""
    met = {c.trial.client: c.raised for c in calls if c.raised is not None and c.raised.type != "curl"}
    return tuple(("caller", f"{name}: {raised.type}: {raised.text[:200]}") for name, raised in met.items())
