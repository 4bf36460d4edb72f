"""A canary in miniature: a memory of lists, a clock that is set, and turns whose runs hold what a test says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from exchanges import exchange

from probes.alerts import Alerting, Asked
from probes.canary import About, AlertState, Told, Turn
from probes.model import (
    Ask,
    Call,
    Case,
    Client,
    Confidence,
    Finding,
    Layer,
    Reason,
    Route,
    Run,
    Spend,
    Target,
    Trial,
    Verdict,
    WhoActs,
)

START = datetime(2026, 11, 30, 14, 1, tzinfo=UTC)
EVERY = timedelta(minutes=5)
CASE = "smoke/completion"
NAMES = ("curl", "httpx", "openai-py")
TARGET = Target(
    name="prod",
    api="openai",
    model="m",
    routes={"edge": Route("edge", "https://api.example.com/v1")},
)


@dataclass
class Wall:
    time: datetime = START

    def now(self):
        return self.time

    def shown(self, at):
        return at


@dataclass
class Lists:
    """A memory that outlives its user: what was kept, not what was passed by reference."""

    rows: dict = field(default_factory=dict)
    notices: dict = field(default_factory=dict)
    said: list = field(default_factory=list)
    last_passes: dict = field(default_factory=dict)

    def alerts(self, *, open_only=True):
        closed = {AlertState.RESOLVED, AlertState.DISMISSED} if open_only else set()
        return [alert for alert in self.rows.values() if alert.state not in closed]

    def keep(self, alert):
        self.rows[alert.id] = alert

    def notice(self, notice):
        self.notices[notice.id] = notice

    def undelivered(self):
        return sorted((n for n in self.notices.values() if n.settled is None), key=lambda n: n.made)

    def marks(self, since, until=None):
        return [mark for mark in self.said if since <= mark.at and (until is None or mark.at <= until)]

    def turns(self, entry, limit=100):
        return []

    def passed(self, target, vantage, clients, before):
        return {c: self.last_passes[c] for c in clients if self.last_passes.get(c, before) < before}


@dataclass(frozen=True)
class Entry:
    name: str = "smoke-prod"
    target: str = "prod"
    sample: float = 1.0
    alert: object = None


@dataclass(frozen=True)
class KofN:
    k: int
    n: int


@dataclass(frozen=True)
class Receiver:
    name: str = "ops"
    about: tuple = tuple(About)
    min: str = "warn"


@dataclass(frozen=True)
class Planned:
    name: str
    begin: datetime | None = None
    until: datetime | None = None
    cron: str | None = None
    lasts: timedelta | None = None
    timezone: str = "UTC"
    targets: tuple = ()


@dataclass(frozen=True)
class Watching:
    entries: tuple = (Entry(),)
    link: str | None = None
    sinks: tuple = (Receiver(),)
    maintenance: tuple = ()


def finding(code="blocked.client", clients=("openai-py",), verdict=Verdict.FAIL, **more):
    """One finding of `CASE`; its one client by name, several by the exchanges that are its evidence."""
    values = {
        "layer": Layer.EDGE,
        "product": "Cloudflare",
        "vendor_code": "1010",
        "case": CASE,
        "kind": "completion",
        "route": "edge",
        "client": clients[0] if len(clients) == 1 else None,
        "evidence": tuple(f"x-{name}" for name in clients),
        "title": "Refused because of the client software",
        "advice": "Let the API path skip the bot rule.",
        "who_acts": WhoActs.OPERATOR,
        "confidence": Confidence.HIGH,
        **more,
    }
    return Finding(code=code, verdict=verdict, **values)


def good(clients=NAMES, **more):
    return finding(
        "ok", clients, Verdict.PASS, layer=Layer.ORIGIN, product="OpenAI", vendor_code=None, **more
    )


def unclear(clients=("openai-py",), reason=Reason.BUDGET):
    return finding(
        "not_measured", clients, Verdict.INCONCLUSIVE, layer=Layer.PROBE, product=None, reason=reason
    )


def call_of(name, case=CASE, made=None):
    answer = replace(exchange(200, {}), id=f"x-{name}", attribution=made)
    return Call(
        f"{case}:{name}",
        case,
        Trial(name, name, "edge", Ask("chat")),
        1,
        (answer,),
        returned="",
        conditions={},
    )


def run_of(findings, *, names=NAMES, number=1, case=CASE):
    """A run in which each of `names` asked once, with the exchange `x-NAME`."""
    calls = tuple(call_of(name, case) for name in names)
    a_case = Case(case, "smoke", "completion", TARGET, tuple(Client(n, "curl") for n in names), "edge", {}, 1)
    return Run(
        id=f"20261130-{number:06}-abcd", suites=("smoke",), target=TARGET, vantage="fra", started=START,
        finished=START, versions={}, seed=1, time_scale=1.0, verdict=Verdict.PASS, spend=Spend(), cases=(a_case,),
        calls=calls, findings=tuple(findings),
    )  # fmt: skip


class Scene:
    """A canary that is watched: each turn is five minutes after the one before."""

    def __init__(self, *, deliver=None, memory=None, **watching):
        self.memory, self.wall, self.watching = memory or Lists(), Wall(), Watching(**watching)
        self.number, self.deliver = 0, deliver
        self.restart()

    def restart(self):
        """Another process, that knows what the memory holds."""
        self.alerting = Alerting(
            self.memory, self.watching, self.wall, self.deliver, interval=lambda _: EVERY
        )

    def turn(
        self,
        *asked,
        entry=None,
        conclusive=None,
        missed=None,
        reason=None,
        after=EVERY,
        names=NAMES,
        took=timedelta(),
        answered=None,
        served=None,
    ):
        """A turn whose run found what `asked` begins with, and each time it was asked again the next of it; `took`: until
        it ended; `answered`: until its calls had; `served`: when somebody was last let in, where nobody was.
        """
        entry = entry or self.watching.entries[0]
        self.wall.time += after
        self.number += 1
        runs = [run_of(found, names=names, number=self.number) for found in asked]
        seen = bool(runs) and missed is None if conclusive is None else conclusive
        began = self.wall.time
        self.wall.time += took
        turn = Turn(
            entry.name, entry.target, due=began, began=began, ended=self.wall.time,
            run=runs[0].id if runs else None, conclusive=seen, missed=missed, reason=reason,
        )  # fmt: skip
        heard = {} if answered is None else {f"{CASE}:{name}": began + answered for name in names}
        came = [Asked(run, run.findings, run is not runs[0], heard, served) for run in runs]
        first, again = (came[0], came[1:]) if came else (None, ())
        self.alerting.observe(turn, first, entry=entry, again=again)
        return self

    def tick(self, after=EVERY):
        self.wall.time += after
        self.alerting.tick()

    @property
    def told(self):
        """(what, code) of every notice, in order."""
        return [(n.told.value, n.alert.key.code) for n in self.memory.notices.values()]

    @property
    def open(self):
        return self.alerting.open()

    @property
    def last(self):
        return list(self.memory.notices.values())[-1]

    def count(self, told: Told):
        return sum(notice.told is told for notice in self.memory.notices.values())
