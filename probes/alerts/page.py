"""What does one turn do to one alert?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from probes.alerts.evidence import customers
from probes.alerts.outbreak import Hurt, counted, moved_on
from probes.alerts.text import noted, words_in
from probes.canary import AlertState

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from probes.alerts.evidence import Subject
    from probes.alerts.outbreak import Outbreak
    from probes.alerts.text import Words
    from probes.canary import Alert


@dataclass(slots=True)
class Page:
    """An alert as it was before the turn, its memory opened, and what the turn added."""

    alert: Alert
    outbreak: Outbreak
    results: list[bool] = field(default_factory=list)
    words: Words | None = None
    run: str | None = None
    vantage: str | None = None

    @property
    def stored(self) -> bool:
        """It was there before the turn."""
        return bool(self.alert.memory)

    def met(
        self,
        subject: Subject,
        at: datetime,
        rule: tuple[int, int],
        every: timedelta,
        *,
        route: str | None = None,
    ) -> None:
        """It was hurt; `rule` is how often makes that sure."""
        hurt = replace(self.outbreak.hurt.get(subject) or Hurt(*rule), k=rule[0], n=rule[1], every=every)
        sure = self.outbreak.sure().values()
        if self.outbreak.flapping and hurt.sure and all(row.passes >= row.k for row in sure):
            self.alert = replace(self.alert, flaps=self.alert.flaps + 1)
        if route is not None:
            hurt = replace(hurt, routes=tuple(sorted({*hurt.routes, route})))
        self.outbreak.hurt[subject] = hurt.met(at, bad=True)
        self.outbreak.last_bad = at
        self.results.append(True)

    def passed(self, subject: Subject, at: datetime) -> None:
        self.outbreak.hurt[subject] = self.outbreak.hurt[subject].met(at, bad=False)
        self.results.append(False)

    def turned(self, now: datetime) -> Alert:
        """The alert after the turn, with whom it hurts."""
        outbreak = self.outbreak
        outbreak.prune()
        if self.words is not None and self.words.weight >= words_in(outbreak.extra).weight:
            outbreak.extra["words"] = noted(self.words)
        alert = moved_on(self.alert, outbreak, now)
        if self.results:
            alert = replace(alert, observed=counted(alert.observed, self.results))
        sure = outbreak.sure()
        if alert.state is not AlertState.OPEN or not sure:
            return replace(alert, run=self.run or alert.run)
        return replace(
            alert,
            run=self.run or alert.run,
            vendor_code=words_in(outbreak.extra).vendor_code,
            clients=customers(subject.client for subject in sure),
            entries=tuple(sorted({subject.entry for subject in sure if subject.entry})),
            routes=tuple(sorted({route for hurt in sure.values() for route in hurt.routes})),
        )
