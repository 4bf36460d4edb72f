"""What became of the requests of a burst?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.by_us import by_us
from probes.kinds.conclude import conclude, is_good, not_sent, outcome_code
from probes.kinds.words import duration, shown
from probes.model import Confidence, Layer, NotSent, Observed, Reason, Verdict
from probes.sampling import alike, conditions_of, figure, sampled
from probes.twins import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Exchange, Figure, Finding

_LOST = frozenset({"deadline", "timeout", "lost", "reset", "closed", "connect"})
_PATIENT = 3.0
"""A silence that is this many times longer than the slowest answer is no slow answer."""


def judged(case: Case, before: Call, calls: Sequence[Call], after: Call) -> list[Finding]:
    """One finding for each thing that happened, with its k of n; the good ones stand alone where nothing else did."""
    sent = [call for call in calls if call.not_sent is None]
    lost = [call for call in sent if _lost(call)]
    groups: dict[tuple[object, ...], list[Call]] = {}
    for call in sent:
        if call not in lost and not is_good(call):
            groups.setdefault(_met(call), []).append(call)
    found = [_lost_finding(case, before, calls, lost, after)] if lost else []
    found += [_group(case, sent, members) for members in groups.values()]
    if sent and not found:
        found = [_good(case, sent)]
    unsent = [call.not_sent for call in (*calls, after) if call.not_sent is not None]
    if lost and after.not_sent is NotSent.UNAVAILABLE:
        unsent.pop()  # for the very silence that is told already
    found += [not_sent(case, why, "sending a burst") for why in dict.fromkeys(unsent)]
    if after.not_sent is None and not is_good(after) and not lost:
        found.append(_after(case, after))
    return found


def _lost(call: Call) -> bool:
    """Not one byte of an answer: no time-out's page, no refusal."""
    last = call.last
    return last is not None and last.status is None and last.error is not None and last.error.kind in _LOST


def _met(call: Call) -> tuple[object, ...]:
    if call.last is None or call.last.attribution is None:
        return (call.raised.type if call.raised else None,)
    made = call.last.attribution
    return made.layer, made.product, made.code, made.vendor_code


def _lost_finding(
    case: Case, before: Call, calls: Sequence[Call], lost: Sequence[Call], after: Call
) -> Finding:
    """Others were answered, in the burst or before it. By our deadline a slow one looks the same, unless it is far above
    the slowest answer.
    """
    last, sent = lost[-1].last, [call for call in calls if call.not_sent is None]
    assert last is not None
    came = [call for call in sent if call not in lost]
    times = _times([before, *came])
    slow = _maybe_slow(calls, lost, times)
    ends = sorted({shown(call.last) for call in lost if call.last is not None})
    low, high = wilson(len(lost), len(sent))
    more = f" and {len(ends) - 1} more ways" if len(ends) > 1 else ""
    alone = "; ".join(
        f"alone, right {when}: {shown(call.last)}"
        for when, call in (("before", before), ("after", after))
        if call.last
    )
    return conclude(
        case, "lost_in_burst", last,
        layer=Layer.UNKNOWN,
        product=None,
        client=lost[0].trial.client,
        observed=Observed(len(lost), len(sent)),
        title=f"{len(lost)} of {len(sent)} requests at once were never answered",
        detail=(
            ("seen", f"{ends[0]}{more}; the others: {_answers(sent, lost)}"),
            ("beside", alone),
            ("rate", f"{len(lost)} of {len(sent)}, 95 % interval {low:.0%} to {high:.0%}"),
        ),
        figures=_figures(came),
        conditions=_conditions(last, sent),
        confidence=Confidence.LOW if slow or len(lost) == len(sent) else Confidence.MEDIUM,
        next_test=f"the same with a longer deadline (--set deadline={3 * float(case.params['deadline']):g})" if slow
        else "the same burst straight to the origin",
        evidence=_evidence(lost),
        **({"verdict": Verdict.INCONCLUSIVE, "reason": Reason.TOO_FEW} if slow else {}),
    )  # fmt: skip


def _maybe_slow(calls: Sequence[Call], lost: Sequence[Call], times: Sequence[float]) -> bool:
    """Ended by our deadline, and some answer took a good part of that or is not known."""
    if not all(call.last is not None and by_us(call.last) for call in lost):
        return False
    waited = min((call.last.timeline.end or 0.0) for call in lost if call.last is not None)
    unknown = any(call.not_sent is NotSent.NOT_RECORDED for call in calls)
    return unknown or waited < _PATIENT * max(times, default=0.0)


def _group(case: Case, sent: Sequence[Call], members: Sequence[Call]) -> Finding:
    last = members[-1].last
    if last is None:
        raised = members[-1].raised
        said = f"{raised.type}: {raised.text}" if raised else "nothing"
        return conclude(
            case, "client.guard", layer=Layer.CLIENT, client=members[0].trial.client, detail=(("seen", said),)
        )
    code = outcome_code(last)
    ours = {"verdict": Verdict.INCONCLUSIVE, "reason": Reason.BUDGET} if by_us(last) else {}
    return conclude(
        case, code, last,
        client=members[0].trial.client,
        observed=Observed(len(members), len(sent)),
        detail=(("seen", f"{len(members)} of {len(sent)} at once: {shown(last)}; alone, right before it, one was good"),),
        figures=_figures(sent),
        conditions=_conditions(last, sent),
        evidence=_evidence(members),
        **ours,
    )  # fmt: skip


def _good(case: Case, sent: Sequence[Call]) -> Finding:
    """Green for as many as were under way together, which a quick server keeps low; two are no burst."""
    last, reached, times = sent[-1].last, together(sent), _times(sent)
    assert last is not None
    few = reached < max(2, len(sent) / 2)
    said = f"{len(sent)} requests, up to {reached} under way at the same time: all answered within {duration(max(times))}"
    thin: dict[str, Any] = {
        "reason": Reason.TOO_FEW,
        "layer": Layer.PROBE,
        "product": None,
        "advice": "Ask for longer answers (--set cap=N), so that more of them are under way together.",
    }
    return conclude(
        case, "not_measured" if few else "ok", last,
        client=sent[0].trial.client,
        observed=Observed(0, len(sent)),
        title=f"Only {reached} of {len(sent)} requests were under way together" if few
        else f"All of {len(sent)} requests at once were answered",
        detail=(("seen", said),),
        figures=_figures(sent),
        conditions=_conditions(last, sent),
        evidence=_evidence(sent),
        **(thin if few else {}),
    )  # fmt: skip


def _after(case: Case, after: Call) -> Finding:
    """The burst is over and a request alone fails: it left something behind, or that is another fault."""
    last = after.last
    if last is None:
        return conclude(case, "client.guard", layer=Layer.CLIENT, client=after.trial.client)
    ours = {"verdict": Verdict.INCONCLUSIVE, "reason": Reason.UNAVAILABLE} if by_us(last) else {}
    return conclude(
        case, outcome_code(last), last,
        client=after.trial.client,
        observed=Observed(1, 1),
        detail=(("seen", f"alone, right after the burst: {shown(last)}"),),
        **ours,
    )  # fmt: skip


def together(calls: Sequence[Call]) -> int:
    """How many were under way at the same time at the most, by their planned start, its lag and their own length."""
    spans = [
        (begin := call.trial.start + (call.own_lag or 0.0), begin + (call.last.timeline.end or 0.0))
        for call in calls
        if call.last is not None
    ]
    return max(
        (sum(start <= begin < end or begin == start for start, end in spans) for begin, _ in spans), default=0
    )


def _times(calls: Sequence[Call]) -> list[float]:
    """Seconds to the end of each good answer."""
    return [call.last.timeline.end or 0.0 for call in calls if call.last is not None and is_good(call)]


def _figures(burst: Sequence[Call]) -> dict[str, Figure]:
    """Of its good answers; those alone, before and after it, had the server to themselves."""
    good, _ = alike(call for call in burst if call.last is not None and is_good(call))
    samples = [sampled(call, call.last.timeline.end or 0.0) for call in good if call.last is not None]
    return {"answered": figure(samples)} if samples else {}


def _conditions(exchange: Exchange, sent: Sequence[Call]) -> dict[str, Any]:
    """`concurrency` is what was reached."""
    return {
        **exchange.conditions,
        **conditions_of(sent[-1])._asdict(),
        "concurrency": together(sent),
    }


def _answers(sent: Sequence[Call], lost: Sequence[Call]) -> str:
    others = [call for call in sent if call not in lost]
    good = sum(is_good(call) for call in others)
    rest = f", {len(others) - good} refused or failed" if len(others) > good else ""
    return f"{good} good{rest}" if others else "none"


def _evidence(calls: Sequence[Call]) -> tuple[str, ...]:
    return tuple(call.last.id for call in calls if call.last is not None)
