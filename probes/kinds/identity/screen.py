"""Which clients does the edge let pass, when each is asked in turn with the control between them?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude, not_sent
from probes.kinds.identity.hanging import hanging, hangs
from probes.kinds.identity.nobody import (
    alike,
    knows_the_key,
    nobody,
    of_no_known_form,
    replaceable,
)
from probes.kinds.identity.study import AT_ONCE, Study, evidence, passed, refused, took
from probes.kinds.identity.unheard import no_answer
from probes.kinds.identity.untold import said_nothing
from probes.kinds.words import duration, emulated, listed, named, shown
from probes.model import Confidence, Layer, NotSent, Observed, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Finding, Trial

    Ended = Generator[Sequence[Trial], list[Call], list[Finding] | None]

_MOMENT = 1.0
"""Seconds that a door may need to open again, such as during a restart."""


def screen(study: Study) -> Ended:
    """Every client, the control first, last and after every refusal; findings where that ends the case."""
    ended = yield from _first(study)
    if ended is None:
        ended = yield from _each(study)
    if ended is None and (yield from knows_the_key(study)):
        ended = yield from _anew(study)
    if ended is None:
        asked = {call.trial.client for call in study.seen}
        ended = yield from _beside(study, [name for name in study.others if name not in asked])
    for _ in range(1, int(study.case.params["repeats"])):
        if ended is not None or not (left := _once_more(study)):
            break
        ended = yield from _beside(study, left)
    if ended is not None:
        return ended
    if study.tainted:
        return [tainted(study)]
    first = study.seen[0].last
    if not study.possible_controls() and (study.refusing() or (first is not None and replaceable(first))):
        return (yield from nobody(study))
    study.choose_control()
    return (yield from alike(study)) or None


def _first(study: Study) -> Ended:
    """The control; where it got no byte another, a moment later: one silence may be its own matter, or soon over."""
    first = yield from study.screen(study.control)
    if _no_byte(first) and not refused(first):
        study.next_control()
        first = yield from study.screen(study.control, start=0.0 if took(first) > _MOMENT else _MOMENT)
    if (why := _unsent_or_ended(first)) is not None:
        return [
            *said_nothing(study, Reason(why)),
            not_sent(study.case, why, "asking with the control", [first]),
        ]
    if first.last is None or (_no_byte(first) and not refused(first)):
        return [no_answer(study)]
    return None


def _anew(study: Study) -> Ended:
    """The genuine clients again, with the configured key."""
    first = yield from study.screen(study.control)
    if (why := _unsent_or_ended(first)) is not None:
        return [not_sent(study.case, why, "asking with the configured key", [first])]
    if not passed(first):
        return [of_no_known_form(study)]
    return (yield from _each(study))


def _unsent_or_ended(call: Call) -> NotSent | None:
    interrupted = (
        call.last is not None and call.last.error is not None and call.last.error.kind == "interrupted"
    )
    return NotSent.INTERRUPTED if interrupted else call.not_sent


def _each(study: Study) -> Ended:
    """The genuine clients, one after the other; everybody side by side where the server takes its time."""
    if took(study.seen[-1]) > AT_ONCE:
        return (yield from _beside(study, list(study.others)))
    return (yield from _round(study, [name for name in study.others if study.case.client(name).genuine]))


def _once_more(study: Study) -> list[str]:
    """Clients that must pass and did so far, and one of those that hang; none where there is no time for it."""
    tries = Counter(call.trial.client for call in study.seen)
    most = int(study.case.params["repeats"])
    good = [name for name in study.others if study.must_pass(name) and name not in study.failing()]
    names = [name for name in (*good, *hanging(study)[:1]) if tries[name] < most]
    if names and not (study.room() and study.affords(len(names) + 1)):
        study.left_out.append("again")
        return []
    return names


def _round(study: Study, left: list[str]) -> Ended:
    """Every client that has not failed yet, in random order, with the control at the end, and after each that was
    refused or got no answer: a server that hangs for one must not be taken for one that hangs for all. Once one hangs,
    the rest are asked side by side, and it with them: each may take its whole time.
    """
    study.rng.shuffle(left)
    order = [*left, study.control]
    for place, name in enumerate(order):
        if name != study.control and not study.patient:
            return _too_slow(study)
        call = yield from study.screen(name)
        if (why := _unsent_or_ended(call)) is not None:
            return _ended(study, why, call)
        after = order[place + 1 :]
        if (refused(call) or _no_byte(call)) and after and after[0] != study.control:
            yield from study.screen(study.control)
        if hangs(call) and name != study.control:
            return (yield from _beside(study, [name, *after[:-1]]))
    return None


def _ended(study: Study, why: NotSent, call: Call) -> list[Finding]:
    told = [*_all_unconfirmed(study, Reason(why)), *said_nothing(study, Reason(why))]
    return told or [not_sent(study.case, why, "screening", [call])]


def _too_slow(study: Study) -> list[Finding]:
    """Waiting for every client would hold the suite up; who was not asked is said."""
    asked = {call.trial.client for call in study.seen}
    left = [client.name for client in study.case.clients if client.name not in asked]
    told = [*_all_unconfirmed(study, Reason.BUDGET), *said_nothing(study, Reason.BUDGET)]
    if not left and told:
        return told
    rest = conclude(
        study.case,
        "not_measured",
        layer=Layer.PROBE,
        reason=Reason.BUDGET,
        title="The server is too slow for every client to be asked"
        + (f"; not asked: {listed(left)}" if left else " again"),
        detail=(
            (
                "seen",
                f"{len(study.seen)} requests took {duration(study.seconds)} in all, more than the case waits for",
            ),
        ),
        advice="Raise the patience (--set patience=SECONDS) to ask every client all the same.",
    )
    return [*told, rest]


def _no_byte(call: Call) -> bool:
    return call.last is not None and call.last.status is None


def _all_unconfirmed(study: Study, reason: Reason) -> list[Finding]:
    return [unconfirmed(study, group, study.representative(group), reason) for group in study.groups()]


def unconfirmed(study: Study, group: list[Call], name: str, reason: Reason) -> Finding:
    """Seen refused, and no more could be asked: told as it is, without a verdict on the service."""
    exchange = next(call.last for call in group if call.trial.client == name)
    assert exchange is not None
    return conclude(
        study.case,
        "blocked",
        exchange,
        verdict=Verdict.INCONCLUSIVE,
        reason=reason,
        client=name,
        observed=Observed(1, 1),
        title=f"{name} was refused once; it could not be confirmed",
        detail=(("seen", f"{shown(exchange)}, once"), *emulated(study.case, [name]), *named(exchange)),
        confidence=Confidence.LOW,
        evidence=(exchange.id,),
    )


def _beside(study: Study, names: list[str]) -> Ended:
    """Each once more or for the first time, side by side to save the server's time, the control with them."""
    if not names:
        return None
    study.rng.shuffle(names)
    asked = [*names[: max(study.left - 1, 0)], study.control]
    calls = yield from study.together([study.trial("screen", name) for name in asked])
    known = {call.trial.client for call in study.seen}
    study.seen += [call for call in calls if call.not_sent is None]
    for call in calls:
        why = _unsent_or_ended(call)
        if why is NotSent.BUDGET and call.trial.client in known:
            study.left_out.append("again")
        elif why is not None:
            return _ended(study, why, call)
    return None


def tainted(study: Study) -> Finding:
    last = study.controls[-1].last
    return conclude(
        study.case,
        "probe.tainted",
        layer=Layer.PROBE,
        reason=Reason.TAINTED,
        confidence=Confidence.LOW,
        client=study.control,
        title="The control was let pass at first and refused later",
        detail=(
            (
                "seen",
                f"{study.control}: {shown(last) if last is not None else 'no answer'}, after it had passed",
            ),
            (
                "because",
                "a rule may have begun to count this probe's own requests; later answers prove nothing",
            ),
        ),
        evidence=evidence(study.controls),
    )
