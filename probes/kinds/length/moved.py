"""Has the cutoff moved since it was last measured?

The cheap check of every night: one plain request, held to a tenth beyond the cutoff and no longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.budget import worst_case
from probes.kinds.by_us import by_us
from probes.kinds.conclude import by_outcome, conclude, not_sent
from probes.kinds.length import means as how
from probes.kinds.length.clock import code_of, is_clock, known_timers, matches, products_of, proven, spoken
from probes.kinds.length.door import let_in
from probes.kinds.length.limits import conditions
from probes.kinds.length.limits import in_words as limits_in_words
from probes.kinds.length.pace import PATIENCE, TOKENS, by_preference, endpoint_of
from probes.kinds.length.side import Side
from probes.kinds.spec import Bound, Recall
from probes.kinds.words import shown
from probes.model import Ask, Confidence, Figure, Observed, Reason, Trial, Verdict
from probes.twins import one

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from probes.kinds.length.door import Further
    from probes.kinds.length.pace import Pace
    from probes.model import Call, Case, Client, Finding, Flow

_MOVED = 0.1
"""Of the cutoff, by which it may be off and still is the same."""
_ROOM = 1.5
"""Times the hold: of a server that is faster tonight the answer is still as long."""
_GIVEN_UP = 1.01
"""Times the hold."""
MODE = "mode=known"
_ROUNDED = 0.05
"""Seconds."""
_PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}


def moved(case: Case) -> Flow:
    if case.params["known"] is None:
        return [_nothing_known(case)]

    def held(client: Client, pace: Pace, salts: Iterator[str]) -> Further:
        call = yield from one(_trial(case, client, pace, next(salts)))
        less = how.lowered(_means(case, client, pace), [call])
        if less is not None:
            call = yield from one(_trial(case, client, pace, next(salts), less))
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, how.HOLDING, [call])]
        return call if Side(call).turned_away else _judged(case, call)

    return (yield from let_in(case, by_preference(case), held))


def recalls(case: Case) -> Recall | None:
    """The cutoff of the same case in full, whose id is this one's without the mode."""
    if case.params["mode"] != "known" or case.params["known"] is not None:
        return None
    full = "/".join(part for part in case.id.split("/") if part != MODE)
    path = _PATHS[endpoint_of(case)]
    return Recall(full, "cutoff", "known", lambda finding, exchanges: of_plain(finding, exchanges, path))


def of_plain(finding: Mapping[str, Any], exchanges: Mapping[str, Any], path: str = "") -> bool:
    """Its cutoff is the age at which something that was not streamed ended, at this endpoint: a stream's end or the
    length of a silence is no question to one plain answer.
    """
    figure = finding["figures"]["cutoff"]
    off = figure["high"] - figure["value"] if figure["high"] is not None else 0.0
    seen = [exchanges[name] for name in finding["evidence"] if name in exchanges]
    plain = [e for e in seen if not e["request"]["stream"] and e["attribution"]["code"] != "ok"]
    ages = [
        age
        for e in plain
        if e["request"]["url"].split("?")[0].endswith(path) and (age := _age(e)) is not None
    ]
    return any(abs(age - figure["value"]) <= off + _ROUNDED for age in ages)


def _age(exchange: Mapping[str, Any]) -> float | None:
    line = exchange["timeline"]
    ended = line["end"] if exchange["error"] or line["headers"] is None else line["headers"]
    return None if ended is None or line["upload_end"] is None else float(ended - line["upload_end"])


def bound(case: Case) -> Bound:
    """Every client may be the one that is let in; nothing where no cutoff is known."""
    if case.params["known"] is None:
        return Bound(0, 0, 0.0)
    clients, ask = len(case.clients), Ask(endpoint_of(case), cap=int(case.params["tokens"] or case.params["most_tokens"]), prompt_tokens=int(case.params["prompt_tokens"]))  # fmt: skip
    read, made = worst_case(Trial("", "", case.route, ask))
    return Bound(
        3 * clients + how.LESSONS,
        clients * (3 * read + 2 * TOKENS + made),
        PATIENCE + _GIVEN_UP * _hold(case),
    )


def foretold(case: Case) -> list[str]:
    if case.params["known"] is None:
        return ["no cutoff is known to compare with, so nothing is sent"]
    client = by_preference(case)[0]
    before, deadline = float(case.params["known"]), _GIVEN_UP * _hold(case)
    return [
        f"one answer that is not streamed, held {_hold(case):.1f} s: a tenth beyond the {before:.1f} s that were measured",
        f"limits: {limits_in_words(client, round(deadline, 1), case.target.limits.body_mib)}",
    ]


def _hold(case: Case) -> float:
    return (1 + _MOVED) * float(case.params["known"])


def _means(case: Case, client: Client, pace: Pace) -> how.Means:
    return how.first(case, client, pace, _hold(case), _ROOM)


def _trial(case: Case, client: Client, pace: Pace, salt: str, means: how.Means | None = None) -> Trial:
    """Given up once it outlived the cutoff by more than it may be off."""
    ask = (means or _means(case, client, pace)).ask
    label = f"length/{client.name}/known"
    return Trial(label, client.name, case.route, ask, deadline=_GIVEN_UP * _hold(case), salt=salt)


_IN_FULL = "edgeprobe run of the same suite without mode=known"
_GONE = (
    "The cutoff is not there any more, as far as was held: nothing is to be mended. Run the full measurement, the same suite "
    "and settings without mode=known: it finds whether another timer stands beyond."
)


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
        return [_moved(case, side, before)]
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
        return _moved(case, side, before, now, code)
    timers = known_timers(now, code, side.sent, off)
    return conclude(
        case,
        "ok",
        side.sent,
        **_fields(case, side, before, now),
        title=f"The cutoff is where it was: {now:.1f} s, {before:.1f} s when last measured",
        detail=(
            ("seen", shown(side.sent)),
            matches(timers, now, products_of([side.sent]), proven(side.sent)),
        ),
        confidence=Confidence.MEDIUM,
    )


def _moved(case: Case, side: Side, before: float, now: float | None = None, code: str = "") -> Finding:
    """Earlier, by a timer of the class in `code`, hurts customers; gone is told without blame."""
    off = side.uncertainty
    if now is None:
        where = f"there is no cut below {side.lived or 0.0:.1f} s any more"
        rows: tuple[tuple[str, str], ...] = ()
    else:
        where = f"it is now at {now:.1f} ± {off:.1f} s"
        timers = known_timers(now, code, side.sent, off)
        rows = (
            matches(timers, now, products_of([side.sent]), proven(side.sent)),
            *spoken(side.sent, now, off),
        )
    return conclude(
        case,
        "regression.cutoff",
        side.sent,
        **_fields(case, side, before, now),
        **({"verdict": Verdict.WARN, "advice": _GONE} if now is None else {}),
        title=f"The cutoff has moved: it was at {before:.1f} s, {where}",
        detail=(("seen", shown(side.sent)), ("before", f"{before:.1f} s"), ("after", where), *rows),
        observed=Observed(1, 1),
        confidence=Confidence.MEDIUM,
        next_test=f"{_IN_FULL}, which measures it",
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
        title="No cutoff is known that one plain answer could test",
        detail=(
            (
                "seen",
                (
                    "the newest full measurement of this target, model, route and endpoint that is stored, if there is one, holds "
                    "no age at which an answer that is not streamed was cut; that of a stream, or the length of a silence, is not "
                    "tested by this mode; nothing was sent"
                ),
            ),
        ),
        advice="Measure it in full first: the same suite and settings without mode=known; or give it (--set known=SECONDS).",
    )
