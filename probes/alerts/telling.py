"""Is this worth a message, and what does it say?"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from probes.alerts.blindness import kinds
from probes.alerts.outbreak import memory_of
from probes.alerts.text import Beside, happens, text_of, title_of, words_in
from probes.alerts.windows import window_at
from probes.canary import AlertState, Told
from probes.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from probes.alerts.needs import Canary, Memory, Wall
    from probes.alerts.page import Page
    from probes.canary import Alert, Mark

_ROUTE, _ENTRY, _REASON = "route ", "entry ", "reason "
_MARKED, _MARKS = timedelta(hours=3), 3


def told(page: Page, alert: Alert, canary: Canary, memory: Memory, wall: Wall) -> tuple[Alert, Told | None]:
    """The alert with its words, and what is to be told of it: that it opened, grew, has another reason, outlived its
    maintenance or is over.
    """
    before, extra = page.alert.state, page.outbreak.extra
    if alert.state is AlertState.RESOLVED:
        return _worded(page, _with_all(alert, extra), canary, memory, wall), Told.RESOLVED
    if alert.state is not AlertState.OPEN:
        return alert, None
    what: Told | None = None
    if before is not AlertState.OPEN:
        alert, what = _planned(page, alert, canary, memory), Told.OPENED
    elif _outlives(page, alert, canary):
        extra["outlived"], what = "yes", Told.UPDATED
    hurt = {
        *alert.clients,
        *(f"{_ROUTE}{name}" for name in alert.routes),
        *(f"{_ENTRY}{name}" for name in alert.entries),
        *(f"{_REASON}{kind}" for kind in kinds(extra.get("reasons"))),
    }
    heard = set(json.loads(extra.get("told", "[]")))
    if hurt - heard:
        extra["told"], what = json.dumps(sorted(hurt | heard)), what or Told.UPDATED
    return _worded(page, alert, canary, memory, wall, anew=what is not None), what


def _with_all(alert: Alert, extra: Mapping[str, str]) -> Alert:
    """Whoever was told to be hurt hears that it is over, those too that were well before the others."""
    heard = [*alert.clients, *json.loads(extra.get("told", "[]"))]
    routes = {name.removeprefix(_ROUTE) for name in heard if name.startswith(_ROUTE)}
    entries = {name.removeprefix(_ENTRY) for name in heard if name.startswith(_ENTRY)}
    clients = {name for name in heard if not name.startswith((_ROUTE, _ENTRY, _REASON))}
    return replace(
        alert,
        clients=tuple(sorted(clients)),
        routes=tuple(sorted({*alert.routes, *routes})),
        entries=tuple(sorted({*alert.entries, *entries})),
    )


def _planned(page: Page, alert: Alert, canary: Canary, memory: Memory) -> Alert:
    """With the maintenance that it began in, and when these clients passed before that."""
    window = window_at(canary.maintenance, alert.key.target, alert.since)
    if window is None:
        return alert
    if alert.clients:
        passed: Mapping[str, datetime] = {}
        with suppress(UsageError):  # of a database that can't be read: the alert is told without it
            passed = memory.passed(alert.key.target, page.vantage, alert.clients, window.begin)
        if set(alert.clients) <= set(passed):
            page.outbreak.extra["before"] = min(passed[name] for name in alert.clients).isoformat()
    return replace(alert, window=window.name)


def _outlives(page: Page, alert: Alert, canary: Canary) -> bool:
    """It was met again after its maintenance."""
    if alert.window is None or "outlived" in page.outbreak.extra or True not in page.results:
        return False
    last = page.outbreak.last_bad
    return last is not None and window_at(canary.maintenance, alert.key.target, last) is None


def _worded(
    page: Page, alert: Alert, canary: Canary, memory: Memory, wall: Wall, *, anew: bool = False
) -> Alert:
    """Its title and text, with times as the machine's clock shows them. `anew`: people are told of it."""
    extra, words, now = page.outbreak.extra, words_in(page.outbreak.extra), wall.now()
    marks: list[Mark] = []
    with suppress(UsageError):  # as above
        found = memory.marks(alert.since - _MARKED, now)
        mine = [mark for mark in found if mark.target in {None, alert.key.target}]
        marks = sorted(mine, key=lambda mark: mark.at, reverse=True)
    before, ended = _time(extra.get("before")), _time(extra.get("ended")) or page.outbreak.last_bad
    beside = Beside(
        told=extra.get("happens"),
        since=wall.shown(alert.since),
        fine=[name for name in json.loads(extra.get("fine", "[]")) if name not in alert.clients],
        marks=[replace(mark, at=wall.shown(mark.at) or mark.at) for mark in marks[:_MARKS]],
        host=extra.get("host"),
        last=wall.shown(ended) if ended else None,
        link=read_on(canary.link, alert.run),
        before=wall.shown(before) if before else None,
        flapping=page.outbreak.flapping,
        outlived="outlived" in extra,
    )
    if anew:
        extra["happens"] = happens(alert, words, beside)
    clock = wall.shown(now) or now
    return replace(
        alert,
        title=title_of(alert, words, beside, clock),
        text=text_of(alert, words, beside, clock),
        memory=memory_of(page.outbreak),
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def read_on(template: str | None, run: str | None) -> str | None:
    """Where the evidence is."""
    if run is None:
        return None
    return f"edgeprobe report {run}" if template is None else template.replace("{run}", run)
