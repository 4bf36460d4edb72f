"""How does a canary spend its day?

It looks every second: what is due goes to the lanes, a file that changed is taken over as a whole or not at all, and a
signal ends it: the first lets the turns under way finish, a second one does not.
"""

from __future__ import annotations

import threading
import time
import traceback
from typing import TYPE_CHECKING, Protocol

from probes.canary import Missed
from probes.errors import UsageError
from probes.log import log
from probes.model import Verdict
from probes.stop import Stop
from probes.watch.chores import Chores
from probes.watch.due import Agenda
from probes.watch.files import Files
from probes.watch.lanes import Lanes
from probes.watch.signals import heard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from probes.canary import Turn
    from probes.watch.chores import Chore
    from probes.watch.config import Entry
    from probes.watch.due import Due
    from probes.watch.wall import Wall
    from probes.watch.watched import Watched

LOOK = 1.0
"""Machine seconds between two looks."""
STUCK = 60.0
"""Machine seconds without a look after which the canary says that it is not well."""
DRAIN = 25.0
"""Machine seconds that turns may finish in; Kubernetes kills after 30 (terminationGracePeriodSeconds)."""
_STOPPED, _STEP = 5.0, 0.2
"""Machine seconds for turns to end after they were stopped, and between two looks at whether they did."""
FAILED, UNPROVEN = 1, 3


class Turns(Protocol):
    def take(self, entry: Entry, due: datetime, stop: Stop) -> Turn:
        """One turn, recorded and told."""
        ...

    def missed(
        self,
        entry: Entry,
        due: datetime,
        why: Missed,
        reason: str | None = None,
        since: datetime | None = None,
    ) -> object:
        """Records and tells that there is none. `since`: when the turn was due that is still under way."""
        ...

    def is_long(self, entry: Entry) -> bool:
        """Whether it needs a lane of its own."""
        ...

    def reload(self, watched: Watched) -> None:
        """What counts from the next turn on; raises UsageError, and nothing is changed then."""
        ...


class Watch:
    """`load` reads the files again. `last`: when an entry had its last turn. `reloaded` hears of each time that files
    changed or that a signal asked for it, with what was wrong in them.
    """

    def __init__(
        self,
        watched: Watched,
        turns: Turns,
        wall: Wall,
        load: Callable[[], Watched],
        *,
        last: Callable[[str], datetime | None] = lambda _: None,
        reloaded: Callable[[str | None, datetime], None] = lambda *_: None,
        chores: Sequence[Chore] = (),
    ) -> None:
        self.watched = watched
        self.stop = Stop()
        self.reload_fault: str | None = None
        self._turns, self._wall, self._load, self._reloaded = turns, wall, load, reloaded
        self._files = Files(watched.files, watched.digest)
        self._last = last
        self._lanes = Lanes(turns.take, self.stop, self._broke)
        self._chores = Chores(chores, wall)
        self._wake = threading.Event()
        self._asked_to_reload = self._ending = self._hurried = False
        self._looked: float | None = None
        self._agenda: Agenda | None = None

    # --- what others ask ---

    def healthy(self) -> str | None:
        """What is wrong with the canary itself."""
        if self._looked is not None and time.monotonic() - self._looked > STUCK:
            return f"the schedule has not been looked at for {time.monotonic() - self._looked:.0f} s"
        return self._chores.fault

    def ready(self) -> str | None:
        """Why no turn would begin now."""
        if self._looked is None:
            return "starting"
        return "draining" if self._ending else None

    def ask(self, entry: Entry) -> bool:
        """Beside its schedule; whether that was taken: not while its turn before has not ended, nor at the end."""
        long = self._turns.is_long(entry)
        return not self._ending and self._lanes.offer(entry, self._wall.now(), long=long) is None

    def next_times(self) -> dict[str, datetime]:
        """When each entry is due next."""
        jobs = self._agenda.appointments if self._agenda is not None else []
        return {job.entry.name: job.next_run for job in jobs if job.next_run is not None}

    def signalled(self, name: str) -> None:
        """By its name; for a thread, not for a handler."""
        if name == "SIGHUP":
            self._asked_to_reload = True
        elif self._ending:
            self._hurried = True
            log("stopped: what is under way is recorded as interrupted")
            self.stop("interrupted")
        else:
            self._ending = True
        self._wake.set()

    # --- the day ---

    def run(self) -> int:
        """Until signalled; 0 after a drain."""
        agenda = self._agenda = Agenda(
            self.watched.canary.entries,
            self._wall.now(),
            scale=self._wall.scale,
            last=self._last,
        )
        with heard(self.signalled):
            self._chores.start()
            while not self._ending:
                self._wake.clear()
                self._look(agenda)
                waits = agenda.until_next(self._wall.now())
                look = LOOK / self._wall.scale
                self._wall.wait(look if waits is None else min(waits, look), self._wake)
            return self._drain()

    def _look(self, agenda: Agenda) -> None:
        asked, self._asked_to_reload = self._asked_to_reload, False
        if asked or self._files.changed() or self.reload_fault is not None:
            self._reload(agenda, asked=asked)
        for due in agenda.due(self._wall.now()):
            self._hand_out(due)
        self._looked = time.monotonic()

    def _hand_out(self, due: Due) -> None:
        entry, now = due.entry, self._wall.now()
        if due.late:
            reason = f"its time passed unseen; it is {self._wall.shown(now) or now:%Y-%m-%d %H:%M:%S} UTC"
            self._turns.missed(entry, due.due, Missed.LATE, reason)
        elif (since := self._lanes.offer(entry, due.due, long=self._turns.is_long(entry))) is not None:
            self._turns.missed(entry, due.due, Missed.OVERLAP, "its turn before has not ended", since)

    def _broke(self, entry: Entry, due: datetime, bug: Exception) -> None:
        if not isinstance(bug, UsageError):
            log(f"{entry.name}: {''.join(traceback.format_exception(bug)).rstrip()}")
        said = str(bug) if isinstance(bug, UsageError) else f"{type(bug).__name__}: {bug}"
        self._turns.missed(entry, due, Missed.ERROR, said)

    def _reload(self, agenda: Agenda, *, asked: bool) -> None:
        """While something is wrong it is read at each look: what mends it may stand in a file that was not read yet.
        That it is still wrong is told to who asked for it by a signal, not at each look.
        """
        try:
            watched = self._load()
            self._turns.reload(watched)
        except UsageError as mistake:
            if asked or str(mistake) != self.reload_fault:
                self.reload_fault = str(mistake)
                log(f"the files are wrong and not taken over; what stood there before goes on: {mistake}")
                self._reloaded(self.reload_fault, self._wall.now())
            return
        self.watched, self.reload_fault = watched, None
        self._files = Files(watched.files, watched.digest)
        agenda.take_over(watched.canary.entries)
        log(f"taken over: {', '.join(entry.name for entry in watched.canary.entries)}")
        self._reloaded(None, self._wall.now())

    # --- its end ---

    def _drain(self) -> int:
        self._let_finish()
        self._chores.close()
        self._lanes.close()
        return UNPROVEN if self._hurried else 0

    def _let_finish(self) -> None:
        for entry, due in self._lanes.give_up_waiting():
            self._turns.missed(entry, due, Missed.DRAINED, "the canary was ended before its turn began")
        if busy := self._lanes.busy:
            log(f"draining: waits for {', '.join(busy)}; a second signal stops at once")
        end = time.monotonic() + DRAIN
        while self.stop.reason is None and time.monotonic() < end:
            if self._lanes.idle(_STEP):
                return
        self.stop("interrupted")
        self._lanes.idle(_STOPPED)

    def once(self, names: Sequence[str] = ()) -> int:
        """Every entry, or those named, one after the other, whenever they are due; the exit code as of `run`."""
        chosen = [entry for entry in self.watched.canary.entries if not names or entry.name in names]
        turns: list[Turn] = []
        with heard(self.signalled):
            while chosen and not self._ending:
                turns.append(self._turns.take(chosen.pop(0), self._wall.now(), self.stop))
        code = exit_code(turns)
        return code or (UNPROVEN if chosen else 0)


def exit_code(turns: Sequence[Turn]) -> int:
    """1 where customers are hurt, 3 where something is not proven or nothing was asked, else 0."""
    asked = [turn for turn in turns if turn.missed is not Missed.SAMPLED]
    if any(turn.verdict is Verdict.FAIL and turn.conclusive for turn in asked):
        return FAILED
    good = all(turn.conclusive and turn.verdict in {Verdict.PASS, Verdict.WARN} for turn in asked)
    return 0 if asked and good else UNPROVEN
