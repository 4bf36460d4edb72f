"""Does the API understand a request whose body is compressed?"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.budget import PROMPT_TOKENS
from probes.config import conversation
from probes.kinds.asking import HTTPX, label, senders, turned_away
from probes.kinds.conclude import by_outcome, conclude, is_good, not_sent
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import shown
from probes.model import Ask, Confidence, Factor, Observed, Reason, Trial, Verdict
from probes.twins import MORE, one, twin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Finding, Flow
    from probes.twins import Twin

_CAP = 1
_DECIDED = range(400, 500)
_NOT_OF_IT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


def request_encoding(case: Case) -> Flow:
    """No SDK compresses by itself, so a refusal warns; 415 is the answer that tells a client to send it plain."""
    ask = Ask(conversation(case.target), cap=_CAP)
    salt = f"{case.rng.getrandbits(48):012x}"
    for sender in senders(case):
        plain = Trial(label("plain", sender), sender, case.route, ask, salt=salt)
        first = yield from one(plain)
        if not turned_away([first]):
            break
    else:
        return _without_control(case, [first])
    gzipped = replace(plain, label=label("gzipped", sender), request=replace(ask, gzipped=True))
    pair = yield from twin(plain, gzipped, _refused)
    if pair.unsent is not None:
        return [not_sent(case, pair.unsent, "asking with a compressed body")]
    if not pair.control.passed or not pair.variant.n:
        return _without_control(case, (pair.variant if pair.control.passed else pair.control).calls)
    if pair.variant.passed:
        return [_fine(case, pair)]
    return [_not_understood(case, pair)]


def _refused(call: Call) -> bool | None:
    """By an answer that is the request's own fault; what was overloaded, cut or slow says nothing of the encoding."""
    last = call.last
    if last is None or last.status is None or last.error is not None or last.status in _NOT_OF_IT:
        return None
    if is_good(call):
        return False
    return True if last.status in _DECIDED or last.status == HTTPStatus.INTERNAL_SERVER_ERROR else None


def _without_control(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """The plain request is not answered either, and whose fault that is the completion tells."""
    why = Reason.BLOCKED if turned_away(calls) else Reason.TOO_FEW
    return [
        replace(finding, verdict=Verdict.INCONCLUSIVE, reason=finding.reason or why)
        for finding in by_outcome(case, calls, "a request to compare with")
    ]


def _fine(case: Case, pair: Twin) -> Finding:
    last = pair.variant.calls[-1].last
    assert last is not None
    return conclude(
        case, "ok", last, client=pair.variant.calls[-1].trial.client, observed=Observed(0, pair.variant.n), next_test=None,
        title="A compressed request is understood",
        detail=(("seen", f"{shown(last)} to a body in gzip"),),
    )  # fmt: skip


def _not_understood(case: Case, pair: Twin) -> Finding:
    last = next(
        call.last for call in reversed(pair.variant.calls) if _refused(call) and call.last is not None
    )
    control = next(call.last for call in reversed(pair.control.calls) if call.last is not None)
    says_so = last.status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    return conclude(
        case, "ok" if says_so else "request.encoding", last,
        verdict=Verdict.PASS if says_so else Verdict.WARN,
        client=pair.variant.calls[-1].trial.client,
        factor=Factor.BODY if pair.claimed and not says_so else None,
        observed=Observed(0 if says_so else pair.variant.k, pair.variant.n),
        control=control.id,
        variant=last.id,
        title="A compressed request is declined with 415, as it should be" if says_so
        else "A compressed request is refused, and the answer does not say why",
        detail=(
            ("seen", f"{shown(last)} to a body in gzip, {pair.variant.k} of {pair.variant.n}"),
            ("control", f"{shown(control)} to the same body sent plain"),
        ),
        confidence=Confidence.HIGH if pair.claimed else Confidence.LOW,
        next_test=None,
    )  # fmt: skip


def bound(_: Case) -> Bound:
    most = 2 * MORE + 2  # one client was turned away, another was not
    return Bound(most, most * (PROMPT_TOKENS + _CAP), 1.0)


SPEC = KindSpec(
    flow=request_encoding,
    about="the same request plain and in gzip",
    bound=bound,
    brings=(HTTPX,),
)
