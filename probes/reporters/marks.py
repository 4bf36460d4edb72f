"""What was changed and when, as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from probes.reporters.console import Page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from probes.canary import Mark

_OWN = "edgeprobe mark"
_NAMED = 6


def written(
    mark: Mark, now: datetime, out: TextIO, *, by: str = "", moved: Mark | None = None, clock: str = ""
) -> None:
    """One that was just made. `by`: where its author comes from; `moved`: whose baseline it took; `clock`: whose time it
    has, if not this machine's.
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
        page.row("baseline", f"{mark.baseline}: the runs before it go by that name{_from(moved)}")


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
        yield f"baseline {mark.baseline}"


def _from(moved: Mark | None) -> str:
    return "" if moved is None else f'; until now those before {_utc(moved.at)}, "{moved.text}"'


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
