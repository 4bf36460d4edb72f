"""What happened when, in lines of one second or more, with what the command printed beside it?"""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, NamedTuple

from probes.during.plan import STREAMS
from probes.kinds.length.side import Side
from probes.kinds.lifetimes import life, was_cut
from probes.redact import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from probes.deaths import Life
    from probes.during.timed import Command, Request
    from probes.model import Call

AXIS = "axis"
"""The label of its row: lines that belong under one another."""
_WIDTH = 66
_ROWS = 30
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
_MARKS = 8
"""Requests of one row that have a mark of their own."""
_PRINTED = 3
"""Lines of the command that are shown in one row of the axis."""
_ALIKE = 3
_LEGEND = "short: . good  X failed  ? untold; long: | open  X cut  : ended"


class _Row(NamedTuple):
    at: int
    marks: str
    streams: str
    said: tuple[str, ...]

    @property
    def dull(self) -> bool:
        return not self.said and not set(self.marks + self.streams) - set(" .|:")


def drawn(
    seen: Sequence[Request], calls: Sequence[Call], command: Command, redact: Callable[[str], str]
) -> str:
    """Times are counted from when the command began."""
    lives = _lives(calls)
    first = -command.began
    last = max(
        [each.ended for each in seen]
        + [each.ended for lane in lives for each in lane]
        + [command.ended or 0.0]
    )
    last -= command.began
    step = next((step for step in _STEPS if (last - first) / step <= _ROWS), _STEPS[-1])
    rows = [
        _row(at, step, seen, lives, command, redact)
        for at in range(math.floor(first / step) * step, math.floor(last / step) * step + 1, step)
    ]
    marks = max([len("short"), *(len(row.marks) for row in rows)])
    streams = max(len("long"), len(lives))
    lines = [f"{'time':>8}  {'short':<{marks}}  {'long':<{streams}}  what the command printed"]
    for row in _without_repeats(rows):
        lines += [row] if isinstance(row, str) else _lines(row, marks, streams)
    return "\n".join([*lines, _LEGEND])


def _lives(calls: Sequence[Call]) -> list[list[Life]]:
    """Of each lane of long streams, those that began."""
    lanes: dict[str, list[Life]] = {}
    for call in calls:
        if call.case.endswith(STREAMS) and call.trial.label.startswith("stream/"):
            lane = lanes.setdefault(call.trial.label, [])
            if call.last is not None and call.last.timeline.first_token is not None:
                lane.append(life(Side(call))._replace(died=was_cut(Side(call))))
    return [lanes[name] for name in sorted(lanes)]


def _row(
    at: int,
    step: int,
    seen: Sequence[Request],
    lives: Sequence[Sequence[Life]],
    command: Command,
    redact: Callable[[str], str],
) -> _Row:
    since, until = at + command.began, at + command.began + step
    marks = "".join(
        "?" if each.good is None else ".X"[not each.good]
        for each in seen
        if since <= _from(each, command) < until and not each.stream
    )
    if len(marks) > _MARKS:
        marks = " ".join(f"{marks.count(mark)}{mark}" for mark in ".X?" if mark in marks)
    streams = "".join(_cell(lane, since, until) for lane in lives)
    return _Row(at, marks, streams, tuple(_said(command, since, until, redact)))


def _from(each: Request, command: Command) -> float:
    """When it was asked; one that was under way as the command began, and failed, was good until then."""
    under_way = each.good is False and each.at < command.began < each.ended
    return command.began if under_way and command.ended is not None else each.at


def _cell(lane: Sequence[Life], since: float, until: float) -> str:
    there = [each for each in lane if each.began < until and each.ended >= since]
    ended = [each for each in there if each.ended < until]
    if any(each.died for each in ended):
        return "X"
    return ":" if ended else "|" if there else " "


def _said(command: Command, since: float, until: float, redact: Callable[[str], str]) -> Iterator[str]:
    if since <= command.began < until:
        yield f"$ {redact(shlex.join(command.words))}"
    lines = [line.text for line in command.lines if since <= line.at < until]
    yield from map(redact, lines[:_PRINTED])
    if len(lines) > _PRINTED:
        yield f"({len(lines) - _PRINTED} more lines)"
    if command.ended is not None and since <= command.ended < until:
        beyond = f"; {command.more} more lines not kept" if command.more else ""
        yield f"(ended with {command.code}{beyond})"


def _without_repeats(rows: Sequence[_Row]) -> Iterator[_Row | str]:
    """Several in a row that show nothing new become one line."""
    number = 0
    while number < len(rows):
        end = number
        while end < len(rows) and rows[end].dull:
            end += 1
        if end - number > _ALIKE:
            yield rows[number]
            yield f"{'...':>8}  {end - number - 2} rows without trouble"
            number = end - 1
        yield rows[number]
        number += 1


def _lines(row: _Row, marks: int, streams: int) -> Iterator[str]:
    first, *more = row.said or ("",)
    room = _WIDTH - 8 - 2 - marks - 2 - streams - 2
    yield f"{row.at:>+6} s  {row.marks:<{marks}}  {row.streams:<{streams}}  {_short(first, room)}".rstrip()
    for said in more:
        yield f"{'':>8}  {'':<{marks}}  {'':<{streams}}  {_short(said, room)}"


def _short(text: str, room: int) -> str:
    """Harmless, and as wide as there is room."""
    safe = safe_text(text).encode("ascii", "backslashreplace").decode()
    return safe if len(safe) <= room else f"{safe[: room - 3]}..."
