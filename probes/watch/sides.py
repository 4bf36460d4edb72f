"""What lies before marks and after them, and under which name is it told?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from probes.alerts.news import News
from probes.canary import About, AlertKey
from probes.model import Layer

if TYPE_CHECKING:
    from probes.alerts.text import Words
    from probes.canary import Mark, Turn
    from probes.model import Finding

_EVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Marks:
    """Of one target, in the order of time. `since`, `until`: of the marks around them, no further than a day."""

    target: str
    told: tuple[Mark, ...]
    since: datetime
    until: datetime

    @property
    def first(self) -> datetime:
        return self.told[0].at

    @property
    def last(self) -> datetime:
        return self.told[-1].at

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(name_of, self.told))


@dataclass(frozen=True, slots=True)
class Sides:
    """Turns with a run before a change and after it, oldest first; `left`: in words, what was not asked after it."""

    marks: Marks
    before: tuple[Turn, ...]
    after: tuple[Turn, ...]
    entries: tuple[str, ...]
    left: tuple[str, ...] = ()


def name_of(mark: Mark) -> str:
    return f"mark\n{mark.at.isoformat()}\n{mark.source}\n{mark.text}"


def news_of(sides: Sides, words: Words, found: Finding | None = None) -> News:
    """`found`: what it is grouped by, where something was found."""
    marks = sides.marks
    layer, product = (Layer.UNKNOWN, None) if found is None else (found.layer, found.product)
    key = AlertKey(
        marks.target, About.CHANGE, layer, product, "not_measured" if found is None else found.code
    )
    return News(
        key, marks.names, words, marks.first, _EVER, sides.entries, sides.after[-1].run if sides.after else None,
        f"edgeprobe compare {_asked_for(marks)} --target {marks.target}",
    )  # fmt: skip


def _asked_for(marks: Marks) -> str:
    """As `compare` takes it, which goes no further than the next mark."""
    if len(marks.told) == 1:
        return _said(marks.first)
    return f"{_said(marks.since)}..{_said(marks.first)} {_said(marks.last)}..{_said(marks.until)}"


def _said(at: datetime) -> str:
    return at.isoformat(timespec="auto").replace("+00:00", "Z")
