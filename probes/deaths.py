"""Did streams that were begun one after another end at one age, or at one moment?

A limit ends each stream at the same age; a restart or a reload ends all at the same moment, whatever their age.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

TOLERANCE = 1.0
"""Seconds by which two ends may differ and still be one."""
_SHARE = 0.05
"""Of an age, by which two ages may differ and still be one: short streams end within a second of each other by chance."""
_YOUNGEST = 5.0
"""Seconds: no limit on a stream's age is known below, and what ends so young hardly differs by chance."""
_FEWEST = 2


class Life(NamedTuple):
    """Seconds: `began` on a clock that all share, `age` when it ended or was last seen; `died`: it was cut."""

    began: float
    age: float
    died: bool

    @property
    def ended(self) -> float:
        return self.began + self.age


class Pattern(StrEnum):
    """`UNTOLD`: too few, or begun too close together. `NEITHER`: some of each, or by chance."""

    NONE = "none"
    AGE = "age"
    MOMENT = "moment"
    NEITHER = "neither"
    UNTOLD = "untold"


class Together(NamedTuple):
    """`died` of `of`, which are those that could have: of a limit those that lived as long, of a restart those that were
    open then. `at`: the age, or the moment on the shared clock; `apart`: seconds from the first of these ends to the last.
    """

    pattern: Pattern
    died: int
    of: int
    at: float | None = None
    apart: float | None = None


def judge(lives: list[Life], off: float = 0.0) -> Together:
    """`off`: seconds that two measured times may differ by, though they were one.

    All that were cut together; one that went on where another was cut speaks against a limit, and against a restart of
    all there is, not against one of several instances.
    """
    dead = [life for life in lives if life.died]
    if not dead:
        return Together(Pattern.NONE, 0, len(lives))
    ages, moments = [life.age for life in dead], [life.ended for life in dead]
    tolerance = max(TOLERANCE, off)
    at_age, at_once = _at_one_age(ages, off), _spread(moments) <= tolerance
    outlived = [life for life in lives if not life.died and life.age > max(ages) + tolerance]
    if len(dead) < _FEWEST or (at_age and at_once):
        return Together(Pattern.UNTOLD, len(dead), len(lives))
    if at_age and not outlived:
        return Together(Pattern.AGE, len(dead), len(dead), _mean(ages), _spread(ages))
    if at_once:
        then = _mean(moments)
        open_then = [
            life
            for life in lives
            if life.began < min(moments) and (life.died or life.ended > then + tolerance)
        ]
        return Together(Pattern.MOMENT, len(dead), len(open_then), then, _spread(moments))
    return Together(Pattern.NEITHER, len(dead), len(lives))


def _at_one_age(ages: list[float], off: float) -> bool:
    """What is measured no better than chance would have it, proves nothing."""
    mean = _mean(ages)
    return (
        min(ages) >= _YOUNGEST
        and off <= 2 * _SHARE * mean
        and _spread(ages) <= max(off, min(TOLERANCE, _SHARE * mean))
    )


def _spread(values: list[float]) -> float:
    return max(values) - min(values)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
