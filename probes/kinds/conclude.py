"""How does a flow put what it saw into a finding?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.acceptance import apart
from probes.attribution import is_refusal
from probes.endings import broke
from probes.handshakes import distrusts, fault
from probes.kinds.by_proxy import kept_by_proxy
from probes.kinds.by_us import by_us, told_of_us
from probes.model import Confidence, Finding, Layer, NotSent, Observed, Reason, Verdict, WhoActs
from probes.redirects import lost
from probes.refusals import must_pass
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Attribution, Call, Case, Exchange

_BODY_SHOWN = 60
_NAMED = 3
_LOOKED_UP_BY = ("ray", "colo", "zone", "request_id")


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
    if exchange is not None:
        values |= kept_by_proxy(case, exchange) if made is not None and made.code == code else {}
        values["conditions"] = dict(exchange.conditions)
        values["evidence"] = (exchange.id,)
    return Finding(code=code, **(values | fields))


def _title(code: str, exchange: Exchange | None) -> str | None:
    """Of a handshake that failed, by what kept it."""
    why = fault(exchange) if exchange is not None and code == "unreachable.tls" else None
    return why.title if why is not None else None


def _who_acts(code: str, default: WhoActs, made: Attribution | None) -> WhoActs:
    return made.who_acts if made is not None and made.who_acts is not None and made.code == code else default


def not_sent(case: Case, why: NotSent, doing: str) -> Finding:
    """The end of a flow whose trial was not sent."""
    return conclude(
        case,
        "not_measured",
        layer=Layer.PROBE,
        reason=Reason(why),
        title=f"{case.kind} was not measured to its end",
        detail=(("seen", f"a request was not sent while {doing}: {_WHY[why]}"),),
        advice=_DO[why],
    )


_WHY = {
    NotSent.BUDGET: "the budget is used up",
    NotSent.PAUSED: "the server asked for a longer pause than a run waits",
    NotSent.UNAVAILABLE: "two requests in a row got no first byte",
    NotSent.NOT_OWNED: "the target is not marked as owned",
    NotSent.INTERRUPTED: "the run was interrupted",
    NotSent.NOT_RECORDED: "the stored run does not hold it",
}
_DO = {
    NotSent.BUDGET: "Raise the target's budget, or run fewer cases at a time.",
    NotSent.PAUSED: "Run again after the time that the server named in Retry-After.",
    NotSent.UNAVAILABLE: "Find out why nothing answers first; the other findings of this run say how far it got.",
    NotSent.NOT_OWNED: "Mark the target as owned if it is yours.",
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
    calls = [call for call in calls if lost(call) is None]
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


def _outcome(call: Call) -> tuple[object, ...]:
    last = call.last
    if call.not_sent is not None or last is None or last.attribution is None:
        return (call.not_sent, call.raised.type if call.raised else None)
    made = last.attribution
    return (made.layer, made.product, made.code, made.vendor_code)


def _group_finding(case: Case, calls: list[Call], every: Sequence[Call], what: str) -> Finding:
    first, last = calls[0], calls[-1]
    names = tuple(dict.fromkeys(call.trial.client for call in calls))
    if first.not_sent is not None:
        return not_sent(case, first.not_sent, f"asking for {what} with {listed(names)}")
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
    told = _told_otherwise(case, last.last, names, others, what, good=good)
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
    if (ours := told_of_us(exchange, listed(names), duration(exchange.timeline.end or 0.0))) is not None:
        return ours
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
            "next_test": "edgeprobe run identity, which isolates what it is of the client",
        }
    if others and _refused(exchange) and outcome_code(exchange) == "blocked":
        told = {
            "title": f"{listed(names)} {'is' if len(names) == 1 else 'are'} refused before the API, others are not",
            "next_test": "identity, in this run or by itself, which isolates what it is of the client",
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


def named(exchange: Exchange) -> tuple[tuple[str, str], ...]:
    """What the operator can look an answer up by."""
    found = exchange.attribution.extracted if exchange.attribution is not None else {}
    words = [f"{name.replace('_', ' ')} {found[name]}" for name in _LOOKED_UP_BY if found.get(name)]
    return (("look up", ", ".join(words)),) if words else ()


def shown(exchange: Exchange) -> str:
    """An answer in a few words: `403 "error code: 1010" in 12 ms`."""
    seconds = exchange.timeline.headers if exchange.timeline.headers is not None else exchange.timeline.end
    after = f" in {duration(seconds)}" if seconds is not None else ""
    if exchange.status is None:
        said = exchange.error.text if exchange.error is not None else "no answer"
        return f"no answer ({said}){after.replace(' in ', ' after ')}"
    what = _body_in_words(exchange)
    cut = f", then {exchange.error.text}" if exchange.error is not None else ""
    return f"{exchange.status}{f' {what}' if what else ''}{after}{cut}"


def _body_in_words(exchange: Exchange) -> str:
    content_type = (exchange.header("content-type") or "").partition(";")[0].strip().lower()
    if content_type == "text/event-stream":
        return "stream"
    if content_type.endswith("json"):
        return "JSON"
    if content_type == "text/html":
        return "HTML page"
    first = exchange.body_head[: 4 * _BODY_SHOWN].decode("utf-8", "replace").strip().split("\n")[0]
    return f'"{first[:_BODY_SHOWN]}"' if first else "empty body" if exchange.body_bytes == 0 else "body"


def duration(seconds: float) -> str:
    """No more digits than a network measurement bears."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s"


def emulated(case: Case, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A row that says of which of these clients only the headers were tried."""
    imitated = [name for name in names if not case.client(name).genuine]
    return (("emulated", f"{listed(imitated)}: header set only, TLS is ours"),) if imitated else ()


def in_title(case: Case, names: Sequence[str]) -> str:
    """The genuine ones by name, the emulated ones by name where they are one or alone, else by their number."""
    genuine = [name for name in names if case.client(name).genuine]
    others = len(names) - len(genuine)
    if others < 2 or (not genuine and others <= _NAMED):
        return listed(names)
    return listed([*genuine, f"{others} emulated clients"])


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part) if names else "no client"
