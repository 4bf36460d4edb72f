"""Has the cutoff moved since it was last measured?

The cheap check of every night: one plain request, held to a tenth beyond the cutoff and no longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.budget import PROMPT_TOKENS
from probes.kinds.by_us import by_us
from probes.kinds.conclude import by_outcome, conclude, not_sent
from probes.kinds.length import means as how
from probes.kinds.length.clock import code_of, in_words, is_clock, known_timers, spoken
from probes.kinds.length.judge import all_refused
from probes.kinds.length.limits import conditions
from probes.kinds.length.pace import TOKENS, Pace, short_stream, tells
from probes.kinds.length.side import Side
from probes.kinds.length.twin import HOLDING, by_preference, fresh
from probes.kinds.spec import Bound, Recall
from probes.kinds.words import shown
from probes.model import Confidence, Figure, Observed, Reason, Trial, Verdict
from probes.twins import one

if TYPE_CHECKING:
    from probes.model import Call, Case, Client, Finding, Flow

_MOVED = 0.1
"""Of the cutoff, by which it may be off and still is the same."""
_MODE = "mode=known"


def known(case: Case) -> Flow:
    if case.params["known"] is None:
        return [_nothing_known(case)]
    salts, refused = fresh(case), list["Call"]()
    for client in by_preference(case):
        call = yield from one(short_stream(case, client, next(salts), int(case.params["prompt_tokens"])))
        if call.not_sent is None and not Side(call).turned_away:
            if not tells(call):
                return by_outcome(case, [call], "a short stream")
            call = yield from one(_trial(case, client, Pace.of(call), next(salts)))
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, HOLDING, [call])]
        if not Side(call).turned_away:
            return _judged(case, call)
        refused.append(call)
    return [all_refused(case, refused)]


def recalls(case: Case) -> Recall | None:
    """The cutoff of the same case in full, whose id is this one's without the mode."""
    if case.params["mode"] != "known" or case.params["known"] is not None:
        return None
    full = "/".join(part for part in case.id.split("/") if part != _MODE)
    return Recall(full, "cutoff", "known")


def bound(case: Case) -> Bound:
    """Every client may be the one that is let in."""
    requests = 2 * len(case.clients)
    cap = int(case.params["tokens"] or case.params["most_tokens"])
    tokens = len(case.clients) * (2 * PROMPT_TOKENS + TOKENS + cap)
    return Bound(requests, tokens, _hold(case) if case.params["known"] is not None else 0.0)


def _hold(case: Case) -> float:
    return (1 + _MOVED) * float(case.params["known"])


def _trial(case: Case, client: Client, pace: Pace, salt: str) -> Trial:
    """Given up once it outlived the cutoff by more than it may be off."""
    means, hold = how.first(case, client, pace, _hold(case)), _hold(case)
    label = f"length/{client.name}/known"
    return Trial(label, client.name, case.route, means.ask, deadline=hold + hold / 100, salt=salt)


def _judged(case: Case, call: Call) -> list[Finding]:
    side, before = Side(call), float(case.params["known"])
    if side.last is None:
        return by_outcome(case, [call], "a long answer")
    ending = side.ending
    if ending is not None and is_clock(side, ending):
        return [_cut(case, side, before, ending.seconds, code_of(side, ending))]
    lived = side.lived
    if lived is None or not (side.good or by_us(side.sent)):
        return by_outcome(case, [call], "a long answer")
    if lived >= _hold(case):
        return [_moved(case, side, before, None)]
    because = f"the answer ended after {lived:.1f} s, before the {_hold(case):.1f} s that were to be held"
    return [
        conclude(
            case,
            "not_measured",
            client=side.client,
            reason=Reason.STOPPED_EARLY,
            title=f"No cut below {lived:.1f} s; the last one was at {before:.1f} s",
            detail=(("seen", shown(side.sent)), ("because", because)),
            advice="Ask for a longer answer (--set tokens=N).",
            evidence=(side.sent.id,),
        )
    ]  # fmt: skip


def _cut(case: Case, side: Side, before: float, now: float, code: str) -> Finding:
    off = side.uncertainty
    if now < before * (1 - _MOVED) - off:
        return _moved(case, side, before, now)
    timers = known_timers(now, code, side.sent, off)
    return conclude(
        case,
        "ok",
        side.sent,
        **_fields(case, side, before, now),
        title=f"The cutoff is where it was: {now:.1f} s, {before:.1f} s when last measured",
        detail=(("seen", shown(side.sent)), ("matches", in_words(timers, now))),
        confidence=Confidence.MEDIUM,
    )


def _moved(case: Case, side: Side, before: float, now: float | None) -> Finding:
    """Earlier hurts customers; later, or gone, is told without blame."""
    off = side.uncertainty
    if now is None:
        where = f"there is no cut below {side.lived or 0.0:.1f} s any more"
        rows: tuple[tuple[str, str], ...] = ()
    else:
        where = f"it is now at {now:.1f} ± {off:.1f} s"
        timers = known_timers(now, "timeout.first_byte", side.sent, off)
        rows = (("matches", in_words(timers, now)), *spoken(side.sent, now, off))
    return conclude(
        case,
        "regression.cutoff",
        side.sent,
        **_fields(case, side, before, now),
        **({"verdict": Verdict.WARN} if now is None else {}),
        title=f"The cutoff has moved: it was at {before:.1f} s, {where}",
        detail=(("seen", shown(side.sent)), ("before", f"{before:.1f} s"), ("after", where), *rows),
        observed=Observed(1, 1),
        confidence=Confidence.MEDIUM,
        next_test="edgeprobe run of the same suite without mode=known, which measures it in full",
    )


def _fields(case: Case, side: Side, before: float, now: float | None) -> dict[str, Any]:
    off = side.uncertainty
    figures = {"before": Figure(before, "s", 1)}
    if now is not None:
        figures["cutoff"] = Figure(now, "s", 1, now - off, now + off)
    return {
        "client": side.client,
        "figures": figures,
        "conditions": conditions(case, side.client, side.sent, side.call.trial.deadline, together=1),
    }


def _nothing_known(case: Case) -> Finding:
    return conclude(
        case,
        "not_measured",
        reason=Reason.TOO_FEW,
        title="No cutoff is known to compare with",
        detail=(
            (
                "seen",
                "no stored run of this target holds a cutoff that this case measured in full; nothing was sent",
            ),
        ),
        advice="Measure it in full first: the same suite and settings without mode=known; or give it (--set known=SECONDS).",
    )
