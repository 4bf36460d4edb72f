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
    """`names`: what it is made of. Where each of them was told after `unless` already, it is none."""

    key: AlertKey
    names: tuple[str, ...]
    words: Words
    since: datetime
    unless: datetime
    entries: tuple[str, ...] = ()
    run: str | None = None
    read_on: str = ""
    """Where that is more than the run."""


def alert_of(news: News, now: datetime, read_on: str | None) -> Alert:
    """`read_on`: where more of it can be read."""
    rows = [*news.words.rows, ("watched", ", ".join(news.entries))]
    rows += [("do", news.words.do)] if news.words.do else []
    rows += [("report", read_on)] if read_on else []
    return Alert(
        identity(news.key, *news.names, now),
        news.key,
        AlertState.RESOLVED,
        since=news.since,
        opened=now,
        updated=now,
        resolved=now,
        title=line(f"[change] {news.words.title}: {news.key.target}", TITLE),
        text="\n".join(f"{label}: {line(text, LINE)}" for label, text in rows),
        entries=news.entries,
        run=news.run,
        memory={NAMES: json.dumps([name_of(news.key.target, name) for name in news.names])},
    )


def name_of(target: str, name: str) -> str:
    """Short, however long a stranger made it."""
    return identity(target, name)
