"""Who has to be told, of what, and when is it over?"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from probes.alerts import blindness
from probes.alerts.book import Book
from probes.alerts.delivery import Delivery
from probes.alerts.evidence import Asked, Subject
from probes.alerts.news import News, alert_of, name_of
from probes.alerts.outbreak import remembered
from probes.alerts.page import Page
from probes.alerts.rules import confirmations, key_of, pages
from probes.alerts.telling import read_on, told
from probes.alerts.text import Words, words_in
from probes.alerts.weighing import Pages
from probes.alerts.windows import window_between
from probes.canary import About, AlertKey, AlertState, Told
from probes.model import Layer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from probes.alerts.needs import Canary, Entry, Memory, Wall
    from probes.canary import Alert, Deliver, Notice, Turn

__all__ = ["OURS", "Alerting", "Asked", "News", "confirmations", "key_of", "pages"]

OURS = "edgeprobe"
"""The target of alerts about the canary itself."""
_SHORT = timedelta(minutes=5)
"""How far apart looks at the canary itself are, as its flapping is counted."""


class Alerting:
    """The alerts of a canary. `interval`: how far apart the times are at which an entry is due.

    What it knows is in the memory, so that another process goes on where this one was stopped. Safe to be called by
    several lanes; nothing here waits for a network.
    """

    def __init__(
        self,
        memory: Memory,
        canary: Canary,
        wall: Wall,
        sinks: Mapping[str, Deliver] | None = None,
        *,
        interval: Callable[[Entry], timedelta],
    ) -> None:
        self._memory, self._canary, self._wall, self._interval = memory, canary, wall, interval
        self._lock = threading.Lock()
        self._book = Book(memory)
        self._delivery = Delivery(memory, wall, sinks or {})

    def observe(
        self,
        turn: Turn,
        first: Asked | None = None,
        *,
        entry: Entry,
        again: Sequence[Asked] = (),
    ) -> None:
        """After each turn, a missed one too. `first`: its run, with what history adds to its findings; `again`: the runs
        that asked its bad cases anew at once, as `confirmations` has it.
        """
        with self._lock:
            opened = Pages(self._book, entry, turn.began or turn.due, self._every(entry))
            if first is not None and turn.conclusive:
                for asked in (first, *again):
                    opened.weigh(asked)
            if (blind := blindness.is_blind(turn)) is not None:
                page = opened.look(blind=blind)
                if page is not None and blind:
                    extra = page.outbreak.extra
                    extra["reasons"] = blindness.counted(extra.get("reasons"), turn)
                    page.run = turn.run
                    page.words = blindness.words(extra["reasons"], turn, first.findings if first else ())
            for page in opened.all():
                if True in page.results and turn.ended is not None:
                    page.outbreak.extra["ended"] = turn.ended.isoformat()
                if page.results:
                    self._turn_over(page)
        self._delivery.tick()

    def own_fault(self, code: str, fault: str | None, do: str = "") -> None:
        """What is wrong with the canary itself, in words, by finding code; `None` is nothing. `do`: what mends it."""
        key = AlertKey(OURS, About.PROBE, Layer.PROBE, None, code)
        with self._lock:
            now = self._wall.now()
            page, subject = Page(*self._book.of(key, now)), Subject("", code, None)
            row = page.outbreak.hurt.get(subject)
            known = row is not None and not row.passes and words_in(page.outbreak.extra).title == fault
            if fault is None and row is not None:
                page.passed(subject, now)
            elif fault is not None and not known:
                page.met(subject, now, (1, 1), _SHORT)
                page.words = Words(fault, do=do)
            else:
                return
            self._turn_over(page)
        self._delivery.tick()

    def note(self, news: News) -> bool:
        """Tells what nobody waits for the end of; whether it was to be told."""
        with self._lock:
            before = [self._book.noted(name_of(news.key.target, name)) for name in news.names]
            if all(at is not None and at >= news.unless for at in before):
                return False
            now = self._wall.now()
            window = news.seen and window_between(
                self._canary.maintenance, news.key.target, news.since, news.seen
            )
            read = news.read_on or read_on(self._canary.link, news.run)
            alert = alert_of(news, now, read, window.name if window else None)
            self._book.note(alert)
            self._delivery.tell(alert, Told.NOTED, self._canary.sinks, now)
        self._delivery.tick()
        return True

    def noted(self, target: str, name: str) -> bool:
        """Whether news of it were told."""
        with self._lock:
            return self._book.noted(name_of(target, name)) is not None

    def tick(self) -> None:
        """Every few seconds: deliveries are tried again, and what is watched no more is let go."""
        with self._lock:
            now, names = self._wall.now(), {"", *(entry.name for entry in self._canary.entries)}
            for alert in self._book.live():
                page = Page(alert, remembered(alert))
                hurt = page.outbreak.hurt
                page.outbreak.hurt = {
                    subject: row
                    for subject, row in hurt.items()
                    if subject.entry in names and not row.forgotten(now)
                }
                if len(page.outbreak.hurt) < len(hurt):
                    self._turn_over(page)
        self._delivery.tick()

    def reload(self, canary: Canary, sinks: Mapping[str, Deliver]) -> None:
        """The configuration that holds from now on."""
        with self._lock:
            self._canary, self._delivery.sinks = canary, sinks
        self.tick()

    def open(self) -> list[Alert]:
        """Those that were told and are not over."""
        with self._lock:
            return [alert for alert in self._book.live() if alert.state is AlertState.OPEN]

    def undelivered(self) -> list[Notice]:
        """What sinks have not taken yet, oldest first."""
        return self._delivery.undelivered()

    def close(self, timeout: float = 10.0) -> None:
        """At the end: what is due is sent, for so many seconds; the rest is sent by the next process."""
        self._delivery.close(timeout)

    def _every(self, entry: Entry) -> timedelta:
        """How far apart its runs are, on average."""
        return self._interval(entry) / min(max(entry.sample, 0.001), 1.0)

    def _turn_over(self, page: Page) -> None:
        """Decide, write, tell."""
        now = self._wall.now()
        alert = page.turned(now)
        if alert.state is AlertState.DISMISSED and not page.stored:
            return
        alert, what = told(page, alert, self._canary, self._memory, self._wall)
        self._book.keep(alert)
        if what is not None:
            self._delivery.tell(alert, what, self._canary.sinks, now)
