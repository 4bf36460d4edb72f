"""Who does a canary's work, and what counts for all of them together?

The turns, the alerts and the metrics take a new file over at once, or none of them does.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.log import log
from probes.watch.scheduled import overdrawn
from probes.watch.times import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, timedelta

    from probes.alerts import Alerting
    from probes.canary import Deliver, Missed, Turn
    from probes.memory import Memory
    from probes.stop import Stop
    from probes.watch.config import Canary, Entry
    from probes.watch.marked import Marked
    from probes.watch.must_fail import MustFail
    from probes.watch.needs import Metrics
    from probes.watch.turns import Turns
    from probes.watch.watched import Watched

_EVERY_HOUR = 3600.0


@dataclass
class Parts:
    """`sinks` makes what delivers to each receiver, UsageError where their variables are not set; `listed` tells what is
    watched from now on; `shown` is the machine's time of a canary's.
    """

    canary: Canary
    memory: Memory
    alerting: Alerting
    metrics: Metrics
    turns: Turns
    must_fail: MustFail
    marked: Marked
    sinks: Callable[[Watched], Mapping[str, Deliver]]
    listed: Callable[[Canary, Mapping[str, timedelta]], None]
    shown: Callable[[datetime], datetime | None]
    tried: datetime | None = None
    pruned: datetime | None = None

    def take(self, entry: Entry, due: datetime, stop: Stop) -> Turn:
        turn = self.turns.take(entry, due, stop)
        say(turn, self.shown)
        return turn

    def missed(
        self,
        entry: Entry,
        due: datetime,
        why: Missed,
        reason: str | None = None,
        since: datetime | None = None,
    ) -> Turn:
        turn = self.turns.missed(entry, due, why, reason, since)
        say(turn, self.shown)
        return turn

    def is_long(self, entry: Entry) -> bool:
        return self.turns.is_long(entry)

    def reload(self, watched: Watched) -> None:
        """Raises UsageError before anything is taken over."""
        canary, sinks = watched.canary, self.sinks(watched)
        self.turns.reload(canary)
        self.alerting.reload(canary, sinks)
        self.listed(canary, {entry.name: interval(entry) for entry in canary.entries})
        for what in ("database", "listen", "dead_man"):
            if getattr(canary, what) != getattr(self.canary, what):
                log(f"{what}: changed; that counts when `watch` is started anew")
        self.note(watched)
        self.canary = canary

    def note(self, watched: Watched) -> None:
        """What is valid in its files and yet not what was meant."""
        for said in overdrawn(watched):
            log(f"note: {said}")

    # --- beside the turns ---

    def tell(self, _: datetime) -> None:
        """Deliveries are tried again, and the metrics say how the alerts and the store are."""
        self.alerting.tick()
        self.metrics.alerts(self.alerting.open(), len(self.alerting.undelivered()))
        self.metrics.store(self.memory.errors, self.memory.fault is None)

    def try_detection(self, now: datetime, stop: Stop) -> None:
        every = self.canary.must_fail
        if every is None:
            self.metrics.must_fail(None, None)
        elif self.tried is None or not 0 <= (now - self.tried).total_seconds() < every.total_seconds():
            self.must_fail.take(now, stop)
            self.tried = now

    def look_at_marks(self, now: datetime, ask: Callable[[Entry], bool]) -> None:
        self.marked.look(now, self.canary, ask)

    def prune(self, now: datetime) -> None:
        if self.pruned is None or not 0 <= (now - self.pruned).total_seconds() < _EVERY_HOUR:
            kept = self.canary.retention
            self.memory.prune(now, raw_days=kept.raw_days, failed_days=kept.failed_days)
            self.pruned = now


def say(turn: Turn, shown: Callable[[datetime], datetime | None]) -> None:
    """One line of a log, for people; what failed with where to read on."""
    at = turn.ended or turn.due
    at = shown(at) or at
    if turn.missed is not None:
        what = f"not run: {turn.why}"
    else:
        what = f"{turn.verdict}{'' if turn.conclusive else ', not conclusive'}{f': {turn.reason}' if turn.reason else ''}"
    where = f"  edgeprobe report {turn.run}" if turn.run is not None and turn.verdict != "pass" else ""
    sys.stdout.write(f"{at:%Y-%m-%d %H:%M:%S}  {turn.entry}  {what}{where}\n")
    sys.stdout.flush()
