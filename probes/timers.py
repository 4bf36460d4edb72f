"""Whose timer fires at a measured time?

Timers are measured first and only then matched against `configs/timers.yaml`; a match names a suspect, not a cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

from probes import strict_yaml
from probes.bundled import find
from probes.model import STRICT


@dataclass(frozen=True, slots=True)
class Raised:
    """`by` what a timer is raised, and where that is restricted, on which plan; `None` where it is fixed for everybody."""

    __pydantic_config__: ClassVar = STRICT

    by: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Timer:
    """`tolerance`: seconds around `seconds` within which the timer is known to fire. `since`: year and month from which
    it was documented, where that is known. `default`: what it is today where nobody touched it.
    """

    __pydantic_config__: ClassVar = STRICT

    product: str
    timer: str
    seconds: float
    tolerance: float
    kind: Literal["first_byte", "idle", "total", "upload", "connect", "keepalive"]
    source: str
    since: str | None
    default: bool = True
    raised: Raised | None = None


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__: ClassVar = STRICT

    timers: tuple[Timer, ...]


@lru_cache
def timers() -> tuple[Timer, ...]:
    return strict_yaml.read(find("timers", "configs", "configuration"), _File).timers


def default(product: str | None, kind: str) -> Timer | None:
    """What a timer of `product` is where nobody touched it; the longest where it has several, or `None`."""
    known = [t for t in timers() if (t.product, t.kind, t.default) == (product, kind, True)]
    return max(known, key=lambda timer: timer.seconds, default=None)


def match(seconds: float, kind: str, product: str | None, uncertainty: float) -> tuple[Timer, ...]:
    """Timers of `kind` that `seconds` ± `uncertainty` may be: those of `product` first, then the nearest."""
    near = [
        timer
        for timer in timers()
        if timer.kind == kind and abs(timer.seconds - seconds) <= timer.tolerance + uncertainty
    ]
    return tuple(sorted(near, key=lambda timer: (timer.product != product, abs(timer.seconds - seconds))))
