"""What was changed and when, as a person reads it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TextIO

from probes.document import span_in_words
from probes.model import Verdict
from probes.reporters.console import Page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from probes.canary import Mark
    from probes.model import Run

_GOOD = {Verdict.PASS, Verdict.WARN}
_OWN = "edgeprobe mark"
_NAMED = 6


def written(
    mark: Mark,
    now: datetime,
    out: TextIO,
    *,
    by: str = "",
    moved: Mark | None = None,
    runs: Sequence[Run] = (),
    window: str = "",
    clock: str = "",
) -> None:
    """One that was just made. `by`: where its author comes from; `moved`: whose baseline it took; `runs`: those of its own
    baseline, looked for in the `window`; `clock`: whose time it has, if not this machine's.
    """
    page = Page(out)
    page.row("marked", f'"{mark.text}"')
    page.row(
        "at", f"{_utc(mark.at)}: {clock}" if clock else f"{_utc(mark.at)}{_here(mark.at)}{_ago(mark.at, now)}"
    )
    if mark.author is not None:
        page.row("by", f"{mark.author}{f' ({by})' if by else ''}")
    page.row("of", f"target {mark.target}" if mark.target else "every target")
    if mark.baseline is not None:
        for said in _baseline(mark.baseline, runs, window):
            page.row("baseline", said)
        if moved is not None:
            page.row("until now", f'{mark.baseline} was before {_utc(moved.at)}, "{moved.text}"')
        for said in _doubts(runs):
            page.row("warning", said)


def _baseline(name: str, runs: Sequence[Run], window: str) -> Iterator[str]:
    if not runs:
        yield f"{name}: no run is kept {window}"
    for target in dict.fromkeys(run.target.name for run in runs):
        mine = [run for run in runs if run.target.name == target]
        verdicts = Counter(str(run.verdict) for run in mine)
        told = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
        span = span_in_words(mine[0].started, mine[-1].finished)
        yield f"{name}: {_count(len(mine), 'run')} of {target} ({told}), {span}"


def _doubts(runs: Sequence[Run]) -> Iterator[str]:
    """What should be known of a state before anything is held against it."""
    if not runs:
        yield "nothing can be held against it yet: run first, then give the name"
        return
    if bad := [run for run in runs if run.verdict not in _GOOD]:
        yield f"{len(bad)} of {len(runs)} did not pass: what failed in them is no regression later"
    for what, values in (
        ("vantages", {run.vantage or "none" for run in runs}),
        ("speeds of a lab's time", {f"{run.time_scale:g}" for run in runs}),
    ):
        if len(values) > 1:
            yield f"its runs are of several {what} ({', '.join(sorted(values))}), which are not compared with each other"


def removed(mark: Mark, out: TextIO) -> None:
    page = Page(out)
    page.row("removed", f'{_utc(mark.at)}{_here(mark.at)}, "{mark.text}"')
    if mark.baseline is not None:
        page.row("baseline", f"{mark.baseline} is no name any more")
    if mark.source != _OWN:
        page.row("note", f"the next import of {mark.source} brings it back")


def listed(marks: Sequence[Mark], since: datetime, out: TextIO) -> None:
    page = Page(out)
    if not marks:
        page.line(f"no marks since {_utc(since)}")
    for mark in marks:
        _one(page, mark)


def imported(new: Sequence[Mark], every: Sequence[Mark], since: datetime, out: TextIO) -> None:
    page = Page(out)
    for mark in new:
        _one(page, mark)
    known = len(every) - len(new)
    rest = f"; {known} had been there" if known else ""
    page.line(f"{_count(len(new), 'new mark')} since {_utc(since)}{rest}", style="bold")
    page.line(
        "A log tells what it knows, some minutes late: no mark of a change is no proof that there was none."
    )


def left_out(
    beside: Mapping[str, int], zones: Mapping[str, int], unreadable: int, zone: str | None, out: TextIO
) -> None:
    """`beside`: by product; `zones`: by zone, beside the one that was asked for."""
    page = Page(out)
    if beside:
        page.line(f"left out: {_counts(beside)}, which change nothing that a request passes")
    if zones:
        page.line(f"left out: of other zones than {zone}: {_counts(zones)}")
    if unreadable:
        page.line(f"left out: {unreadable} without a time or a product")


def _one(page: Page, mark: Mark) -> None:
    page.line(f'{_utc(mark.at)}{_here(mark.at)}  "{mark.text}"')
    if about := " · ".join(_about(mark)):
        page.row("", about)


def _about(mark: Mark) -> Iterator[str]:
    if mark.author is not None:
        yield f"by {mark.author}"
    if mark.source != _OWN:
        yield mark.source
    if mark.target is not None:
        yield f"target {mark.target}"
    if mark.baseline is not None:
        many = f" ({_count(len(mark.runs), 'run')})" if mark.runs else ""
        yield f"baseline {mark.baseline}{many}"


def _counts(found: Mapping[str, int]) -> str:
    ordered = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    named = ", ".join(f"{name} ({n})" for name, n in ordered[:_NAMED])
    rest = len(ordered) - _NAMED
    return f"{named} and {rest} more" if rest > 0 else named


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _here(at: datetime) -> str:
    """By the clock on the wall, where that is another."""
    local = at.astimezone()
    if not local.utcoffset():
        return ""
    day = "" if local.date() == at.date() else f"{local:%Y-%m-%d} "
    offset = f"{local:%z}"
    return f" (here {day}{local:%H:%M:%S} {offset[:3]}:{offset[3:5]})"


def _ago(at: datetime, now: datetime) -> str:
    minutes = round((now - at).total_seconds() / 60)
    if minutes < 1:
        return ""
    if minutes < 120:
        said = _count(minutes, "minute")
    else:
        said = _count(round(minutes / 60), "hour") if minutes < 48 * 60 else f"{round(minutes / 1440)} days"
    yesterday = (now.astimezone().date() - at.astimezone().date()).days == 1
    return f", {said} ago{': yesterday' if yesterday else ''}"
