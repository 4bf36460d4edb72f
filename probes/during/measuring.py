"""How do probes and a command run beside each other, and become a run?"""

from __future__ import annotations

import secrets as entropy
import threading
import time
import traceback
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from probes import clients, config
from probes.acceptance import accepted
from probes.budget import Governor
from probes.clock import Clock
from probes.conduct import bench_for, versions
from probes.during.child import Child, missing, signals
from probes.during.judging import judged
from probes.during.plan import KNOCKS, STREAMS, Timetable, held, knocks
from probes.during.timed import Command
from probes.errors import UsageError
from probes.live import Live
from probes.model import Case, Run, Verdict
from probes.passive import passive
from probes.rejudge import BESIDE as SUITE
from probes.reproducers import reproducible
from probes.routed import routed
from probes.runner import bug, drive, worst
from probes.stop import Stop
from probes.store import new_id
from probes.suite import default_route

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from probes.credentials import Secrets
    from probes.during.plan import Lane
    from probes.live import Bench
    from probes.model import Call, Finding, Planned, Spend, Target, Trial

_MINUTE = 60.0
_LONGEST_AFTER, _SHORTEST_AFTER = 60.0, 5.0
"""Seconds for which streams that were open when the command ended are waited for, and for which others are asked."""
_TICK = 0.05


@dataclass(frozen=True, slots=True)
class Order:
    """Seconds `before` and `after` the command (`None`: until the streams that were open at its end are over), `every`
    between two short requests; `streams` of `tokens` at once.
    """

    target: Target
    words: tuple[str, ...]
    client: str | None = None
    before: float = 8.0
    after: float | None = None
    every: float = 1.0
    streams: int = 3
    tokens: int = 1000
    clock: Clock = field(default_factory=Clock)


@dataclass(frozen=True, slots=True)
class Done:
    """`code`: the command's; `None` where it was not begun. `run`: `None` where nothing was measured either."""

    code: int | None
    run: Run | None


def measure(order: Order, secrets: Secrets, say: Callable[[str], None]) -> Done:
    """Raises UsageError, before anything is sent or run, for a mistake in the call. `say`: what happens meanwhile."""
    knocking, holding = _cases(order, secrets)
    if (code := missing(order.words[0])) is not None:
        return Done(code, None)
    stop = Stop()
    bench = bench_for(
        order.target, secrets, order.clock, Governor(order.target, order.clock, stop), stop, lambda _: None
    )
    began, since = datetime.now(UTC), time.monotonic()
    times = Timetable(order.clock, stop)
    child = Child(order.words, times.now)

    def interrupted() -> None:
        times.over.set()
        stop("interrupted")

    lanes = _Lanes(bench, times)
    with signals(child, interrupted):
        lanes.start(knocking, knocks(knocking, times))
        for number in range(1, int(holding.params["streams"]) + 1):
            lanes.start(holding, held(holding, times, number))
        command = _run(order, child, times, stop, say)
        asked_to_stop = stop.reason is not None
        times.over.set()
        lanes.end()
    calls = lanes.calls()
    findings = judged(
        knocking,
        holding,
        calls,
        replace(command, interrupted=asked_to_stop, waited=bench.governor.waited),
        bench.redactor.text,
    )
    for case in (knocking, holding):
        own = [call for call in calls if call.case == case.id]
        findings += passive(case, own, {finding.code for finding in findings})
    findings += [*routed(calls, SUITE), *lanes.bugs]
    findings = reproducible(findings, calls, (knocking, holding))
    findings = [accepted(finding, order.target, bench.today) for finding in findings]
    return Done(
        command.code,
        _as_run(order, (knocking, holding), calls, findings, bench.governor.spend, (began, since)),
    )


def _run(order: Order, child: Child, times: Timetable, stop: Stop, say: Callable[[str], None]) -> Command:
    """The time before, the command, and the time after it."""
    clock, name = order.clock, order.words[0]
    say(f"asking {order.target.name} for {order.before:g} s before {name} begins")
    times.warm.wait()
    stop.wait(clock.machine(order.before))
    command = Command(order.words, began=times.now())
    if stop.reason is not None:
        return command
    say(f"{name} begins")
    began = time.monotonic()
    try:
        child.start()
    except OSError as fault:
        say(f"{name}: {fault.strerror}")
        return replace(command, code=126, fault=fault.strerror)
    code = child.wait()
    ended, open_then = times.now(), set(times.held_open)
    streams = f" and {len(open_then)} open streams" if order.after is None and open_then else ""
    say(
        f"{name} ended with {code} after {time.monotonic() - began:.1f} s; asking on for {_seconds(order)}{streams}"
    )
    _after(order, open_then, ended, times, stop)
    return replace(command, code=code, ended=ended, lines=tuple(sorted(child.lines)), more=child.more)


def _seconds(order: Order) -> str:
    return f"{order.after if order.after is not None else _SHORTEST_AFTER:g} s"


def _after(order: Order, open_then: set[str], ended: float, times: Timetable, stop: Stop) -> None:
    least, most = (_SHORTEST_AFTER, _LONGEST_AFTER) if order.after is None else (order.after, order.after)
    while stop.reason is None:
        gone = times.now() - ended
        if gone >= most or (gone >= least and not open_then & times.held_open):
            return
        stop.wait(_TICK)


class _Placed(Live):
    """Gives each call its begin on the one clock of all, as if the whole of the measuring were one step; it never gives up."""

    def __init__(self, case: Case, bench: Bench, times: Timetable) -> None:
        super().__init__(case, bench, patience=float("inf"))
        self._times = times
        self._began = 0.0

    def due(self, trial: Trial) -> float:
        self._began = self._times.now()
        return super().due(trial)

    def __call__(self, planned: Sequence[Planned]) -> list[Call]:
        calls = super().__call__(planned)
        return [replace(call, trial=replace(call.trial, start=round(self._began, 6))) for call in calls]


class _Lanes:
    """Flows side by side, each with a `send` of its own: what one waits for holds up no other."""

    def __init__(self, bench: Bench, times: Timetable) -> None:
        self._bench = bench
        self._times = times
        self._threads: list[threading.Thread] = []
        self._calls: list[Call] = []
        self.bugs: list[Finding] = []
        self._lock = threading.Lock()
        self._open = ExitStack()

    def start(self, case: Case, lane: Lane) -> None:
        live = self._open.enter_context(closing(_Placed(case, self._bench, self._times)))
        live.sender(case.clients[0].name)  # an SDK's import must delay nothing that is on the clock

        def work() -> None:
            try:
                placed = drive(lane, live)
            except Exception:  # noqa: BLE001 - told: a bug of ours must not cost the command its exit code
                self.bugs.append(bug(case, self._bench.redactor.text(traceback.format_exc())))
                placed = []
            finally:
                self._times.warm.set()
            names = {call.id for call in placed}
            with self._lock:
                self._calls += [*placed, *(call for call in live.calls if call.id not in names)]

        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def end(self) -> None:
        """The short request under way may end by itself, the long ones are ended."""
        self._bench.stop.join(self._threads[0])
        self._bench.stop("interrupted")
        for thread in self._threads:
            thread.join()
        self._open.close()

    def calls(self) -> list[Call]:
        return sorted(self._calls, key=lambda call: (call.case, call.trial.start))


def _cases(order: Order, secrets: Secrets) -> tuple[Case, Case]:
    target, route = order.target, default_route(order.target)
    config.conversation(target)
    secrets.key(target)
    secrets.headers(target.routes[route])
    secrets.client_cert(target.routes[route])
    chosen = config.select(config.clients(), order.client or "genuine", target)
    refused = {c.name: clients.unavailable(c) or clients.unsuited(c, target.routes[route]) for c in chosen}
    usable = [client for client in chosen if refused[client.name] is None]
    if not usable:
        said = "; ".join(f"{name}: {why}" for name, why in refused.items())
        raise UsageError(f"no client can be used here: {said or f'{order.client} is of another API'}")
    rate = target.limits.per_minute
    params = {
        # Half of the rate is left to the long streams.
        "every": max(order.every, 2 * _MINUTE / rate) if rate else order.every,
        "streams": max(min(order.streams, target.limits.concurrency - 1), 0),
        "tokens": order.tokens,
        "apart": 2.5,
        "wanted": order.streams,
    }
    seed = entropy.randbelow(2**31)
    first, second = (
        Case(
            f"{SUITE}/{kind}", SUITE, kind, target, (usable[0],), route, params, seed,
            keyed=True, time_scale=order.clock.scale,
        )
        for kind in (KNOCKS, STREAMS)
    )  # fmt: skip
    return first, second


def _as_run(
    order: Order,
    cases: tuple[Case, ...],
    calls: Sequence[Call],
    findings: Sequence[Finding],
    spent: Spend,
    began: tuple[datetime, float],
) -> Run:
    """`began`: by the calendar, and by a clock that nobody sets."""
    started, since = began
    return Run(
        id=new_id(started),
        suites=(SUITE,),
        target=order.target,
        vantage=order.target.vantage,
        started=started,
        finished=started + timedelta(seconds=time.monotonic() - since),
        versions=versions(cases),
        seed=cases[0].seed,
        time_scale=order.clock.scale,
        verdict=worst(findings) if findings else Verdict.INCONCLUSIVE,
        spend=spent,
        cases=cases,
        calls=tuple(calls),
        findings=tuple(findings),
    )
