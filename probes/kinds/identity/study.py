"""What does an identity case know so far, and may it go on asking?"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from math import ceil, inf
from typing import TYPE_CHECKING, Literal

from probes import twins
from probes.acceptance import apart
from probes.allowance import granted
from probes.attribution import is_api_answer, is_refusal
from probes.config import conversation
from probes.kinds.conclude import outcome_code
from probes.model import Ask, Trial
from probes.refusals import must_pass

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from probes.model import Call, Case

CEILING = 80
"""Requests of one case."""
_RESERVE = 4
"""Of them, for the last question to the control after each experiment."""
_PROOF = frozenset({200, 400, 401, 422})
_DEADLINE = 3.0
"""Seconds: an answer without inference, so that a server that drips does not hold the suite."""
_CONTROLS = ("curl", "httpx")
AT_ONCE = 1.0
"""Seconds within which an answer without inference is due."""


def refused(call: Call) -> bool:
    """A 403 in whatever form: a WAF can write the API's JSON too, and only what others get tells them apart."""
    return call.last is not None and (is_refusal(call.last) or call.last.status == HTTPStatus.FORBIDDEN)


def passed(call: Call) -> bool:
    """The API's own word on the key or the body, or a good answer; a 404 or 405 is no proof of the right door."""
    return (
        call.last is not None
        and call.last.status in _PROOF
        and is_api_answer(call.last)
        and not refused(call)
        and (call.last.status != HTTPStatus.OK or outcome_code(call.last) == "ok")
    )


def outcome(call: Call) -> bool | None:
    """Refused, let pass, or neither: 429, 5xx, time-outs and redirects say nothing of identity."""
    return True if refused(call) else False if passed(call) else None


class Study:
    """All requests of the case go through it, so that it knows how many there were and how long they took."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.endpoint = conversation(case.target)
        names = [client.name for client in case.clients]
        self.control = next(
            (name for name in (*_CONTROLS, *filter(self.may_control, names)) if name in names), names[0]
        )
        self.others = [name for name in names if name != self.control]
        self.rng = case.rng
        self.key: Literal["made_up", "target"] = "made_up"
        """Whose key goes with every request."""
        self.strange: list[Call] = []
        """What the made-up key was answered, where nobody knows whose words those are."""
        self.hello: Call | None = None
        """A good request of the control with the configured key, where it was asked."""
        self.seen: list[Call] = []
        """The calls of the screening."""
        self.controls: list[Call] = []
        """Every call of the control that came back."""
        self.left_out: list[str] = []
        """What was not asked, in words, since the server takes its time."""
        self._asked = 0
        self.seconds = 0.0
        """That the server made the case wait."""
        self._patience = min(float(case.params["patience"]), granted(case) or inf)

    # --- asking ------------------------------------------------------------------------------------------

    def trial(
        self, phase: str, client: str, side: str | None = None, edits: Mapping[str, str | None] | None = None
    ) -> Trial:
        ask = Ask(self.endpoint, recipe="invalid", cap=1, key=self.key, edits=dict(edits or {}))
        known = "known" if self.key == "target" else None
        label = "/".join(part for part in (known, phase, client, side) if part)
        return Trial(
            label, client, self.case.route, ask, deadline=min(self.case.target.limits.deadline, _DEADLINE)
        )

    @property
    def left(self) -> int:
        """Requests that may still be sent, however slow the server is."""
        return CEILING - _RESERVE - self._asked

    @property
    def patient(self) -> bool:
        """The server's slowness has not used the case's patience up."""
        return self.seconds <= self._patience

    def affords(self, requests: int) -> bool:
        """So many side by side, at the pace of the control, within what is left of the case's patience."""
        pace = min((took(call) for call in self.controls), default=0.0)
        rounds = ceil(requests / self.case.target.limits.concurrency)
        return self.seconds + rounds * pace <= self._patience

    def room(self) -> int:
        """Requests that may still be sent; none once the server's slowness has used the case's patience up."""
        return self.left if self.patient else 0

    def screen(self, client: str, start: float = 0.0) -> Generator[Sequence[Trial], list[Call], Call]:
        call = yield from self.one(replace(self.trial("screen", client), start=start))
        self.seen.append(call)
        return call

    def one(self, trial: Trial) -> Generator[Sequence[Trial], list[Call], Call]:
        call = yield from twins.one(trial)
        self._note([call])
        return call

    def together(self, trials: Sequence[Trial]) -> Generator[Sequence[Trial], list[Call], list[Call]]:
        """Each once, in one step: for clients that need not be asked one after the other."""
        calls = (yield trials) if trials else []
        self._note(calls, together=min(len(trials), self.case.target.limits.concurrency) or 1)
        return calls

    def cells(self, trials: Sequence[Trial]) -> Generator[Sequence[Trial], list[Call], list[twins.Side]]:
        sides = yield from twins.cells(trials, outcome)
        self._note([call for found in sides for call in found.calls], together=len(trials))
        return sides

    def twin(
        self, control: Trial, variant: Trial, *, doubtful: bool = False
    ) -> Generator[Sequence[Trial], list[Call], twins.Twin]:
        """Three pairs, and more where they come out mixed, or are in doubt beforehand, and there is room."""
        more = twins.MORE if self.room() >= 2 * twins.MORE else twins.REPEATS
        pairs = more if doubtful else twins.REPEATS
        found = yield from twins.twin(control, variant, outcome, pairs, more)
        self._note([*found.control.calls, *found.variant.calls], together=2)
        return found

    def _note(self, calls: Sequence[Call], together: int = 1) -> None:
        came = [call for call in calls if call.last is not None]
        self._asked += len(came)
        times = [took(call) for call in came]
        self.seconds += max(sum(times) / together, max(times, default=0.0))
        self.controls += [c for c in came if c.trial.client == self.control and self._plain(c)]

    def _plain(self, call: Call) -> bool:
        """As in the screening: a rule may look at the key, too."""
        request = call.trial.request
        return isinstance(request, Ask) and not request.edits and request.key == self.key

    def go_on_with_own_key(self) -> None:
        """The screening begins anew, with the configured key."""
        self.strange, self.seen, self.controls = self.seen, [], []
        self.key = "target"

    # --- knowing -----------------------------------------------------------------------------------------

    @property
    def to_what(self) -> str:
        """What was sent, in words."""
        return f"{'the configured' if self.key == 'target' else 'a made-up'} key and an invalid body"

    @property
    def tainted(self) -> bool:
        """The control passed, and was refused when last asked."""
        return any(passed(call) for call in self.controls) and refused(self.controls[-1])

    def passing(self) -> list[Call]:
        return [call for call in self.seen if passed(call)]

    def refusing(self) -> list[Call]:
        return [call for call in self.seen if refused(call)]

    def failing(self) -> set[str]:
        """Clients that did not get the API's own answer each time."""
        return {call.trial.client for call in self.seen if not passed(call)}

    def next_control(self) -> None:
        """Another client in the control's place, before anything is known of it."""
        self.others.append(self.control)
        left = [name for name in self.others[:-1] if self.may_control(name)]
        self.control = next((name for name in _CONTROLS if name in left), left[0] if left else self.others[0])
        self.others.remove(self.control)

    def choose_control(self) -> None:
        """The control has to be one that passes: curl as it is, else plain httpx, else a genuine one, else the first."""
        passing = [name for name in self.possible_controls() if name not in self.failing()]
        if passing and self.control not in passing:
            best = max(passing, key=lambda name: self.case.client(name).genuine)
            self.control = next((name for name in _CONTROLS if name in passing), best)
            self.controls = [call for call in self.seen if call.trial.client == self.control]

    def may_control(self, client: str) -> bool:
        return self.case.client(client).control

    def possible_controls(self) -> list[str]:
        """Clients that may be the control and got the API's own answer at least once."""
        return list(dict.fromkeys(c.trial.client for c in self.passing() if self.may_control(c.trial.client)))

    def groups(self) -> list[list[Call]]:
        """Refusals by (layer, product, code, vendor code), one call per client; none where nobody passes.

        A client that an acceptance names is a group of its own: with the others' it would be accepted as well.
        """
        found: dict[tuple[object, ...], dict[str, Call]] = {}
        for call in self.refusing() if self.passing() else []:
            assert call.last is not None
            made = call.last.attribution
            alike = (made.layer, made.product, outcome_code(call.last), made.vendor_code) if made else ()
            key = (*alike, self.apart(call.trial.client))
            found.setdefault(key, {}).setdefault(call.trial.client, call)
        return [list(members.values()) for members in found.values()]

    def apart(self, client: str) -> object:
        """What keeps this client's refusal from being told with others'."""
        return apart(self.case.target, client)

    def must_pass(self, client: str) -> bool:
        return must_pass(self.case.client(client), self.case.target)

    def representative(self, group: list[Call]) -> str:
        """The genuine client that most customers use, and that can be edited; of equals the one declared first."""
        return self.ranked([call.trial.client for call in group])[0]

    def ranked(self, names: Sequence[str]) -> list[str]:
        """The same names, those first whose refusal says most."""
        declared = [client.name for client in self.case.clients]
        return sorted(
            names,
            key=lambda n: (
                not self.must_pass(n),
                not self.case.client(n).genuine,
                not self.case.client(n).edits,
                declared.index(n),
            ),
        )


def evidence(calls: Iterable[Call]) -> tuple[str, ...]:
    """The ids of what these calls saw last."""
    return tuple(call.last.id for call in calls if call.last is not None)


def took(call: Call) -> float:
    """Seconds that the server made us wait."""
    assert call.last is not None
    timeline = call.last.timeline
    return (timeline.end if call.last.error is not None else timeline.headers) or 0.0
