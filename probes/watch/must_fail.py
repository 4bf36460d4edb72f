"""Would a fault be found today?

A canary that finds nothing may be one that can find nothing. The lab in this process is asked, with a fault planted, by
the same turn as any target, and the fault has to be told as what it is, and to be met again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from probes import lab
from probes.alerts.rules import pages
from probes.canary import Pause, Turn
from probes.clock import Clock
from probes.conduct import Order
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.model import Layer, Spend, Verdict
from probes.pace import Pace
from probes.watch.asking import Asking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from probes.model import Event, Finding, Sink
    from probes.stop import Stop
    from probes.watch.asking import Around, Judged

NAME = "must-fail"
PLANTED = ("ai-crawler-rule",)
_CLIENTS = ("openai-py", "httpx")
_SUITE = "identity"
_CLOCK = Clock(0.02)
_TRIES = 2
"""A machine that is busy for a moment is no proof that detection is broken."""
_DO = "Run `edgeprobe demo` on this machine and report what it says; until then its silence says nothing of any target."
_KEY = "EDGEPROBE_LAB_KEY"


@dataclass(frozen=True, slots=True)
class Own:
    """The canary's own entry, which stands in no file."""

    name: str = NAME
    suite: str = _SUITE
    target: str = NAME
    tier: str = "cheap"
    sample: float = 1.0
    clients: tuple[str, ...] = _CLIENTS
    overrides: Mapping[str, str] = field(default_factory=dict)
    alert: None = None


class _Scratch:
    """A memory of one turn: what the lab says is no history of any target."""

    def __init__(self) -> None:
        self.heard: list[Event] = []

    def recording(self, *_: object, **__: object) -> Sink:
        return self.heard.append

    def passed(self, *_: object, **__: object) -> dict[str, datetime]:
        return {}

    def let_in(self, *_: object, **__: object) -> dict[str, datetime]:
        return {}

    def spent(self, *_: object, **__: object) -> Spend:
        return Spend()

    def turn(self, turn: Turn) -> None:
        """Told by whoever takes it."""

    def pause(self, pause: Pause) -> None:
        """The lab's own."""

    def pauses(self) -> Sequence[Pause]:
        return ()


class MustFail:
    """`fault`: why the last time did not find what was planted; `None` before the first and where it did."""

    def __init__(self, around: Around, planted: Sequence[str] = PLANTED) -> None:
        self.fault: str | None = None
        self._around = around
        self._planted = planted

    def take(self, due: datetime, stop: Stop) -> Turn:
        """One turn of it, told to metrics and alerts; in memory only where it went wrong, as evidence."""
        around, began = self._around, self._around.wall.now()
        for _ in range(_TRIES):
            judged, heard = self._ask(stop)
            self.fault = _amiss(judged)
            if self.fault is None or stop.reason is not None:
                break
        ended = around.wall.now()
        turn = Turn(NAME, NAME, due, began, ended, judged.first.run.id)
        if stop.reason is not None and self.fault is not None:
            self.fault = None
            return replace(turn, verdict=Verdict.INCONCLUSIVE, reason="interrupted")
        if self.fault is not None:
            self._keep(heard)
        around.metrics.must_fail(self.fault is None, ended)
        around.alerting.own_fault("probe.bug", self.fault, _DO)
        return replace(
            turn,
            verdict=Verdict.PASS if self.fault is None else Verdict.FAIL,
            conclusive=True,
            reason=self.fault,
        )

    def _ask(self, stop: Stop) -> tuple[Judged, list[Event]]:
        scratch = _Scratch()
        with lab.serve(self._planted, clock=_CLOCK, prefill=0.2, tpot=0.02) as served:
            target = target_from_flags(served.base_url, "openai", served.model, key_env=_KEY, env_proxy=False)
            order = Order((_SUITE,), replace(target, name=NAME), only=_CLIENTS, clock=_CLOCK)
            secrets = Secrets({**os.environ, _KEY: served.api_key or ""})
            around = replace(
                self._around, memory=scratch, secrets=secrets, clock=_CLOCK, sinks=(), looks=None
            )
            asking = Asking(around, None, order, Pace(target.limits, _CLOCK), stop, Own())
            return asking.turn(), scratch.heard

    def _keep(self, heard: Sequence[Event]) -> None:
        record = self._around.memory.recording(NAME)
        for event in heard:
            record(event)


def _amiss(judged: Judged) -> str | None:
    """What is wrong with what was found; `None` where it is the planted fault, of the client it befalls, twice, and no
    other.
    """
    told = [
        [finding for finding in asked.findings if pages(finding)] for asked in (judged.first, *judged.again)
    ]
    if len(told) > 1 and all(bad and all(map(_planted, bad)) for bad in told):
        return None
    first = judged.first.findings
    found = ", ".join(dict.fromkeys(finding.code for finding in told[0] or first)) or "nothing"
    again = " once, and not again" if told[0] and all(map(_planted, told[0])) else ""
    return f"blocked.client of {_CLIENTS[0]} was planted in the built-in lab, and found was: {found}{again}"


def _planted(finding: Finding) -> bool:
    return (finding.code, finding.layer, finding.client) == ("blocked.client", Layer.EDGE, _CLIENTS[0])
