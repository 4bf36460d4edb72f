"""What became of a connection that idled and was then asked again?"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from probes.timers import timers

if TYPE_CHECKING:
    from probes.model import Call, Exchange

_MATCHES = 3


class Became(Enum):
    """`ALIVE`: it carried the request. `CUT`, `SILENT`: the request was written on it and met a reset or close, or
    nothing. `CLOSED`: the peer had closed it, the client saw that and opened another. `DROPPED`: the client opened
    another, and no close by the peer was seen. `OTHER`: no word on idling, such as another connection that failed.
    """

    ALIVE = "alive"
    CUT = "cut"
    SILENT = "silent"
    CLOSED = "closed"
    DROPPED = "dropped"
    OTHER = "other"


BROKEN = frozenset({Became.CUT, Became.SILENT})


def became(exchange: Exchange) -> Became:
    reused = exchange.conditions.get("connection") == "reused"
    if exchange.status is not None:
        if reused:
            return Became.ALIVE
        return Became.CLOSED if exchange.conditions.get("idle_end") else Became.DROPPED
    kind = exchange.error.kind if exchange.error is not None else None
    if reused and kind in {"reset", "closed"}:
        return Became.CUT
    return Became.SILENT if reused and kind in {"deadline", "timeout", "lost"} else Became.OTHER


@dataclass(frozen=True, slots=True)
class Idled:
    """A request after `seconds` on the connection that idled, and beside it the same on a fresh one; both were sent."""

    seconds: float
    reuse: Call
    fresh: Call

    @property
    def became(self) -> Became:
        """A request that the client did not even send says nothing of the connection."""
        return became(self.reuse.last) if self.reuse.last is not None else Became.OTHER

    @property
    def answered_fresh(self) -> bool:
        """Any complete head will do: a key that is refused proves the way as well."""
        return self.fresh.last is not None and self.fresh.last.status is not None

    @property
    def stale(self) -> bool:
        return self.became in BROKEN and self.answered_fresh


@dataclass(slots=True)
class Life:
    """One client's connection, idle times ascending; `again` are further samples of the time at which it broke, `between`
    are of shorter ones, on connections of their own.
    """

    client: str
    idled: list[Idled] = field(default_factory=list)
    again: list[Idled] = field(default_factory=list)
    between: list[Idled] = field(default_factory=list)

    @property
    def goes_on(self) -> bool:
        """What was closed, dropped or broken after one time is so after every longer one."""
        return not self.idled or self.idled[-1].became is Became.ALIVE

    @property
    def last(self) -> Idled:
        return self.idled[-1]

    @property
    def survived(self) -> float | None:
        """The longest time after which the connection carried a request."""
        bore = [step.seconds for step in self.idled if step.became is Became.ALIVE]
        bore += [step.seconds for step in self.between if step.became is Became.ALIVE and self._narrows]
        return max(bore, default=None)

    @property
    def dead_after(self) -> float:
        """The shortest time after which a connection was dead."""
        dead = [step.seconds for step in self.between if step.stale and self._narrows]
        return min([self.last.seconds, *dead])

    @property
    def _narrows(self) -> bool:
        """Every time that was borne is shorter than each that was not; else those between say nothing."""
        bore = [step.seconds for step in self.between if step.became is Became.ALIVE]
        return not bore or all(step.seconds > max(bore) for step in self.between if step.stale)

    @property
    def samples(self) -> list[Idled]:
        """At the time at which it ended, or the longest that it bore."""
        return [self.last, *self.again]

    @property
    def evidence(self) -> tuple[str, ...]:
        calls = [
            call for step in (*self.idled, *self.again, *self.between) for call in (step.reuse, step.fresh)
        ]
        return tuple(call.last.id for call in calls if call.last is not None)


def why_not_kept(exchange: Exchange) -> str:
    """Why a connection was not used again at once, by what its last answer said."""
    said = exchange.header("connection") or ""
    if "close" in said.lower():
        return "the answer says connection: close"
    if exchange.conditions.get("http_version") == "HTTP/1.0":
        return "the answer is HTTP/1.0, which closes after each"
    if exchange.conditions.get("idle_end"):
        return "the peer closed it right after the answer"
    return "the client opened another for the next request"


def known_timers(above: float, until: float) -> tuple[tuple[str, str], ...]:
    """Keep-alive timers that fire in a bracket of seconds, as a row: suspects, of which none is proven."""
    names = [
        f"{timer.product} {timer.timer} ({timer.seconds:g} s)"
        for timer in timers()
        if timer.kind == "keepalive" and above < timer.seconds and timer.seconds - timer.tolerance <= until
    ]
    return (("lie between", f"{' or '.join(names)}; not proven"),) if 0 < len(names) <= _MATCHES else ()


def between(survived: float | None, until: float) -> str:
    """A bracket in words."""
    return f"between {survived:g} and {until:g} s" if survived else f"within {until:g} s"
