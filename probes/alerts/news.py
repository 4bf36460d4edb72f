"""What is told once, as nobody waits for its end?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.alerts.book import NAMES, identity
from probes.alerts.text import LINE, TITLE, line
from probes.canary import Alert, AlertState

if TYPE_CHECKING:
    from datetime import datetime

    from probes.alerts.text import Words
    from probes.canary import AlertKey


@dataclass(frozen=True, slots=True)
class News:
    """`names`: what it is made of. Where each of them was told after `unless` already, it is none. `seen`: of what came about
    unmarked between `since` and then, so that a maintenance in that time may have been for it.
    """

    key: AlertKey
    names: tuple[str, ...]
    words: Words
    since: datetime
    unless: datetime
    entries: tuple[str, ...] = ()
    run: str | None = None
    read_on: str = ""
    """Where that is more than the run."""
    seen: datetime | None = None


def alert_of(news: News, now: datetime, read_on: str | None, planned: str | None = None) -> Alert:
    """`read_on`: where more of it can be read; `planned`: the maintenance that it may belong to."""
    rows = [*news.words.rows, ("watched", ", ".join(news.entries))]
    rows += [("maintenance", f"it came about during {planned}, or beside it")] if planned else []
    do = f"operator: See that {planned} was for it; else undo it." if planned else news.words.do
    rows += [("do", do)] if do else []
    rows += [("report", read_on)] if read_on else []
    return Alert(
        identity(news.key, *news.names, now),
        news.key,
        AlertState.RESOLVED,
        since=news.since,
        opened=now,
        updated=now,
        resolved=now,
        title=line(
            f"[change] {news.words.title}: {news.key.target}{f', during maintenance {planned}' if planned else ''}",
            TITLE,
        ),
        text="\n".join(f"{label}: {line(text, LINE)}" for label, text in rows),
        entries=news.entries,
        run=news.run,
        window=planned,
        memory={NAMES: json.dumps([name_of(news.key.target, name) for name in news.names])},
    )


def name_of(target: str, name: str) -> str:
    """Short, however long a stranger made it."""
    return identity(target, name)
