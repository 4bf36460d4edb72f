"""What is a canary made of?

Frozen nouns alone, like those of `model`: what is watched when, what came of each turn, and what was told to people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from probes.model import Layer, Observed, Spend, Verdict


class Missed(StrEnum):
    """Why an entry that was due has no run."""

    OVERLAP = "overlap"
    """Its run before was still under way."""
    BUDGET = "budget"
    SAMPLED = "sampled"
    """An expensive entry that this time was left out by its share."""
    PAUSED = "paused"
    """The server asked for a pause that lasts beyond its turn."""
    LATE = "late"
    """Its time passed while the machine slept, its clock was set or the canary was not running."""
    ERROR = "error"
    """The order could not be carried out: a mistake of configuration or a bug of ours."""
    DRAINED = "drained"


@dataclass(frozen=True, slots=True)
class Turn:
    """One time at which an entry was due, and what came of it. Exactly one of `run` and `missed` is set once it ended.

    `conclusive`: the run said something of the service, good or bad. `reason`: in words, why there is no run, or why
    it is not conclusive.
    """

    entry: str
    target: str
    due: datetime
    began: datetime | None = None
    ended: datetime | None = None
    run: str | None = None
    verdict: Verdict | None = None
    conclusive: bool = False
    missed: Missed | None = None
    reason: str | None = None
    spend: Spend | None = None

    @property
    def why(self) -> str:
        """`reason` behind the word for it, which it may begin with itself."""
        word = self.missed.value if self.missed is not None else str(self.verdict or "inconclusive")
        if not self.reason:
            return word
        return self.reason if self.reason.startswith(f"{word} ") else f"{word}: {self.reason}"


class About(StrEnum):
    """Whom an alert speaks of."""

    SERVICE = "service"
    """Customers are hurt."""
    BLIND = "blind"
    """Nothing conclusive was measured: the service is unknown, not down."""
    PROBE = "probe"
    """The canary itself: its detection, its store, its machine."""
    CHANGE = "change"
    """What came of a mark, or that the edge looks different: told once, and over with that."""


class AlertState(StrEnum):
    SUSPECTED = "suspected"
    """Seen bad, not yet as often as makes it sure; nobody was told."""
    OPEN = "open"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"
    """A suspicion that went by."""


class Severity(StrEnum):
    """In ascending order."""

    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class AlertKey:
    """What one alert is for; clients, routes and entries are its content."""

    target: str
    about: About
    layer: Layer
    product: str | None
    code: str


@dataclass(frozen=True, slots=True)
class Alert:
    """`since`: when the first bad answer of this outbreak was seen, at most `opened`. `flaps`: how often it went and
    came again shortly before and while it was open. `window`: the maintenance window that it opened in. `observed`:
    bad results of all since then, a result being one case through one client in one run. `intervals`: of its entries,
    begun since then.
    """

    id: str
    key: AlertKey
    state: AlertState
    since: datetime
    opened: datetime
    updated: datetime
    resolved: datetime | None = None
    title: str = ""
    text: str = ""
    vendor_code: str | None = None
    clients: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    observed: Observed | None = None
    intervals: int = 1
    run: str | None = None
    flaps: int = 0
    window: str | None = None
    memory: Mapping[str, str] = field(default_factory=dict)
    """What the rules remember of it between turns; texts, so that it can be stored."""

    @property
    def severity(self) -> Severity:
        """Hurt customers are severe; what is planned, and a canary in trouble, is mild."""
        planned = self.window is not None and "outlived" not in self.memory
        return Severity.WARN if planned or self.key.about is not About.SERVICE else Severity.FAIL


class Told(StrEnum):
    OPENED = "opened"
    UPDATED = "updated"
    RESOLVED = "resolved"
    NOTED = "noted"
    """Nobody waits for its end."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One message about an alert to one sink; kept until it is delivered, or `dropped`, as the sink took a later one of
    the alert. `refused`: at its last try, for good.
    """

    id: str
    alert: Alert
    told: Told
    sink: str
    made: datetime
    tries: int = 0
    next_try: datetime | None = None
    delivered: datetime | None = None
    fault: str | None = None
    refused: bool = False
    dropped: datetime | None = None

    @property
    def settled(self) -> datetime | None:
        """Since when it is to be sent no more."""
        return self.delivered or self.dropped


@dataclass(frozen=True, slots=True)
class Pause:
    """That a server asked to be left alone for a while. Of one target the last one counts; one that a person ended has
    an earlier `until`.
    """

    target: str
    asked: datetime
    until: datetime
    why: str


_OF_ANY_NOTICE = frozenset({401, 404, 405, 407, 408, 410, 425, 429})
"""Refusals for the address's or the moment's sake: another notice meets the same."""


class Undelivered(Exception):  # noqa: N818 - as the metric is called
    """A sink did not take a notice; the text says why, without any secret. `refused`: it will not take this one later
    either, and others perhaps.
    """

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.refused = refused

    @classmethod
    def answered(cls, status: int) -> Undelivered:
        """By a status that is none of a sink that took it."""
        return cls(f"answered {status}", refused=400 <= status < 500 and status not in _OF_ANY_NOTICE)


Deliver = Callable[[Notice], None]
"""Hands a notice to one sink; raises Undelivered."""


@dataclass(frozen=True, slots=True)
class Mark:
    """That something was changed, as a person or an audit log says it."""

    at: datetime
    text: str
    source: str = "edgeprobe mark"
    author: str | None = None
    product: str | None = None
    """Of the CDN or of one's own, as the log calls it."""
    setting: str | None = None
    target: str | None = None
    """`None`: whichever it hits."""
    baseline: str | None = None
    """The name by which the runs before it can be compared with."""
    runs: tuple[str, ...] = ()
    """The ids of those, as they were kept when the name was given; without any they are looked up by the mark's time."""
