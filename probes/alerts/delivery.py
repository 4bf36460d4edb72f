"""How does a notice get to those who are to hear it?

It is in the memory before it is sent, and each attempt is counted there before it is made: a sink may hear of one thing
twice, and nothing is lost.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from probes.alerts.book import identity
from probes.alerts.text import late
from probes.canary import Notice, Severity, Told, Undelivered
from probes.log import log

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from probes.alerts.needs import Memory, Receiver, Wall
    from probes.canary import Alert, Deliver

LATE = timedelta(minutes=2)
"""What is delivered later than that after it was made says so."""
FIRST, LONGEST = timedelta(seconds=10), timedelta(minutes=15)
_ORDER = list(Severity)


def pause(tries: int) -> timedelta:
    """After so many tries in vain."""
    return min(FIRST * float(2 ** min(tries - 1, 20)), LONGEST)


class Delivery:
    """One thread for each sink that has something to send: a slow one delays neither probes nor the other sinks."""

    def __init__(self, memory: Memory, wall: Wall, sinks: Mapping[str, Deliver]) -> None:
        self._memory, self._wall, self.sinks = memory, wall, sinks
        self._lock = threading.Lock()
        self._pending = {notice.id: notice for notice in memory.undelivered()}
        self._sending: dict[str, threading.Thread] = {}
        self._failing: set[str] = set()
        self._closed = False

    def tell(self, alert: Alert, told: Told, receivers: Iterable[Receiver], now: datetime) -> None:
        """Queue what happened for everyone who wants to hear of it."""
        for receiver in receivers:
            if alert.key.about in receiver.about and _severe(alert) >= _ORDER.index(Severity(receiver.min)):
                name = identity(alert.id, told, now, receiver.name)
                notice = Notice(name, alert, told, receiver.name, made=now, next_try=now)
                with self._lock:
                    self._pending[notice.id] = notice
                    self._memory.notice(notice)

    def undelivered(self) -> list[Notice]:
        """Oldest first; without those of sinks that are configured no more, which wait for their return."""
        with self._lock:
            waiting = [notice for notice in self._pending.values() if notice.sink in self.sinks]
            return sorted(waiting, key=lambda notice: notice.made)

    def tick(self) -> None:
        """Start sending where something is due and nobody sends yet."""
        with self._lock:
            if self._closed:
                return
            for sink in self.sinks:
                sending = self._sending.get(sink)
                if (sending is not None and sending.is_alive()) or self._next(sink) is None:
                    continue
                # A daemon: what is not sent when the process ends is sent by the next one.
                thread = threading.Thread(target=self._send, args=(sink,), name=f"sink {sink}", daemon=True)
                self._sending[sink] = thread
                thread.start()

    def close(self, timeout: float) -> None:
        """What is due has so many seconds in all to be sent; then there are no more attempts."""
        self.tick()
        with self._lock:
            sending = list(self._sending.values())
        for thread in sending:
            thread.join(timeout / len(sending))
        with self._lock:
            self._closed = True

    def _next(self, sink: str) -> Notice | None:
        """In order for each alert: that it is over is told after it was opened, unless the sink refuses to hear that. One
        that a sink does not take holds up no other alert's, and what was not tried yet goes first.
        """
        mine = sorted((n for n in self._pending.values() if n.sink == sink), key=lambda notice: notice.made)
        held, due = set(), []
        for notice in mine:
            if notice.alert.id not in held and self._due(notice):
                due.append(notice)
            if not notice.refused:
                held.add(notice.alert.id)
        return min(due, key=lambda notice: (notice.tries > 0, notice.made), default=None)

    def _due(self, notice: Notice) -> bool:
        now = self._wall.now()
        # A clock that was set back must not hold it up for longer than a pause.
        return notice.next_try is None or not now < notice.next_try <= now + 2 * LONGEST

    def _send(self, sink: str) -> None:
        while (notice := self._claimed(sink)) is not None:
            try:
                self.sinks[sink](self._of_now(notice))
            except Undelivered as why:
                self._note(replace(notice, fault=str(why), refused=why.refused))
                self._log_fault(notice, why)
            else:
                self._note(replace(notice, delivered=self._wall.now(), fault=None, refused=False))
                if sink in self._failing:
                    self._failing.discard(sink)
                    log(f"sink {sink} can be told again")

    def _of_now(self, notice: Notice) -> Notice:
        """With a word of it where it is late, or over by now."""
        over = self._over(notice)
        shown, now = self._wall.shown, self._wall.now()
        if over is None and now - notice.made <= LATE:
            return notice
        ended = shown(over) if over is not None else None
        said = late(notice.alert, shown(notice.made), shown(now) or now, ended, over=over is not None)
        return replace(notice, alert=said)

    def _over(self, notice: Notice) -> datetime | None:
        """Since when what it tells is over, as a notice says that still waits behind it."""
        with self._lock:
            ends = [
                other.alert.resolved or other.made
                for other in self._pending.values()
                if (other.alert.id, other.sink, other.told) == (notice.alert.id, notice.sink, Told.RESOLVED)
            ]
        return min(ends, default=None) if notice.told is not Told.RESOLVED else None

    def _log_fault(self, notice: Notice, why: Undelivered) -> None:
        """At the first of a row, not at each try; what a sink refuses for what stands in it says nothing of others."""
        if why.refused and not notice.refused:
            what = f"{notice.told} of {notice.alert.key.code} on {notice.alert.key.target}"
            log(f"sink {notice.sink} refuses one notice ({what}): {why}; others are delivered")
        elif not why.refused and notice.sink not in self._failing:
            self._failing.add(notice.sink)
            log(f"sink {notice.sink} cannot be told: {why}; tried again until it can")

    def _claimed(self, sink: str) -> Notice | None:
        """The next one that is due, with this attempt counted; `None` ends the thread."""
        with self._lock:
            notice = None if self._closed or sink not in self.sinks else self._next(sink)
            if notice is None:
                self._sending.pop(sink, None)
                return None
            tries = notice.tries + 1
            claimed = replace(
                notice,
                tries=tries,
                next_try=self._wall.now() + pause(tries),
                fault=notice.fault or "not answered yet",
            )
            self._pending[claimed.id] = claimed
            self._memory.notice(claimed)
            return claimed

    def _note(self, notice: Notice) -> None:
        with self._lock:
            if notice.delivered is None:
                self._pending[notice.id] = notice
            else:
                self._pending.pop(notice.id, None)
                self._drop_before(notice)
            self._memory.notice(notice)

    def _drop_before(self, taken: Notice) -> None:
        """What the sink refused of the same alert until then: it would open there what is over."""
        for notice in list(self._pending.values()):
            if (notice.alert.id, notice.sink) == (taken.alert.id, taken.sink) and notice.made < taken.made:
                del self._pending[notice.id]
                self._memory.notice(replace(notice, dropped=taken.delivered))


def _severe(alert: Alert) -> int:
    return _ORDER.index(alert.severity)
