"""How is a planned trial put on the wire?"""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from secrets import token_hex
from typing import TYPE_CHECKING

from probes import clients
from probes.allowance import Allowance
from probes.attempts import attempts, pauses
from probes.attribution import attribute
from probes.circumstances import Circumstances
from probes.endings import SILENT, broke
from probes.model import Call, Called, Case, NotSent, Timeline, call_id, unsent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.budget import Governor
    from probes.circumstances import Under
    from probes.clock import Clock
    from probes.credentials import Secrets
    from probes.model import Exchange, Planned, Route, Sink, Trial
    from probes.output_cap import OutputCap
    from probes.redact import Redactor
    from probes.signatures import Catalogue
    from probes.stop import Stop

SILENT_IN_A_ROW = 2
_LESSONS = 3
"""Parameters of ours that one request may be refused for, one after the other."""
SHORTEST = 1.5
"""Machine seconds that a deadline in scaled time may be."""
RESOLUTION = 0.01
"""Machine seconds that a time measured here may be off: threads of one process take turns."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What all cases of a live run share. `emit` never raises; `today` decides which acceptances hold."""

    clock: Clock
    governor: Governor
    secrets: Secrets
    redactor: Redactor
    catalogue: Catalogue
    emit: Sink
    stop: Stop
    output_cap: OutputCap
    today: date
    nonce: str = field(default_factory=token_hex)


class Live:
    """The live `send` of one case, to be closed when it is over. `patience`: steps without a byte until it gives up."""

    def __init__(self, case: Case, bench: Bench, patience: float = SILENT_IN_A_ROW) -> None:
        self._case = case
        self._bench = bench
        self._senders: dict[str, clients.Sender] = {}
        self._sessions: dict[tuple[str, str, str], clients.Session] = {}
        self._open = ExitStack()
        self._lock = threading.Lock()
        self._silent, self._patience = 0, patience
        self._allowance = Allowance(case, bench.clock)
        self._circumstances = Circumstances(bench.nonce, case.target.limits.concurrency)
        self.calls: list[Call] = []

    def close(self) -> None:
        self._open.close()

    def __call__(self, planned: Sequence[Planned]) -> list[Call]:
        why = self._refusal()
        step = self._circumstances.salted(planned)
        trials = [trial for (trial, _), _ in step]
        bought = [why] * len(step) if why else self._bench.governor.reserve(trials)
        jobs = [
            _Job(self, trial, repeat, under)
            if refused is None
            else self._unsent(trial, repeat, refused, affords=self._affords(refused, trial, trials))
            for ((trial, repeat), under), refused in zip(step, bought, strict=True)
        ]
        threads = [job for job in jobs if isinstance(job, _Job)]
        for job in threads:
            self.sender(job.trial.client)  # an SDK's import must neither be timed nor delay a trial beside it
        with self._allowance.running():
            for job in threads:
                job.start()
            for job in threads:
                self._bench.stop.join(job)
        outcomes = [job.outcome() if isinstance(job, _Job) else job for job in jobs]
        calls = [outcome for outcome in outcomes if isinstance(outcome, Call)]
        before = self._silent
        for call in calls:
            self._note(call)
        if all(last.status is not None or broke(last) for call in calls if (last := call.last) is not None):
            self._silent = min(self._silent, before + 1)  # one moment, however many tried in it
        for outcome in outcomes:
            if not isinstance(outcome, Call):
                raise outcome
        return calls

    def _refusal(self) -> NotSent | None:
        if self._bench.stop.reason is not None:
            return NotSent.INTERRUPTED
        return NotSent.UNAVAILABLE if self._silent >= self._patience else None

    def _note(self, call: Call) -> None:
        last = call.last
        with self._lock:
            if last is not None:
                silent = last.status is None and last.error is not None and last.error.kind in SILENT
                self._silent = self._silent + 1 if silent else 0
            self.calls.append(call)
        self._bench.emit(Called(call))

    def admit(self, trial: Trial, repeat: int, planned_at: float, under: Under) -> Call:
        """Wait for the trial's start and its admission, then send it; again where only the probe's own parameters were refused."""
        bench = self._bench
        bench.stop.wait(bench.clock.machine(planned_at - bench.clock.now()))
        with bench.output_cap.turn(trial) as named:
            sent = named if bench.governor.swap(trial, named) else trial
            call = self._admitted(sent, repeat, planned_at, under)
            for lesson in range(_LESSONS):
                if not bench.output_cap.learns(sent, call):
                    break
                sent = bench.output_cap.named(trial)
                [refused] = bench.governor.reserve([sent])
                if refused is not None:
                    break
                self._note(self._relabelled(call, lesson))
                call = self._admitted(sent, repeat, bench.clock.now(), under)
            return call

    def _admitted(self, trial: Trial, repeat: int, planned_at: float, under: Under) -> Call:
        bench = self._bench
        left = self._allowance.left()
        with bench.governor.admitted(trial, None if left is None else bench.clock.now() + left) as why:
            if why is not None:
                return self._unsent(trial, repeat, why)
            if not self._allowance.enough(self._asked(trial)):
                bench.governor.give_back(trial)
                return self._unsent(trial, repeat, NotSent.BUDGET, self._allowance.used_up)
            call = self._send(trial, repeat, planned_at, under)
            bench.governor.settle(trial, call)
            return call

    def _relabelled(self, call: Call, lesson: int) -> Call:
        """A call that no flow asked for, under a label of its own."""
        label = f"output_cap/{f'{lesson + 1}/' if lesson else ''}{call.trial.label}"
        name = call_id(self._case, label, call.repeat)
        exchanges = tuple(replace(e, id=f"{name}/{hop}") for hop, e in enumerate(call.exchanges))
        return replace(call, id=name, trial=replace(call.trial, label=label), exchanges=exchanges)

    def _send(self, trial: Trial, repeat: int, planned_at: float, under: Under) -> Call:
        bench, limits, deadline = self._bench, self._case.target.limits, self._deadline(trial)
        with bench.stop.listening() as on_stop, ExitStack() as fresh:
            session = self._session(trial, fresh)
            lag = bench.clock.now() - planned_at  # with what it took to build a client
            sending = clients.SendLimits(
                deadline=deadline,
                body_bytes=int(limits.body_mib * 1024 * 1024),
                on_stop=on_stop,
                may_go_on=bench.governor.hops(attempts(trial)),
            )
            known = self._circumstances.begin(trial, under) | {"deadline": round(deadline, 6)}
            started = datetime.now(UTC)
            outcome = session.send(trial, sending)
        name = call_id(self._case, trial.label, repeat)
        call = Call(
            id=name,
            case=self._case.id,
            trial=trial,
            repeat=repeat,
            exchanges=tuple(_settled(e, f"{name}/{hop}") for hop, e in enumerate(outcome.exchanges)),
            returned=outcome.returned,
            raised=outcome.raised,
            conditions={**known, "resolution": RESOLUTION / bench.clock.scale},
            own_lag=round(max(lag, 0.0), 6),
            started=started,
        )
        echoes = [bench.redactor.echoed(exchange) for exchange in call.exchanges]
        call = bench.redactor.call(call)
        attributed = tuple(
            replace(
                e,
                attribution=attribute(e, bench.catalogue),
                conditions={**e.conditions, **({"secret_echoed": echo} if echo else {})},
            )
            for e, echo in zip(call.exchanges, echoes, strict=True)
        )
        ours = self._circumstances.end(call)
        return replace(call, exchanges=attributed, conditions={**call.conditions, **ours})

    def _asked(self, trial: Trial) -> float:
        return self._case.target.limits.deadline if trial.deadline is None else trial.deadline

    def _unsent(
        self, trial: Trial, repeat: int, why: NotSent, because: str | None = None, affords: int | None = None
    ) -> Call:
        because = self._bench.governor.pause if why is NotSent.PAUSED else because
        call = unsent(self._case, trial, repeat, why, because, affords)
        overran = why is NotSent.BUDGET and self._bench.governor.overran
        return replace(call, conditions={**call.conditions, "overran": True}) if overran else call

    def _affords(self, why: NotSent, trial: Trial, planned: Sequence[Trial]) -> int | None:
        """The output cap that the budget bears for a trial, and for those that are bought with it."""
        if why is not NotSent.BUDGET:
            return None
        together = [other for other in planned if trial.pair is not None and other.pair == trial.pair]
        return self._bench.governor.most(together or [trial])

    def _deadline(self, trial: Trial) -> float:
        """In scaled time never less than what this machine can keep."""
        scale, seconds = self._bench.clock.scale, self._allowance.at_most(self._asked(trial))
        least = 0.0 if scale == 1.0 else SHORTEST / scale
        return max(seconds, least) + pauses(trial, scale)

    def sender(self, name: str) -> clients.Sender:
        with self._lock:
            if name not in self._senders:
                client = self._case.client(name)
                setting = clients.Setting(client, self._case.target, self._bench.secrets, self._bench.clock)
                self._senders[name] = clients.sender_class(client)(setting)
            return self._senders[name]

    def _session(self, trial: Trial, fresh: ExitStack) -> clients.Session:
        """The trial's named session, or one of its own that ends with `fresh`."""
        route = self._case.target.routes[trial.route]
        sender = self.sender(trial.client)
        if trial.session is None:
            return fresh.enter_context(_opened(sender, route))
        key = (trial.client, trial.route, trial.session)
        with self._lock:
            if key not in self._sessions:
                self._sessions[key] = self._open.enter_context(_opened(sender, route))
            return self._sessions[key]

    @property
    def case(self) -> Case:
        return self._case

    def due(self, trial: Trial) -> float:
        return self._bench.clock.now() + trial.start


@contextmanager
def _opened(sender: clients.Sender, route: Route) -> Iterator[clients.Session]:
    session = sender.connect(route).__enter__()
    try:
        yield session
    finally:
        # Seam 1 again: what a client raises as it closes, such as over a call that a stop left behind, comes too late.
        with suppress(Exception):
            session.__exit__(None, None, None)


def _settled(exchange: Exchange, name: str) -> Exchange:
    """With its id, and its times to the microsecond as the store keeps them: a replay then sees the very same."""
    times = {f.name: getattr(exchange.timeline, f.name) for f in fields(exchange.timeline)}
    return replace(
        exchange,
        id=name,
        timeline=Timeline(**{name: None if at is None else round(at, 6) for name, at in times.items()}),
        chunk_times=tuple(round(at, 6) for at in exchange.chunk_times),
        event_times=tuple(round(at, 6) for at in exchange.event_times),
    )


class _Job(threading.Thread):
    """One trial on a thread of its own, which does not hold the process back."""

    def __init__(self, live: Live, trial: Trial, repeat: int, under: Under) -> None:
        super().__init__(name=trial.label, daemon=True)
        self.trial = trial
        self._live = live
        self._repeat = repeat
        self._under = under
        self._call: Call | None = None
        self._error: BaseException | None = None
        self._due = 0.0

    def start(self) -> None:
        self._due = self._live.due(self.trial)
        super().start()

    def run(self) -> None:
        try:
            self._call = self._live.admit(self.trial, self._repeat, self._due, self._under)
        except BaseException as error:  # noqa: BLE001 - not swallowed: the lane raises it
            self._error = error

    def outcome(self) -> Call | BaseException:
        """The call, or what broke; after a stop, one that does not come back was interrupted."""
        never = unsent(self._live.case, self.trial, self._repeat, NotSent.INTERRUPTED)
        return self._error or self._call or never
