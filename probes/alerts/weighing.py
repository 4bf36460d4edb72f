"""What does one run do to the alerts of its target?"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.alerts.evidence import Subject, passing, read
from probes.alerts.page import Page
from probes.alerts.rules import looks_back
from probes.alerts.text import words_of
from probes.canary import About, AlertKey, AlertState
from probes.model import Layer, Observed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from probes.alerts.book import Book
    from probes.alerts.evidence import Asked, Reading
    from probes.alerts.needs import Entry
    from probes.alerts.outbreak import Hurt
    from probes.model import Finding, Run


def blind_key(target: str) -> AlertKey:
    return AlertKey(target, About.BLIND, Layer.PROBE, None, "not_measured")


class Pages:
    """The alerts that one turn concerns, each opened once."""

    def __init__(self, book: Book, entry: Entry, at: datetime, every: timedelta) -> None:
        self._book, self._entry, self._at, self._every = book, entry, at, every
        self._pages: dict[AlertKey, Page] = {}

    def all(self) -> list[Page]:
        return list(self._pages.values())

    def of(self, key: AlertKey) -> Page:
        if key not in self._pages:
            self._pages[key] = Page(*self._book.of(key, self._at))
        return self._pages[key]

    def weigh(self, asked: Asked) -> None:
        """Its results, bad and good."""
        reading = read(asked, self._entry.name, self._entry.target)
        suspected = self._suspected()
        for key, hurt in reading.bad.items():
            page = self.of(key)
            page.run, page.vantage = asked.run.id, asked.run.vantage
            page.outbreak.extra["host"] = _host(asked.run, next(iter(hurt.values())).route)
            page.outbreak.extra["fine"] = json.dumps(passing(asked))
            for subject, finding in hurt.items():
                # What fails in another way each time has failed as often.
                before = page.outbreak.hurt.get(subject) or suspected.get(subject)
                if before is not None:
                    page.outbreak.hurt[subject] = before.not_before(asked.served)
                rule, at = looks_back(finding, self._entry), asked.met(finding, subject) or self._at
                page.met(subject, at, rule, self._every, route=finding.route)
            page.outbreak.last_bad = self._at  # its turn's: intervals are counted by that
            page.words = words_of(_telling(hurt))
        self._passes(reading)

    def look(self, *, blind: bool) -> Page | None:
        """Whether the entry saw anything at all; the page of the target's blindness, where there is one."""
        key = blind_key(self._entry.target)
        subject = Subject(self._entry.name, "", None)
        if not blind and subject not in self._book.of(key, self._at)[1].hurt:
            return None
        page = self.of(key)
        if blind:
            page.met(subject, self._at, (2, 2), self._every)
        else:
            page.passed(subject, self._at)
        return page

    def _passes(self, reading: Reading) -> None:
        for alert in self._book.live():
            if alert.key.target == self._entry.target and alert.key.about is not About.BLIND:
                self.of(alert.key)
        for key, page in self._pages.items():
            for subject in list(page.outbreak.hurt):
                mine = subject.entry == self._entry.name and key.about is not About.BLIND
                if mine and reading.passed(subject, key):
                    page.passed(subject, self._at)

    def _suspected(self) -> dict[Subject, Hurt]:
        """Whoever was hurt in some way when last asked, where nobody was told of it yet."""
        for alert in self._book.live():
            if alert.key.target == self._entry.target and alert.state is AlertState.SUSPECTED:
                self.of(alert.key)
        return {
            subject: hurt
            for key, page in self._pages.items()
            if page.alert.state is AlertState.SUSPECTED and key.about is About.SERVICE
            for subject, hurt in page.outbreak.hurt.items()
            if hurt.results[-1][1]
        }


def _telling(hurt: Mapping[Subject, Finding]) -> Finding:
    """The finding that says most of the alert: what isolated the cause, then what hurts most clients, most surely and
    in most of its requests.
    """
    reach: dict[int, set[str | None]] = defaultdict(set)
    for subject, finding in hurt.items():
        reach[id(finding)].add(subject.client)

    def says(finding: Finding) -> tuple[float, ...]:
        seen = finding.observed or Observed(1, 1)
        isolated = finding.factor is not None
        often = seen.k / max(seen.n, 1), seen.k
        return isolated, len(reach[id(finding)]), *often, words_of(finding).weight

    return max(hurt.values(), key=says)


def _host(run: Run, route: str | None) -> str:
    """That of the route, else of the target's first one."""
    routes = run.target.routes
    chosen = routes.get(route or "") or next(iter(routes.values()))
    return urlsplit(chosen.base_url).hostname or chosen.base_url
