"""What is asked in one turn, and what of it is believed?"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from probes.alerts.evidence import Asked
from probes.alerts.rules import confirmations, pages
from probes.budget import Governor
from probes.conduct import conduct, emitter
from probes.credentials import Secrets
from probes.errors import UsageError
from probes.log import log
from probes.model import Called, Finished, Found
from probes.runner import worst
from probes.watch import control
from probes.watch.again import again, but_served, serves, unwell
from probes.watch.history import by_history
from probes.watch.judging import OWN, STALL, clocked, doubted, longest
from probes.watch.knock import knock
from probes.watch.looks import UNCHANGED, Look
from probes.watch.past import Past
from probes.watch.unheard import unheard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from probes.clock import Clock
    from probes.conduct import Order
    from probes.model import Event, Finding, Run, Sink, Spend
    from probes.pace import Pace
    from probes.stop import Stop
    from probes.watch.looks import Looks
    from probes.watch.needs import Alerting, Entry, Metrics, Wall
    from probes.watch.past import Memory
    from probes.wire.lag import Lag


@dataclass(frozen=True, slots=True)
class Around:
    """What turns are told to and taken by. `rule`: how sure a failure must be, (k, n)."""

    memory: Memory
    alerting: Alerting
    metrics: Metrics
    clock: Clock
    wall: Wall
    rule: Callable[[Finding, Entry], tuple[int, int]] = confirmations
    sinks: tuple[Sink, ...] = ()
    secrets: Secrets = field(default_factory=Secrets)
    lag: Lag = OWN
    knock: Callable[[str], int | str] = knock
    looks: Looks | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """`again`: the failing cases asked once more, and what was found then. `excuse`: why failures were not believed.
    `spent`: by each run of the turn. `look`: what the first one confirms of a changed look.
    """

    first: Asked
    again: tuple[Asked, ...] = ()
    excuse: str | None = None
    spent: tuple[Spend, ...] = ()
    look: Look = UNCHANGED


class Asking:
    """The requests of one turn, all within one budget of a run and the day's."""

    def __init__(
        self,
        around: Around,
        control_url: str | None,
        order: Order,
        pace: Pace,
        stop: Stop,
        entry: Entry,
        *,
        long: bool = False,
    ) -> None:
        self._around, self._control, self._order = around, control_url, order
        self._pace, self._stop, self._entry = pace, stop, entry
        self._long = long
        self._excuse: str | None = None
        self._spent: list[Spend] = []
        self._look = UNCHANGED
        self._heard: dict[str, datetime] = {}
        self._served: datetime | None = None

    def turn(self) -> Judged:
        first = self._judged(self._order)
        if not any(map(pages, first.findings)) or self._stop.reason is not None:
            return Judged(first, (), self._excuse, tuple(self._spent), self._look)
        first = self._by_a_second_check(first)
        if self._cut_off([first]):
            first = self._disbelieved(first)
        came = again(first, self._again, lambda finding: self._around.rule(finding, self._entry))
        if came and self._cut_off(came):
            first, came = self._disbelieved(first), [self._disbelieved(asked) for asked in came]
        return Judged(first, tuple(came), self._excuse, tuple(self._spent), self._look)

    def _again(self, cases: tuple[str, ...] | None) -> Asked | None:
        if self._stop.reason is not None or self._pace.paused is not None:
            return None
        return replace(self._judged(replace(self._order, cases=cases)), part=True)

    def _judged(self, order: Order) -> Asked:
        """A run with what is found in it beside its own findings, and without what our own lag made."""
        began = time.monotonic()
        with self._around.lag.watched():
            run = self._conducted(order)
        stalled = longest(self._around.lag.since(began))
        asked = Asked(run, run.findings, heard=self._heard, served=self._served)
        if stalled < STALL:
            return asked
        why = f"edgeprobe itself stood still for {stalled:.1f} s meanwhile"
        if spoilt := [f for f in run.findings if pages(f) and clocked(f, run)]:
            self._excuse = f"our own lag: {why}"
        return replace(asked, findings=[doubted(f, why) if f in spoilt else f for f in run.findings])

    def _conducted(self, order: Order) -> Run:
        """Recorded with what memory adds to it."""
        around = self._around
        emit = emitter([around.memory.recording(self._entry.name), *around.sinks])
        governor = Governor(order.target, order.clock, self._stop, self._pace, long=self._long)
        began = around.wall.now()
        self._heard, self._served = {}, None
        sinks = [self._hears, _until_finished(emit)]
        run = conduct(order, around.secrets, sinks, self._stop, governor)
        self._spent.append(run.spend)
        findings = self._remembered(run, began)
        if order is self._order:
            self._look = self._looked_at(replace(run, findings=findings), began)
            findings = (*findings, *self._look.findings)
        if known_better := [finding for finding in findings if finding not in run.findings]:
            run = replace(run, findings=findings, verdict=worst(findings))
            for finding in known_better:
                emit(Found(finding))
        emit(Finished(run))
        return run

    def _remembered(self, run: Run, began: datetime) -> tuple[Finding, ...]:
        """A store that cannot be read knows of no better times; that is told of it, and measuring goes on."""
        past = Past(run, self._around.memory, began, self._around.wall.shown)
        try:
            self._served = max(past.of(unheard(run)).times.values(), default=None)
            return by_history(run, past)
        except UsageError as fault:
            log(str(fault))
            return run.findings

    def _looked_at(self, run: Run, began: datetime) -> Look:
        """As above."""
        looks = self._around.looks
        try:
            return UNCHANGED if looks is None else looks.of(self._entry, run, began)
        except UsageError as fault:
            log(str(fault))
            return UNCHANGED

    def _hears(self, event: Event) -> None:
        if isinstance(event, Called):
            self._heard[event.call.id] = self._around.wall.now()

    # --- whose fault it may be -----------------------------------------------------------------------------

    def _by_a_second_check(self, asked: Asked) -> Asked:
        if not (notes := unwell(asked.findings)):
            return asked
        if not serves(asked.run):
            order = replace(self._order, suites=("smoke",), overrides=None, cases=("smoke/completion",))
            if not serves(self._conducted(order)):
                return asked
        return replace(asked, findings=[but_served(f) if f in notes else f for f in asked.findings])

    def _cut_off(self, asked: Sequence[Asked]) -> bool:
        """Whether our own way out is broken, asked only where that could be why."""
        if not any(pages(f) and control.doubtful(f) for one in asked for f in one.findings):
            return False
        answer = control.ask(self._control, self._around.knock)
        if answer.ok is not None:
            self._around.metrics.control(answer.ok)
        if answer.ok is False:
            self._excuse = f"our own network: the control address gave {answer.fault}"
        return answer.ok is False

    def _disbelieved(self, asked: Asked) -> Asked:
        why = self._excuse or "our own network"
        found = [doubted(f, why) if pages(f) and control.doubtful(f) else f for f in asked.findings]
        return replace(asked, findings=found)


def _until_finished(sink: Sink) -> Sink:
    """The end of a run is told when it was judged."""

    def emit(event: Event) -> None:
        if not isinstance(event, Finished):
            sink(event)

    return emit
