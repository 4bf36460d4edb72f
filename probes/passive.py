"""What is to be said of every exchange, whatever the question was?"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.budget import over_cap, worst_case
from probes.costs import COUNTED_APART
from probes.inner_names import inner_names
from probes.kinds.conclude import conclude, is_good, outcome_code
from probes.kinds.words import clients_of, shown
from probes.model import Confidence, Figure, Layer, Observed, Verdict
from probes.redirected import redirected
from probes.response import ABSENT, Response
from probes.shared_cache import is_private, kept_by

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from probes.model import Call, Case, Exchange, Finding

_NOTICE = 14.0
"""Days."""
_LIMITED = "ratelimited"
_NAMED = 6


def passive(case: Case, calls: Sequence[Call], told: Collection[str] = ()) -> list[Finding]:
    """Findings that the case's calls hold beside the answer to its question; `told`: the codes of that answer."""
    return [
        *redirected(case, calls),
        *_leaks(case, calls),
        *_inner(case, calls),
        *_cached(case, calls),
        *_expiring(case, calls),
        *([] if "body.early_200" in told else _early(case, calls)),
        *_over_cap(case, calls),
        *_limited(case, calls, told),
    ]


def _leaks(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Who wrote a body, its attribution says; a header may be anybody's on the way."""
    echoing = [(call, ex) for call in calls for ex in call.exchanges if ex.conditions.get("secret_echoed")]
    if not echoing:
        return []
    exchange = echoing[0][1]
    where = exchange.conditions["secret_echoed"]
    names = clients_of([call for call, _ in echoing])
    whose = {} if where == "body" else {"layer": Layer.UNKNOWN, "product": None, "vendor_code": None}
    seen = f"the secret that was sent came back in the {where} of a response ({exchange.status}), over {_transport(exchange)}"
    return [
        conclude(
            case,
            "leak.secret_echoed",
            exchange,
            client=_alone(names, calls),
            observed=Observed(len(echoing), sum(len(call.exchanges) for call in calls)),
            detail=(("seen", seen),),
            confidence=Confidence.HIGH,
            next_test="the same request straight to the origin: does it repeat the secret, too?",
            evidence=tuple(ex.id for _, ex in echoing),
            **whose,
        )
    ]


def _inner(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Private addresses and inner host names, each once, with where it stood first."""
    shown: dict[str, tuple[str, Exchange]] = {}
    holding: dict[str, Call] = {}
    for call in calls:
        for exchange in call.exchanges:
            for where, name in inner_names(exchange):
                shown.setdefault(name, (where, exchange))
                holding[exchange.id] = call
    if not shown:
        return []
    exchange = next(iter(shown.values()))[1]
    names = clients_of(holding.values())
    said = [f"{name} in {where}" for name, (where, _) in shown.items()]
    more = f" and {len(said) - _NAMED} more" if len(said) > _NAMED else ""
    return [
        conclude(
            case,
            "leak.internal_address",
            exchange,
            layer=Layer.UNKNOWN,
            product=None,
            vendor_code=None,
            client=_alone(names, calls),
            observed=Observed(len(holding), sum(len(call.exchanges) for call in calls)),
            detail=(
                ("seen", f"{'; '.join(said[:_NAMED])}{more}"),
                ("answer", f"with status {exchange.status}"),
            ),
            confidence=Confidence.HIGH,
            next_test="the same request straight to the origin: is the name in its answer, too?",
            evidence=tuple(holding),
        )
    ]


def _alone(names: Sequence[str], calls: Sequence[Call]) -> str | None:
    """The one client that met it where another was answered without: what whoever asks meets, is nobody's own."""
    answered = {call.trial.client for call in calls if call.last is not None and call.last.status is not None}
    return names[0] if len(names) == 1 and answered - set(names) else None


def _transport(exchange: Exchange) -> str:
    return "https" if exchange.request.url.startswith("https:") else "plain http, in clear"


def _over_cap(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """The budget reserves what a request may cost at the most; this server charges more."""
    above = [(call, used) for call in calls if (used := over_cap(call.trial, call)) is not None]
    if not above:
        return []
    call, (input_tokens, output_tokens) = above[0]
    reserved = worst_case(call.trial)
    said = f"{input_tokens:,} input and {output_tokens:,} output tokens where at most {reserved[0]:,} and {reserved[1]:,} were reserved"
    stopped = ("so", "nothing more is sent in this run: its budget could not be kept")
    kept = all(used[1] <= worst_case(call.trial)[1] + COUNTED_APART for call, used in above)
    return [
        conclude(
            case,
            "usage.over_cap",
            call.last,
            client=call.trial.client,
            observed=Observed(len(above), len(calls)),
            detail=(("seen", said), *([_LONGER] if kept else []), stopped),
            confidence=Confidence.HIGH,
            evidence=tuple(call.last.id for call, _ in above if call.last is not None),
            **({"advice": _COUNT} if kept else {}),
        )
    ]


_LONGER = (
    "because",
    "the answers kept to their caps; the prompts were counted as longer than texts of their size mostly are",
)
_COUNT = (
    "Ask the engine itself how many tokens such a prompt has: where as many, the model's vocabulary splits English "
    "finely; where fewer, something on the way adds to the prompt, and customers pay for it."
)


def _cached(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """An answer to one user that a shared cache says it served; what was proven to be another's, the case tells."""
    asked = [call for call in calls if not (_made_up(call) and is_good(call))]
    seen = [e for call in asked for e in call.exchanges if e.status is not None and is_private(e)]
    seen = [e for e in seen if outcome_code(e) != "cached.private"]
    found = [(e, mark) for e in seen if (mark := kept_by(e)) is not None]
    if not found:
        return []
    exchange, mark = found[-1]
    return [
        conclude(
            case,
            "cached.private",
            exchange,
            verdict=Verdict.WARN,
            # Through a proxy of our own side the mark may be its own.
            layer=Layer.UNKNOWN if exchange.conditions.get("proxy") else Layer.EDGE,
            product=None,
            observed=Observed(len(found), len(seen)),
            detail=(
                ("seen", f"{mark} on the answer to a {exchange.request.method} that carries a key"),
                ("so", "another user may be given it; that was not seen here"),
            ),
            confidence=Confidence.MEDIUM,
            next_test="the same request with another key: is the answer the same to the byte?",
            evidence=tuple(e.id for e, _ in found),
        )
    ]


def _made_up(call: Call) -> bool:
    return getattr(call.trial.request, "key", None) == "made_up"


def _expiring(case: Case, calls: Sequence[Call]) -> list[Finding]:
    dated = [
        (left, e)
        for call in calls
        for e in call.exchanges
        if isinstance(left := (e.conditions.get("tls") or {}).get("days_left"), int | float)
        and (e.error is None or e.error.kind != "tls")
    ]
    soon = [(left, e) for left, e in dated if left < _NOTICE]
    if not soon:
        return []
    left, exchange = min(soon, key=lambda each: each[0])
    issuer = exchange.conditions["tls"].get("issuer")
    return [
        conclude(
            case,
            "tls.expiring",
            exchange,
            layer=Layer.TLS,
            product=None,
            observed=Observed(len(soon), len(dated)),
            detail=(("seen", f"{left:.1f} days are left of the certificate issued by {issuer}"),),
            figures={"days_left": Figure(left, "d", len(soon))},
            confidence=Confidence.HIGH,
            evidence=tuple(e.id for _, e in soon),
        )
    ]


def _early(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """White space before the JSON of an answer that is no stream, sent to keep the connection alive."""
    whole = [
        e for call in calls for e in call.exchanges if e.status == HTTPStatus.OK and not e.request.stream
    ]
    early = [e for e in whole if e.body_head[:1].isspace() and Response.of(e).document is not ABSENT]
    if not early:
        return []
    last = early[-1]
    filled = len(last.body_head) - len(last.body_head.lstrip())
    return [
        conclude(
            case,
            "body.early_200",
            last,
            layer=Layer.UNKNOWN,
            product=None,
            observed=Observed(len(early), len(whole)),
            detail=(
                ("seen", f"{filled} byte{'s' if filled > 1 else ''} of white space before the JSON"),
                (
                    "so",
                    "an error that comes later still says 200, and the time to the first byte says nothing",
                ),
            ),
            confidence=Confidence.HIGH,
            next_test=None,
            evidence=tuple(e.id for e in early),
        )
    ]


def _limited(case: Case, calls: Sequence[Call], told: Collection[str]) -> list[Finding]:
    """A rate limit that the case's answer says nothing of, such as one met by a question beside the case's own."""
    if any(code.startswith(_LIMITED) for code in told):
        return []
    limited = [
        e for call in calls for e in call.exchanges if outcome_code(e).startswith(_LIMITED) and e.status
    ]
    if not limited:
        return []
    last = limited[-1]
    return [
        conclude(
            case,
            outcome_code(last),
            last,
            client=next(call.trial.client for call in calls if last in call.exchanges),
            observed=Observed(len(limited), len(limited)),
            detail=(("seen", shown(last)),),
            evidence=tuple(e.id for e in limited),
        )
    ]
