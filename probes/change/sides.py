"""Which runs does each side of a comparison mean?"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from probes import moments
from probes.comparison import Side
from probes.document import span_in_words
from probes.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from probes.canary import Mark
    from probes.model import Run

_RUN = re.compile(r"\d{8}-\d{6}-[0-9a-z]{4}")
_REACH = timedelta(days=1)
"""From a mark, as far as no other mark is nearer."""
_MOST = 100
"""Runs of a side, those that are nearest to the mark."""
_SHOWN = 60
FORMS = f"{moments.FORMS}, or -10m (ago)"
NOWHERE = "none"
Told = tuple[Side, list["Run"]]


class Archive(Protocol):
    """Where runs and marks are kept."""

    def load(self, id_or_path: str) -> Run: ...

    def names(self, since: datetime, until: datetime) -> Sequence[str]:
        """Ids of the runs that began in that time, the oldest first."""

    def marks(self) -> Sequence[Mark]:
        """In the order of time."""


@dataclass(frozen=True, slots=True)
class Only:
    """What a run has to be of, so that it counts; `None`: whichever."""

    target: str | None = None
    vantage: str | None = None
    """"none": of runs that name none."""

    def differs(self, run: Run) -> str:
        """In which it is of another, in words; "" where it counts."""
        if self.target not in {None, run.target.name}:
            return f"is of target {run.target.name}, not {self.target}"
        if self.vantage not in {None, run.vantage or NOWHERE}:
            return f"is from vantage {run.vantage or NOWHERE}, not {self.vantage}"
        return ""

    def __str__(self) -> str:
        of = f" of target {self.target}" if self.target else ""
        return f"{of} from vantage {self.vantage}" if self.vantage else of


@dataclass(frozen=True, slots=True)
class Window:
    """`newest`: of more runs than are needed the last ones count. `bound`: the mark at its far end, where one is nearer than
    a day.
    """

    label: str
    since: datetime
    until: datetime
    newest: bool
    bound: Mark | None = None


ANY = Only()


def sides(a: str, b: str | None, archive: Archive, now: datetime, only: Only = ANY) -> tuple[Told, Told]:
    """`b` may be left out where `a` is a time, a mark or a baseline: then they are before it and after it.

    Raises UsageError for what names no runs.
    """
    if b is None and (".." in a or _is_run(a)):
        raise UsageError(
            f"compare {a}: with what? A time, a mark or a baseline alone has a before and an after, this has not"
        )
    before = side(a, archive, now, only)
    alike = replace(only, target=only.target or before[0].target)
    if b is None:
        after = _in_window(_window(a, archive.marks(), now, alike, after=True, since=True), archive, alike)
    else:
        after = side(b, archive, now, only if _is_run(b) else alike, after=True)
    if shared := {run.id for run in before[1]} & {run.id for run in after[1]}:
        raise UsageError(f"the same run stands on both sides: {min(shared)}")
    return before, after


def side(word: str, archive: Archive, now: datetime, only: Only = ANY, *, after: bool = False) -> Told:
    """A run's id or file, `FROM..TO`, a time, the text of a mark, or the name of a baseline."""
    if _is_run(word):
        run = archive.load(word)
        if other := only.differs(run):
            raise UsageError(f"run {run.id} {other}")
        return _told(run.id, [run], run.started, run.finished)
    marks = archive.marks()
    named = _baseline(word, _of(marks, only))
    if named is not None and named.runs:
        return _pinned(named, archive, only)
    return _in_window(_window(word, marks, now, only, after=after), archive, only)


def before_mark(mark: Mark, archive: Archive) -> tuple[list[Run], str]:
    """The runs whose state it ends: since the mark before it that may have hit their target, and no further than a day.
    And in words from when to when that is, and which mark bounds it.
    """
    marks = [one for one in archive.marks() if one.at < mark.at]
    window = _before("", mark.at, [one for one in marks if one.target in {None, mark.target}])
    of_target = {one.target: one for one in marks}  # in the order of time: the last one counts
    found = _runs(archive, window, Only(mark.target))
    near = [of_target.get(run.target.name) for run in found]
    runs = [run for run, last in zip(found, near, strict=True) if last is None or run.started >= last.at]
    bound = window.bound if runs or not near else near[-1]
    since = window.since if bound is None else bound.at
    return runs, f"from {span_in_words(since, mark.at)}{_bounded(bound)}"


def _is_run(word: str) -> bool:
    return bool(_RUN.fullmatch(word)) or Path(word).suffix == ".json" or len(Path(word).parts) > 1


def _of(marks: Iterable[Mark], only: Only) -> list[Mark]:
    return [mark for mark in marks if only.target is None or mark.target in {None, only.target}]


def _baseline(word: str, marks: Iterable[Mark]) -> Mark | None:
    return next((mark for mark in reversed([*marks]) if mark.baseline == word), None)


def _pinned(mark: Mark, archive: Archive, only: Only) -> Told:
    """The runs that it was given to, whatever was marked since; those that are forgotten are missed by nobody."""
    runs = _loaded(mark.runs, archive, lambda run: not only.differs(run))
    if not runs:
        many = (
            f"none of its {len(mark.runs)} runs{only} is kept"
            if len(mark.runs) > 1
            else f"its run{only} is not kept"
        )
        raise UsageError(f"baseline {mark.baseline}: {many}")
    return _told(f"baseline {mark.baseline}", runs, runs[0].started, mark.at)


def _in_window(window: Window, archive: Archive, only: Only) -> Told:
    runs = _runs(archive, window, only)
    if not runs:
        span = span_in_words(window.since, window.until)
        raise UsageError(f"{window.label}: no run{only} is kept from {span}{_bounded(window.bound)}")
    return _told(window.label, runs, window.since, window.until)


def _bounded(bound: Mark | None) -> str:
    return f"; it is bounded by the mark {_quoted(bound)}" if bound else ""


def _told(label: str, runs: list[Run], since: datetime, until: datetime) -> Told:
    vantages = {run.vantage for run in runs}
    vantage = vantages.pop() if len(vantages) == 1 else None
    ids = tuple(run.id for run in runs)
    return Side(label, ids, since, until, runs[0].target.name, vantage, runs[0].time_scale), runs


def _window(
    word: str, marks: Sequence[Mark], now: datetime, only: Only, *, after: bool, since: bool = False
) -> Window:
    """`since`: what came after a baseline, and not the baseline itself."""
    begin, dots, end = word.partition("..")
    if dots:
        first, last = (_moment(text, now) for text in (begin, end))
        if first is None or last is None:
            raise UsageError(f"{word}: a window is FROM..TO, each such as {FORMS}")
        if first >= last:
            raise UsageError(f"{word}: ends before it begins")
        return Window(word, first, last, newest=True)
    mine = _of(marks, only)
    named = _baseline(word, mine)
    if named is not None:
        label = f"baseline {word}"
        return _after(label, named.at, mine, now) if since else _before(label, named.at, mine)
    at = _moment(word, now)
    if at is not None:
        label = f"{at:%Y-%m-%d %H:%M} UTC"
    else:
        mark = _mark(word, mine)
        at, label = mark.at, _quoted(mark)
    return _after(label, at, mine, now) if after else _before(f"before {label}", at, mine)


def _quoted(mark: Mark) -> str:
    return f'"{mark.text[:_SHOWN]}" ({mark.at:%Y-%m-%d %H:%M:%S} UTC)'


def _after(label: str, at: datetime, marks: Iterable[Mark], now: datetime) -> Window:
    """Up to the next mark: beyond it another change counts."""
    until = max(min(at + _REACH, now.astimezone(UTC)), at)
    bound = min((mark for mark in marks if at < mark.at < until), key=lambda mark: mark.at, default=None)
    return Window(f"after {label}", at, bound.at if bound else until, newest=False, bound=bound)


def _before(label: str, at: datetime, marks: Iterable[Mark]) -> Window:
    """Back to the mark before."""
    since = at - _REACH
    bound = max((mark for mark in marks if since < mark.at < at), key=lambda mark: mark.at, default=None)
    return Window(label, bound.at if bound else since, at, newest=True, bound=bound)


def _moment(word: str, now: datetime) -> datetime | None:
    try:
        return moments.ago(word, now) if word.startswith("-") else moments.moment(word, now)
    except (ValueError, OverflowError, OSError):
        return None


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


def _runs(archive: Archive, window: Window, only: Only) -> list[Run]:
    """Those that lie in it whole: one that a change befell in its middle is of neither side."""
    names = archive.names(window.since, window.until)
    return _loaded(
        reversed(names) if window.newest else names,
        archive,
        lambda run: window.since <= run.started and run.finished <= window.until and not only.differs(run),
    )


def _loaded(names: Iterable[str], archive: Archive, fits: Callable[[Run], bool]) -> list[Run]:
    found: list[Run] = []
    for name in names:
        try:
            run = archive.load(name)
        except UsageError:  # not a run, or one that is damaged: the others may do
            continue
        if fits(run):
            found.append(run)
            if len(found) == _MOST:
                break
    return sorted(found, key=lambda run: run.started)
