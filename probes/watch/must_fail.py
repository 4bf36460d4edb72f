"""Would a fault be found today?

A canary that finds nothing may be one that can find nothing. The lab in this process is asked, with a fault planted,
through the same door as any target, and has to be told as what it is.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from probes import lab
from probes.canary import Turn
from probes.clock import Clock
from probes.conduct import Order, conduct
from probes.config import target_from_flags
from probes.credentials import Secrets
from probes.model import Layer, Verdict
from probes.watch.again import pages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from probes.model import Event, Run
    from probes.stop import Stop
    from probes.watch.asking import Around

NAME = "must-fail"
PLANTED = ("ai-crawler-rule",)
_CLIENTS = ("openai-py", "httpx")
_SUITE = "identity"
_CLOCK = Clock(0.02)
_TRIES = 2
"""A machine that is busy for a moment is no proof that detection is broken."""
_DO = "Run `edgeprobe demo` on this machine and report what it says; until then its silence says nothing of any target."
_KEY = "EDGEPROBE_LAB_KEY"


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
            run, heard = self._ask(stop)
            self.fault = _amiss(run)
            if self.fault is None or stop.reason is not None:
                break
        ended = around.wall.now()
        turn = Turn(NAME, NAME, due, began, ended, run.id)
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

    def _ask(self, stop: Stop) -> tuple[Run, list[Event]]:
        heard: list[Event] = []
        with lab.serve(self._planted, clock=_CLOCK, prefill=0.2, tpot=0.02) as served:
            target = target_from_flags(served.base_url, "openai", served.model, key_env=_KEY, env_proxy=False)
            order = Order((_SUITE,), replace(target, name=NAME), only=_CLIENTS, clock=_CLOCK)
            secrets = Secrets({**os.environ, _KEY: served.api_key or ""})
            return conduct(order, secrets, [heard.append], stop), heard

    def _keep(self, heard: Sequence[Event]) -> None:
        record = self._around.memory.recording(NAME)
        for event in heard:
            record(event)


def _amiss(run: Run) -> str | None:
    """What is wrong with what was found; `None` where it is the planted fault, of the client it befalls, and no other."""
    bad = [finding for finding in run.findings if pages(finding)]
    right = [f for f in bad if (f.code, f.layer, f.client) == ("blocked.client", Layer.EDGE, _CLIENTS[0])]
    if right and len(bad) == len(right):
        return None
    found = ", ".join(dict.fromkeys(f.code for f in (bad or run.findings))) or "nothing"
    return f"blocked.client of {_CLIENTS[0]} was planted in the built-in lab, and found was: {found}"
