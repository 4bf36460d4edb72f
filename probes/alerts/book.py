"""Which alerts are there?"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from probes.alerts.outbreak import Outbreak, remembered
from probes.canary import About, Alert, AlertState

if TYPE_CHECKING:
    from datetime import datetime

    from probes.alerts.needs import Memory
    from probes.canary import AlertKey

NAMES = "names"
"""What news are made of, in their memory."""
_LIVE = frozenset({AlertState.SUSPECTED, AlertState.OPEN})


def identity(*parts: object) -> str:
    """The same for the same, in every process."""
    return sha256("\x1f".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:16]


class Book:
    """The newest alert of each key, over the memory that holds them all; one process writes it."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._newest: dict[AlertKey, Alert] = {}
        self._noted: dict[str, datetime] = {}
        for alert in sorted(memory.alerts(open_only=False), key=_age):
            if alert.key.about is About.CHANGE:
                self._note(alert)
            else:
                self._newest[alert.key] = alert

    def live(self) -> list[Alert]:
        """Open and suspected ones."""
        return [alert for alert in self._newest.values() if alert.state in _LIVE]

    def open(self) -> list[Alert]:
        return [alert for alert in self._newest.values() if alert.state is AlertState.OPEN]

    def of(self, key: AlertKey, at: datetime) -> tuple[Alert, Outbreak]:
        """The live alert of a key, or a new suspicion that knows how often this came lately."""
        before = self._newest.get(key)
        if before is not None and before.state in _LIVE:
            return before, remembered(before)
        openings = remembered(before).openings if before is not None else ()
        alert = Alert(identity(key, at), key, AlertState.SUSPECTED, since=at, opened=at, updated=at)
        return alert, Outbreak(openings=openings)

    def keep(self, alert: Alert) -> None:
        """Written where it changed."""
        before = self._newest.get(alert.key)
        if before is None or replace(before, updated=alert.updated) != alert:
            self._newest[alert.key] = alert
            self._memory.keep(alert)

    def noted(self, name: str) -> datetime | None:
        """When news of it were told last."""
        return self._noted.get(name)

    def note(self, news: Alert) -> None:
        """What is told once."""
        self._note(news)
        self._memory.keep(news)

    def _note(self, news: Alert) -> None:
        for name in json.loads(news.memory.get(NAMES, "[]")):
            self._noted[name] = news.opened


def _age(alert: Alert) -> tuple[datetime, bool]:
    return alert.updated, alert.state in _LIVE
