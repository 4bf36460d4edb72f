"""Days of a whole canary beside a lab: real files, memory, alerting and webhook, and a time that jumps from one thing to
the next.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from receiving import OK, receiving

from probes import lab as laboratory
from probes.clock import Clock
from probes.memory import Memory
from probes.watch import command
from probes.watch.loop import Watch
from probes.watch.watched import load

if TYPE_CHECKING:
    import pytest

    from probes.canary import Turn

SCALE = 0.1
"""So that a machine that is busy is not slow for the lab's deadlines."""
START = datetime(2026, 11, 30, tzinfo=UTC)
SECRET = "a secret of both"
TARGET = """\
version: 1
name: {name}
api: openai
model: {model}
key_env: LAB_KEY
endpoints: [chat, models]
routes:
  edge: {{base_url: {url}}}
"""
SUITES = {
    "chat": "{kind: completion, clients: [openai-py, httpx, curl]}",
    "list": "{kind: models, clients: [httpx]}",
}


class Jumping:
    """A wall's time that stands still while turns are taken, and `jumps` in between."""

    scale = SCALE

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.jumped = 0.0
        self.between: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self.at

    def go_on(self, last: datetime | None) -> None:
        """It is set by its day alone."""

    def shown(self, at: datetime) -> datetime:
        return at

    def wait(self, seconds, wake) -> bool:
        self.between()
        return wake.is_set()

    def jump(self, to: datetime) -> None:
        """Time passes."""
        self.jumped += max((to - self.at).total_seconds(), 0.0)
        self.at = max(to, self.at)

    def set(self, by: timedelta) -> None:
        """Somebody sets the clock: no time passes."""
        self.at += by


@dataclass(frozen=True)
class Skipping(Clock):
    """What was jumped over has passed for this one, too, but not what was set."""

    wall: Jumping | None = None

    def now(self) -> float:
        assert self.wall is not None
        return time.monotonic() / self.scale + self.wall.jumped


@dataclass(frozen=True)
class Heard:
    """What the webhook was told, `at` the day's hour when it was made."""

    told: str
    about: str
    code: str
    at: float
    alert: dict


@dataclass
class Day:
    """`plan`: what happens at which hour. `run` goes through it, `again` has another process go on from then."""

    lab: laboratory.Lab
    receiver: object
    wall: Jumping
    plan: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    taken: list[tuple[str, float]] = field(default_factory=list)
    """Entries in the order of their turns, each with the hours that had passed, whatever clocks were set to."""
    parts: object = None
    watch: Watch | None = None
    processes: int = 0
    _again: bool = False

    @property
    def hour(self) -> float:
        return self.hour_of(self.wall.at)

    @staticmethod
    def hour_of(at: datetime) -> float:
        return (at - START).total_seconds() / 3600

    def at(self, hour: float, do: Callable[[], object]) -> None:
        self.plan.append((hour, do))

    def broken(self, begin: float, end: float, *faults) -> None:
        self.at(begin, partial(self.lab.arm, faults))
        self.at(end, partial(self.lab.arm, ()))

    def again(self) -> None:
        self._again = True
        self.watch.signalled("SIGTERM")

    def full(self, *, disk: bool) -> None:
        """As SQLite meets a full disk: by its own bound of the file's size."""
        connection = self.parts.memory._database.engine.raw_connection()
        connection.cursor().execute(f"PRAGMA max_page_count = {1 if disk else 1_000_000}")
        connection.close()

    def deaf(self, *, sink: bool) -> None:
        """The webhook closes every connection without a word."""

        def unheard(_):
            self.receiver.heads.pop()
            self.receiver.bodies.pop()

        self.receiver.answers[:] = [unheard if sink else OK]

    def step(self, hours: float) -> None:
        self.wall.set(timedelta(hours=hours))

    def write(self, text: str) -> None:
        Path("configs/canary.yaml").write_text(text)

    # --- going through it ---

    def run(self, until: float) -> None:
        self.plan.sort(key=lambda step: step[0])
        over = START + timedelta(hours=until)
        while self.wall.at < over:
            self._again = False
            self._process(over)
            assert self._again or self.wall.at >= over

    def _process(self, over: datetime) -> None:
        self.processes += 1
        read = partial(load, None)
        watched = read()
        with command._parts(watched, self.wall) as self.parts:
            memory = self.parts.memory

            def last(entry):
                return next((turn.due for turn in memory.turns(entry, 1)), None)

            self._count()
            self.watch = Watch(watched, self.parts, self.wall, read, last=last)
            self.wall.between = partial(self._between, over)
            assert self.watch.run() == 0
            settled()

    def _count(self) -> None:
        take = self.parts.take

        def counted(entry, due, stop):
            self.taken.append((entry.name, self.wall.jumped / 3600))
            return take(entry, due, stop)

        self.parts.take = counted

    def _between(self, over: datetime) -> None:
        assert self.watch._lanes.idle(60)
        self.parts.look_at_marks(self.wall.at, self.watch.ask)
        assert self.watch._lanes.idle(60)
        self.parts.look_at_marks(self.wall.at, self.watch.ask)
        self.parts.tell(self.wall.at)
        settled()
        if self.wall.at >= over:
            self.watch.signalled("SIGTERM")
            return
        times = list(self.watch.next_times().values())
        if self.plan:
            times.append(START + timedelta(hours=self.plan[0][0]))
        self.wall.jump(min([*times, over]))
        while self.plan and self.plan[0][0] <= self.hour and not self._again:
            self.plan.pop(0)[1]()

    # --- what came of it ---

    @property
    def heard(self) -> list[Heard]:
        """What the webhook took, each proven to be ours by its signature."""
        said = []
        for number, body in enumerate(self.receiver.bodies):
            proven(self.receiver.headers(number), body)
            notice = json.loads(body)
            key, hour = notice["alert"]["key"], self.hour_of(datetime.fromisoformat(notice["made"]))
            said.append(Heard(notice["told"], key["about"], key["code"], hour, notice["alert"]))
        return said

    def outbreaks(self, about: str = "service") -> list[tuple[str, float, float | None]]:
        """(code, hour when it was opened, hour when it was resolved) of each alert, told once each."""
        alerts: dict[str, list[Heard]] = {}
        for one in self.heard:
            if one.about == about and one.told != "updated":
                alerts.setdefault(one.alert["id"], []).append(one)
        for told in alerts.values():
            assert [one.told for one in told] in (["opened"], ["opened", "resolved"])
        return [(told[0].code, told[0].at, told[-1].at if told[1:] else None) for told in alerts.values()]

    def turns(self, entry: str) -> list[Turn]:
        """Oldest first."""
        with Memory.open(now=self.wall.now) as memory:
            return memory.turns(entry, 1000)[::-1]


def proven(headers: dict[str, str], body: bytes) -> None:
    """As reports/README.md tells receivers to."""
    at, _, mac = headers["edgeprobe-signature"].partition(",v1=")
    signed = at.removeprefix("t=").encode() + b"." + body
    assert hmac.compare_digest(hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest(), mac)


def settled() -> None:
    """When no sink is being sent to."""
    for thread in threading.enumerate():
        if thread.name.startswith("sink "):
            thread.join(60)


@contextmanager
def day(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """In `folder`, with a target `lab`; the canary's file is the test's own."""
    with laboratory.serve(clock=Clock(SCALE), tpot=0.02, prefill=0.2) as lab, receiving() as receiver:
        for name in ("configs/targets", "suites"):
            (folder / name).mkdir(parents=True)
        text = TARGET.format(name="lab", model=lab.model, url=lab.base_url)
        (folder / "configs/targets/lab.yaml").write_text(text)
        for name, case in SUITES.items():
            (folder / f"suites/{name}.yaml").write_text(f"version: 1\nname: {name}\ncases:\n  - {case}\n")
        monkeypatch.chdir(folder)
        for name, value in {
            "EDGEPROBE_REPORTS": str(folder / "reports"), "LAB_KEY": lab.api_key, "HOOK": receiver.url, "HOOK_KEY": SECRET,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        wall = Jumping(START)
        monkeypatch.setattr(command, "Clock", lambda scale: Skipping(scale, wall))
        yield Day(lab, receiver, wall)
