"""A canary whose turns are a test's own, in this process or as a program that signals are sent to."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from probes.canary import Missed, Turn
from probes.model import Verdict
from probes.watch.config import Canary
from probes.watch.loop import Watch
from probes.watch.wall import Wall
from probes.watch.watched import Watched, load

FAST = 0.02


@dataclass
class Turns:
    """Each takes as long as `held` is shut; those of entries named `long…` need a lane of their own."""

    held: threading.Event = field(default_factory=threading.Event)
    holds: tuple[str, ...] = ()
    raises: Exception | None = None
    taken: list[str] = field(default_factory=list)
    missing: list[tuple[str, Missed, str | None]] = field(default_factory=list)
    dues: list[datetime] = field(default_factory=list)
    since: list[datetime | None] = field(default_factory=list)
    interrupted: list[str] = field(default_factory=list)
    canaries: list[Canary] = field(default_factory=list)
    verdict: Verdict = Verdict.PASS
    conclusive: bool = True
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    news: threading.Condition = field(default_factory=threading.Condition)

    def take(self, entry, due, stop):
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        with self.news:
            self.taken.append(entry.name)
            self.dues.append(due)
            self.news.notify_all()
        try:
            if self.raises is not None:
                raise self.raises
            if entry.name in self.holds:
                with stop.listening() as on_stop:
                    on_stop(lambda reason: (self.interrupted.append(entry.name), self.held.set()))
                    self.held.wait(30)
        finally:
            with self.lock:
                self.at_once -= 1
        return Turn(entry.name, entry.target, due, run="r", verdict=self.verdict, conclusive=self.conclusive)

    def missed(self, entry, due, why, reason=None, since=None):
        with self.news:
            self.missing.append((entry.name, why, reason))
            self.since.append(since)
            self.news.notify_all()

    def is_long(self, entry):
        return entry.name.startswith("long")

    def reload(self, watched):
        self.canaries.append(watched.canary)

    def until(self, true, patience=20.0):
        """Waits for something to be so; fails where it does not become so."""
        with self.news:
            assert self.news.wait_for(lambda: true(self), patience), self


def watching(*entries, wall=None, turns=None, **more):
    """A watch of these entries without files."""
    watched = Watched(Canary(entries=tuple(entries)), {}, (), "")
    return Watch(watched, turns or Turns(), wall or Wall(FAST), lambda: watched, **more)


def program() -> None:
    """Says `took NAME` and `missed NAME WHY` as it goes; the entry `held` ends when it is stopped."""
    turns = Turns(holds=("held",))

    class Told(Turns):
        def take(self, entry, due, stop):
            sys.stdout.write(f"took {entry.name}\n")
            sys.stdout.flush()
            return turns.take(entry, due, stop)

        def missed(self, entry, due, why, reason=None, since=None):
            sys.stdout.write(f"missed {entry.name} {why}\n")
            sys.stdout.flush()

    path = sys.argv[1]
    code = Watch(load(path), Told(), Wall(FAST), lambda: load(path)).run()
    sys.stdout.write(f"interrupted {turns.interrupted}\n")
    sys.exit(code)


if __name__ == "__main__":
    assert Path(sys.argv[1]).is_file()
    program()
