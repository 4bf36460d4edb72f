"""From which size of the body on is a request refused, and is it the size alone?

Asked of the clients that pass with a small body: made-up key, invalid body, so a large one costs its upload only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from math import isqrt
from typing import TYPE_CHECKING

from probes.kinds.conclude import not_sent, outcome_code
from probes.kinds.identity.load import SMALL, Load, failed_by_size, filler_of
from probes.kinds.identity.sizes_taken import left_out, no_client, not_invalid, said_nothing, takes
from probes.kinds.identity.study import passed
from probes.kinds.identity.suspect import UA
from probes.kinds.identity.too_large import Refusal, by_size, unconfirmed
from probes.model import NotSent, Reason
from probes.twins import MORE, REPEATS, Side, Twin, side, unsent

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.identity.study import Study
    from probes.model import Call, Finding, Trial

    Step = Generator[Sequence[Trial], list[Call], list[Finding]]
    Asking = Generator[Sequence[Trial], list[Call], NotSent | None]

_STEPS = 6
"""Requests that narrow the limit down."""
_CLOSE = 1.1
"""The smallest body refused, by the largest let pass: narrow enough."""


def sizes(study: Study) -> Step:
    wanted = sorted({int(size) for size in study.case.params["sizes"]})
    names = _askable(study)
    if not wanted:
        return []
    if not names:
        return [no_client(study)]
    load = Load(study)
    [first] = yield from load.together([load.trial(names[0], SMALL, "small")])
    if first.last is None or not passed(first) or first.last.status == HTTPStatus.OK:
        return [not_invalid(study, first)]
    rounds: list[Round] = []
    findings: list[Finding] = []
    for index, size in enumerate(wanted):
        rounds.append(Round(size))
        findings += yield from _round(load, rounds, names, wanted[index:])
        names = [name for name in names if rounds[-1].lets_pass(name)]
        if rounds[-1].over or not names:
            break
    return findings + takes(study, [call for round_ in rounds for call in round_.large])


def _askable(study: Study) -> list[str]:
    """The control first, whoever may be left out: all genuine clients that passed each time."""
    names = [client.name for client in study.case.clients if client.genuine or client.name == study.control]
    left = [name for name in names if name not in study.failing()]
    study.rng.shuffle(left)
    return sorted(left, key=lambda name: name != study.control)


@dataclass
class Round:
    """One size through every client; each large body with a small one beside it. `over`: nothing more can be asked."""

    size: int
    small: list[Call] = field(default_factory=list)
    large: list[Call] = field(default_factory=list)
    over: bool = False

    def of(self, names: Sequence[str], calls: Sequence[Call]) -> Side:
        return side([call for call in calls if call.trial.client in names], failed_by_size)

    def lets_pass(self, name: str) -> bool:
        return self.of([name], self.large).passed


def _round(load: Load, rounds: Sequence[Round], names: Sequence[str], left: Sequence[int]) -> Step:
    """`left`: this size and those after it."""
    study, round_ = load.study, rounds[-1]
    why: NotSent | None = None
    unasked: Sequence[str] = ()
    for index, name in enumerate(names):
        if load.affords(round_.size, SMALL):
            why = yield from _pair(load, round_, [name])
        if why is not None or not round_.of([name], round_.large).calls:
            unasked = names[index:]
            break
    round_.over = bool(unasked)
    if why is None:
        findings = yield from _refusals(load, rounds)
    else:
        findings = [unconfirmed(study, group, Reason(why)) for group in _groups(study, round_)]
    findings += said_nothing(study, round_.large)
    return [*findings, left_out(study, unasked, left, why)] if unasked else findings


def _pair(load: Load, round_: Round, names: Sequence[str]) -> Asking:
    """The first client small and large, and the second, where there is one, large beside it."""
    small = load.trial(names[0], round_.size, "small")
    large = [load.trial(name, round_.size, "large") for name in names]
    calls = yield from load.together([small, *large])
    round_.small += calls[:1]
    round_.large += calls[1:]
    return unsent(calls)


def _groups(study: Study, round_: Round) -> list[list[Call]]:
    """Failures alike, one call of each client."""
    found: dict[tuple[object, ...], dict[str, Call]] = {}
    for call in round_.large:
        if failed_by_size(call):
            assert call.last is not None
            made = call.last.attribution
            key = (made.layer, made.product, outcome_code(call.last), made.vendor_code) if made else ()
            found.setdefault((*key, study.apart(call.trial.client)), {}).setdefault(call.trial.client, call)
    return [list(members.values()) for members in found.values()]


def _refusals(load: Load, rounds: Sequence[Round]) -> Step:
    study, round_ = load.study, rounds[-1]
    others = study.ranked([c.trial.client for c in round_.large if round_.lets_pass(c.trial.client)])
    others = list(dict.fromkeys(others))
    findings: list[Finding] = []
    for group in _groups(study, round_):
        scope = study.ranked([call.trial.client for call in group])
        refusal = yield from _confirm(load, round_, scope, others)
        if not isinstance(refusal, Refusal):
            round_.over = True
            return [*findings, unconfirmed(study, group, Reason(refusal))]
        why = yield from _narrow(load, refusal, rounds)
        if why is None and refusal.claimed and others:
            why = yield from _announced(load, refusal)
        findings.append(by_size(study, refusal))
        if why is not None:
            round_.over = True
            return [*findings, not_sent(study.case, why, "narrowing a limit down")]
    return findings


def _confirm(
    load: Load, round_: Round, scope: list[str], others: list[str]
) -> Generator[Sequence[Trial], list[Call], Refusal | NotSent]:
    """Pairs of one client, and another client's large body beside them, until the sides are what a claim needs."""
    names = [scope[0], *others[:1]]
    pairs, small, large = 0, len(round_.small), len(round_.large)
    while True:
        twin = Twin(round_.of(scope, round_.small), round_.of(scope, round_.large))
        again = Twin(round_.of(scope, round_.small[small:]), round_.of(scope, round_.large[large:]))
        refusal = Refusal(scope, others, twin, again, round_.of(others, round_.large))
        enough = pairs >= (MORE if refusal.mixed else REPEATS)
        if refusal.claimed or enough or not load.affords(SMALL, *(round_.size for _ in names)):
            return refusal
        why = yield from _pair(load, round_, names)
        if why is not None:
            return why
        pairs += 1


def _narrow(load: Load, refusal: Refusal, rounds: Sequence[Round]) -> Asking:
    """Where the limit lies, with what may still be uploaded."""
    name = refusal.scope[0]
    calls = [call for found in rounds for call in (*found.small, *found.large)]
    refusal.note([call for call in calls if call.trial.client == name])
    for _ in range(_STEPS):
        if refusal.bracket is None:
            return None
        low, high = map(filler_of, refusal.bracket)
        size = isqrt(low * high)
        if high <= _CLOSE * low or not load.affords(size):
            return None
        calls = yield from load.together([load.trial(name, size, "narrow")])
        if failed_by_size(calls[0]) is None:
            return unsent(calls)
        refusal.note(calls)
    return None


def _announced(load: Load, refusal: Refusal) -> Asking:
    """Whether it is what the client announces: the same large body, as it is and with the other's user agent."""
    study, name = load.study, refusal.scope[0]
    size = filler_of(refusal.refused)
    other = refusal.beside.calls[-1].last
    neutral = next((v for n, v in (other.request.headers if other else ()) if n.lower() == UA), None)
    cost = [size] * (2 * REPEATS)
    if neutral is None or not study.case.client(name).edits or not load.affords(*cost):
        return None
    own, swapped = load.trial(name, size, "own"), load.trial(name, size, "swapped", {UA: neutral})
    calls: list[Call] = []
    for _ in range(REPEATS):
        calls += yield from load.together([swapped, own])
        if (why := unsent(calls)) is not None:
            return why
    refusal.by_agent = Twin(side(calls[::2], failed_by_size), side(calls[1::2], failed_by_size))
    return None
