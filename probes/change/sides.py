"""Which runs does each side of a comparison mean?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from probes import moments
from probes.comparison import Side
from probes.errors import UsageError, did_you_mean
from probes.moments import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from probes.canary import Mark
    from probes.model import Run

_RUN = re.compile(r"\d{8}-\d{6}-[0-9a-z]{4}")
_REACH = timedelta(days=1)
"""From a mark, as far as no other mark is nearer."""
_MOST = 100
"""Runs of a side, those that are nearest to the mark."""
_SHOWN = 60
Told = tuple[Side, list["Run"]]


class Archive(Protocol):
    """Where runs and marks are kept."""

    def load(self, id_or_path: str) -> Run: ...

    def names(self, since: datetime, until: datetime) -> Sequence[str]:
        """Ids of the runs that began in that time, the oldest first."""

    def marks(self) -> Sequence[Mark]:
        """In the order of time."""


@dataclass(frozen=True, slots=True)
class Window:
    """`newest`: of more runs than are needed the last ones count."""

    label: str
    since: datetime
    until: datetime
    newest: bool


def sides(
    a: str, b: str | None, archive: Archive, now: datetime, target: str | None = None
) -> tuple[Told, Told]:
    """`b` may be left out where `a` is a time or a mark: then they are before it and after it.

    Raises UsageError for what names no runs.
    """
    if b is None and not _divides(a, archive, now):
        raise UsageError(
            f"compare {a}: with what? A time or a mark alone has a before and an after, a run does not"
        )
    before = side(a, archive, now, target, after=False)
    after = side(a if b is None else b, archive, now, target or before[0].target, after=True)
    if shared := {run.id for run in before[1]} & {run.id for run in after[1]}:
        raise UsageError(f"the same run stands on both sides: {min(shared)}")
    return before, after


def side(
    word: str, archive: Archive, now: datetime, target: str | None = None, *, after: bool = False
) -> Told:
    """A run's id or file, `FROM..TO`, a time, the text of a mark, or the name of a baseline."""
    if _RUN.fullmatch(word) or Path(word).suffix == ".json" or len(Path(word).parts) > 1:
        run = archive.load(word)
        return _told(run.id, [run], run.started, run.finished)
    window = _window(word, archive.marks(), now, target, after=after)
    runs = _runs(archive, window, target)
    if not runs:
        of = f" of target {target}" if target else ""
        span = f"{window.since:%Y-%m-%d %H:%M} to {window.until:%Y-%m-%d %H:%M} UTC"
        raise UsageError(f"{window.label}: no run{of} is kept from {span}")
    return _told(window.label, runs, window.since, window.until)


def _told(label: str, runs: list[Run], since: datetime, until: datetime) -> Told:
    vantages = {run.vantage for run in runs}
    vantage = vantages.pop() if len(vantages) == 1 else None
    ids = tuple(run.id for run in runs)
    return Side(label, ids, since, until, runs[0].target.name, vantage, runs[0].time_scale), runs


def _window(word: str, marks: Sequence[Mark], now: datetime, target: str | None, *, after: bool) -> Window:
    begin, dots, end = word.partition("..")
    if dots:
        since, until = (_moment(text, now) for text in (begin, end))
        if since is None or until is None:
            raise UsageError(f"{word}: a window is FROM..TO, each such as {FORMS}")
        if since >= until:
            raise UsageError(f"{word}: ends before it begins")
        return Window(word, since, until, newest=True)
    mine = [mark for mark in marks if mark.target in {None, target} or target is None]
    named = [mark for mark in mine if mark.baseline == word]
    if named:
        return _beside(f"baseline {word}", named[-1].at, mine, now, after=False)
    at = _moment(word, now)
    if at is not None:
        return _beside(f"{at:%Y-%m-%d %H:%M} UTC", at, mine, now, after=after)
    mark = _mark(word, mine)
    return _beside(f'"{mark.text[:_SHOWN]}" ({mark.at:%Y-%m-%d %H:%M} UTC)', mark.at, mine, now, after=after)


def _beside(label: str, at: datetime, marks: Iterable[Mark], now: datetime, *, after: bool) -> Window:
    """Up to the next mark: beyond it another change counts."""
    if after:
        until = min([at + _REACH, now.astimezone(UTC), *(mark.at for mark in marks if mark.at > at)])
        return Window(f"after {label}", at, max(until, at), newest=False)
    since = max([at - _REACH, *(mark.at for mark in marks if mark.at < at)])
    return Window(label if label.startswith("baseline ") else f"before {label}", since, at, newest=True)


def _moment(word: str, now: datetime) -> datetime | None:
    try:
        return moments.moment(word, now)
    except (ValueError, OverflowError, OSError):
        return None


def _divides(word: str, archive: Archive, now: datetime) -> bool:
    """A time or a mark has a before and an after."""
    if ".." in word or _RUN.fullmatch(word) or Path(word).suffix == ".json" or len(Path(word).parts) > 1:
        return False
    return _moment(word, now) is not None or any(mark.baseline != word for mark in archive.marks())


def _mark(word: str, marks: Sequence[Mark]) -> Mark:
    """By its text, whole or a part of it that no other has; of several with the same text the last."""
    found = [mark for mark in marks if mark.text == word] or [
        m for m in marks if word.lower() in m.text.lower()
    ]
    texts = list(dict.fromkeys(mark.text for mark in found))
    if len(texts) > 1:
        raise UsageError(
            f"{word}: several marks read so: {', '.join(repr(text[:_SHOWN]) for text in texts[:3])}"
        )
    if not found:
        known = [*(mark.text for mark in marks), *(mark.baseline for mark in marks if mark.baseline)]
        near = did_you_mean(word, known[-10:])
        raise UsageError(f"{word}: neither a run, a file, a time ({FORMS}), a mark nor a baseline{near}")
    return found[-1]


def _runs(archive: Archive, window: Window, target: str | None) -> list[Run]:
    """Those that lie in it whole: one that a change befell in its middle is of neither side."""
    names = list(archive.names(window.since, window.until))
    found: list[Run] = []
    for name in reversed(names) if window.newest else names:
        try:
            run = archive.load(name)
        except UsageError:  # not a run, or one that is damaged: the others may do
            continue
        whole = window.since <= run.started and run.finished <= window.until
        if whole and target in {None, run.target.name}:
            found.append(run)
            if len(found) == _MOST:
                break
    return sorted(found, key=lambda run: run.started)
