"""What is a page about a stretch of time made of?

Frozen nouns alone, like those of `model`: what is wrong now, and how each target did, interval by interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from probes.canary import About, Alert, Mark, Severity
from probes.model import Layer, Spend, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable


class State(StrEnum):
    """What came of one interval, at worst."""

    FAILED = "failed"
    LIMITED = "limited"
    """Held back on our own key, each of them: that says nothing of the service."""
    GOOD = "good"
    NOTHING = "nothing"
    """Nothing was measured."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Of the requests that a customer could have made, through one client over one route in one interval."""

    n: int = 0
    good: int = 0
    limited: int = 0

    @property
    def failed(self) -> int:
        return self.n - self.good - self.limited

    @property
    def failing(self) -> float:
        """Of those that were not held back."""
        counted = self.n - self.limited
        return self.failed / counted if counted else 0.0

    @property
    def state(self) -> State:
        if self.failed > 0:
            return State.FAILED
        if self.good:
            return State.GOOD
        return State.LIMITED if self.n else State.NOTHING

    def __add__(self, other: Cell) -> Cell:
        return Cell(self.n + other.n, self.good + other.good, self.limited + other.limited)


@dataclass(frozen=True, slots=True)
class Strip:
    """One cell for each interval of the span. `route`: `None` where it was not recorded."""

    client: str
    route: str | None
    cells: tuple[Cell, ...]

    @property
    def whole(self) -> Cell:
        return sum(self.cells, Cell())


@dataclass(frozen=True, slots=True)
class Point:
    """Percentiles of one interval or hour in seconds; `None` where there are too few samples for it."""

    n: int = 0
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True)
class Cutoff:
    """When one case last asked at which age an answer is cut. `seconds` is `None` where it was held and not cut.

    `plain`: of an answer that is not streamed, which is what makes a limit on its tokens.
    """

    at: datetime
    case: str
    route: str | None
    seconds: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    held: float | None = None
    plain: bool = False
    run: str = ""


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of the day (UTC), over all days of the span. `tokens`: of the longest answer that is not cut."""

    hour: int
    ttft: Point
    tpot: Point
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """Prompt tokens that came from the provider's cache, of `prompt` in all, as the usage of `n` answers tells."""

    n: int = 0
    cached: int = 0
    prompt: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.n + other.n, self.cached + other.cached, self.prompt + other.prompt)


@dataclass(frozen=True, slots=True)
class Ran:
    """A run. `entry`: of the canary that asked by its schedule, `None` where a person or a pipeline did."""

    run: str
    at: datetime
    entry: str | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a case found when it was last asked over a route, for the clients that found the same; of none in particular
    where it is of a run as a whole, such as beside its baseline.
    """

    at: datetime
    run: str
    case: str
    clients: tuple[str, ...]
    route: str
    code: str
    verdict: Verdict
    layer: Layer
    product: str | None
    vendor_code: str | None
    title: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Of the answers over one route, `None` where it was not recorded. Intervals of the span have as many points, and
    shares where a usage tells of a cache. `answers`: good ones; `shares` are of some of them where they are many.
    """

    route: str | None
    ttft: tuple[Point, ...]
    tpot: tuple[Point, ...]
    hours: tuple[Hour, ...] = ()
    shares: tuple[Share, ...] = ()
    answers: int = 0

    def slowest(self) -> Hour | None:
        """Where a token takes longest, of those hours whose limit in tokens is known."""
        known = [hour for hour in self.hours if hour.tokens is not None]
        return max(known, key=lambda hour: hour.tpot.p50 or 0.0, default=None)


@dataclass(frozen=True, slots=True)
class Watched:
    """A target as one vantage saw it. Intervals of the span have as many cells. `figures`: of each route over which
    anything is known, at least one.

    `asked`: when it last was, and `usually` how often by the schedule. `spends`: by the day.
    """

    target: str
    vantage: str | None
    strips: tuple[Strip, ...]
    figures: tuple[Figures, ...]
    cutoffs: tuple[Cutoff, ...]
    spends: tuple[tuple[datetime, Spend], ...]
    spent: Spend
    troubles: tuple[Trouble, ...] = ()
    cases: int = 0
    asked: datetime | None = None
    usually: timedelta | None = None
    ran: tuple[Ran, ...] = ()

    def silent(self, until: datetime) -> bool:
        """Nobody asked for longer than was usual."""
        if self.asked is None:
            return True
        return until - self.asked > max(3 * (self.usually or timedelta(days=1)), timedelta(minutes=15))


def bound(cutoffs: Iterable[Cutoff], route: str | None) -> Cutoff | None:
    """The least limit over a route on an answer that is not streamed, where the newest measurement still met one. One that
    was not recorded is nobody's.
    """
    if route is None:
        return None
    newest = {one.case: one for one in cutoffs if one.plain and one.route == route}
    met = [one for one in newest.values() if one.seconds is not None]
    return min(met, key=lambda one: one.seconds or 0.0, default=None)


@dataclass(frozen=True, slots=True)
class Span:
    """`step`: how long one of its intervals is; the first begins at `since`, the last holds `until`. `alerts` are open,
    those that `ended` did so in this time.
    """

    since: datetime
    until: datetime
    step: timedelta
    watched: tuple[Watched, ...] = ()
    alerts: tuple[Alert, ...] = ()
    ended: tuple[Alert, ...] = ()
    marks: tuple[Mark, ...] = ()

    def starts(self) -> list[datetime]:
        """Of each interval."""
        n = -((self.since - self.until) // self.step)
        return [self.since + k * self.step for k in range(n)]

    @property
    def verdict(self) -> Verdict:
        """As it is now; `pass` only where every target was asked lately, and something conclusive came of it."""
        found = {trouble.verdict for one in self.watched for trouble in one.troubles}
        severe = any(alert.severity is Severity.FAIL for alert in self.alerts)
        if severe or Verdict.FAIL in found:
            return Verdict.FAIL
        if Verdict.ERROR in found:
            return Verdict.ERROR
        unknown = any(one.silent(self.until) or not one.cases for one in self.watched) or not self.watched
        blind = any(alert.key.about is not About.SERVICE for alert in self.alerts)
        if unknown or blind or Verdict.INCONCLUSIVE in found:
            return Verdict.INCONCLUSIVE
        return Verdict.WARN if Verdict.WARN in found or self.alerts else Verdict.PASS
