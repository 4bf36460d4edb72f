"""What does an identity case know so far?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.attribution import is_api_answer, is_refusal
from probes.config import endpoints
from probes.kinds.conclude import outcome_code
from probes.model import Ask, Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from probes.model import Call, Case

CEILING = 80
"""Requests of one case."""
_DEADLINE = 5.0
"""Seconds: an answer without inference, so that a server that drips does not hold the suite."""
_CONTROLS = ("curl", "httpx")


def refused(call: Call) -> bool:
    return call.last is not None and is_refusal(call.last)


def passed(call: Call) -> bool:
    return call.last is not None and is_api_answer(call.last)


class Study:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.endpoint = next(name for name in endpoints(case.target) if name in {"chat", "messages"})
        names = [client.name for client in case.clients]
        self.control = next((name for name in _CONTROLS if name in names), names[0])
        self.others = [name for name in names if name != self.control]
        self.rng = case.rng
        self.seen: list[Call] = []
        self.controls: list[Call] = []
        self.asked = 0

    def trial(
        self, phase: str, client: str, side: str | None = None, edits: Mapping[str, str | None] | None = None
    ) -> Trial:
        ask = Ask(self.endpoint, recipe="invalid", cap=1, key="made_up", edits=dict(edits or {}))
        label = "/".join(part for part in (phase, client, side) if part)
        deadline = min(self.case.target.limits.deadline, _DEADLINE)
        return Trial(label, client, self.case.route, ask, deadline=deadline)

    def room(self) -> int:
        return CEILING - self.asked

    def saw(self, call: Call) -> None:
        """A call of the screening."""
        self.asked += 1
        self.seen.append(call)
        self.saw_all([call])

    def saw_all(self, calls: Iterable[Call]) -> None:
        """Calls among which may be the control's."""
        self.controls += [
            call for call in calls if call.trial.client == self.control and call.last is not None
        ]

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

    @staticmethod
    def evidence(calls: Iterable[Call]) -> tuple[str, ...]:
        return tuple(call.last.id for call in calls if call.last is not None)

    def choose_control(self) -> None:
        """The control has to be one that passes: curl as it is, else plain httpx, else the first that does."""
        failing = self.failing()
        passing = [call.trial.client for call in self.passing() if call.trial.client not in failing]
        if passing and self.control not in passing:
            self.control = next((name for name in _CONTROLS if name in passing), passing[0])
            self.controls = [call for call in self.seen if call.trial.client == self.control]

    def groups(self) -> list[list[Call]]:
        """Refusals by (layer, product, code, vendor code), one call per client; none where nobody passes."""
        found: dict[tuple[object, ...], dict[str, Call]] = {}
        for call in self.refusing() if self.passing() else []:
            assert call.last is not None
            made = call.last.attribution
            key = (made.layer, made.product, outcome_code(call.last), made.vendor_code) if made else ()
            found.setdefault(key, {}).setdefault(call.trial.client, call)
        return [list(members.values()) for members in found.values()]

    def must_pass(self, client: str) -> bool:
        """By default the SDKs of the target's own API, and curl."""
        declared = self.case.client(client)
        return declared.genuine and (declared.api == self.case.target.api or declared.kind == "curl")

    def representative(self, group: list[Call]) -> str:
        """The genuine client that most customers use, and that can be edited."""
        names = [call.trial.client for call in group]
        return max(
            names,
            key=lambda n: (self.must_pass(n), self.case.client(n).genuine, self.case.client(n).edits, n),
        )
