"""What is watched when, and who is told?

The keys of `configs/canary.yaml`. Durations, times of day, days and moments are read into their Python types; a key that
is a Python keyword, `from`, is `begin` here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta
from typing import Annotated, Literal

from pydantic import Field

from probes.canary import About
from probes.watch.forms import ClockTime, Duration, Moment, Weekdays, Zone

_DAY = time()


@dataclass(frozen=True)
class Active:
    """Hours in which an entry is due; over midnight they belong to the day on which they begin. Without both they are
    the whole day.
    """

    days: Weekdays = (0, 1, 2, 3, 4, 5, 6)
    begin: Annotated[ClockTime, Field(alias="from")] = _DAY
    until: ClockTime = _DAY
    timezone: Zone = "UTC"


@dataclass(frozen=True)
class Confirmed:
    """`k` bad results of `n` open an alert."""

    k: int
    n: int


@dataclass(frozen=True)
class Entry:
    """One suite on one target, due by exactly one of `every`, `at` and `cron`.

    `timezone` is that of `at` and `cron`. `sample`: the share of its times that an expensive entry runs. `set`: as
    `--set` of `run`. `alert`: `None` takes the rules of the finding.
    """

    name: str
    suite: str
    target: str
    every: Duration | None = None
    at: tuple[ClockTime, ...] = ()
    cron: str | None = None
    timezone: Zone = "UTC"
    active: Active | None = None
    tier: Literal["cheap", "expensive"] = "cheap"
    sample: float = 1.0
    clients: tuple[str, ...] = ()
    set: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    alert: Confirmed | None = None

    @property
    def overrides(self) -> dict[str, str]:
        """`set` in the texts that an order takes."""
        return {
            key: str(value).lower() if value is True or value is False else str(value)
            for key, value in self.set.items()
        }


@dataclass(frozen=True)
class DeadMan:
    """Who misses us when we fall silent: an address asked at each interval while the canary is healthy. One of `url`
    and `url_env`, a variable.
    """

    url: str | None = None
    url_env: str | None = None
    every: Duration = timedelta(minutes=5)


@dataclass(frozen=True)
class Retention:
    """Days that runs are kept, and those with a failure; counts by hour and day stay."""

    raw_days: int = 30
    failed_days: int = 365


@dataclass(frozen=True)
class Receiver:
    """Who hears of alerts: a webhook of one's own, or a service by its Apprise URL; the addresses stand in variables.

    `secret_env`: the variable of the key that webhooks are signed with. `min`: the mildest alert that is told.
    """

    name: str
    webhook_env: str | None = None
    secret_env: str | None = None
    notify_env: str | None = None
    about: tuple[About, ...] = (About.SERVICE, About.BLIND, About.PROBE, About.CHANGE)
    min: Literal["warn", "fail"] = "warn"


@dataclass(frozen=True)
class Maintenance:
    """A planned change: once, from `begin` until `until`, or whenever `cron` says, for as long as it `lasts`. Without
    `targets` it is of all.
    """

    name: str
    begin: Annotated[Moment | None, Field(alias="from")] = None
    until: Moment | None = None
    cron: str | None = None
    lasts: Duration | None = None
    timezone: Zone = "UTC"
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Daily:
    """Ceilings of one target and day, in UTC; `None` is none."""

    requests_per_day: int | None = None
    tokens_per_day: int | None = None
    usd_per_day: float | None = None


@dataclass(frozen=True)
class Canary:
    """`database`: a SQLAlchemy URL with `$NAME` for what a variable holds, `None` is SQLite beside the reports; `listen: None` serves no page and no metrics; `control` is an address that is
    not the target's; `link` is put into alerts, with `{run}` in it; `must_fail: None` never tries whether detection
    still works. `settle`: how long after a mark its target is asked once more; `None` does not ask after marks.
    """

    entries: tuple[Entry, ...]
    database: str | None = None
    listen: str | None = "127.0.0.1:9469"
    control: str | None = None
    dead_man: DeadMan | None = None
    link: str | None = None
    must_fail: Duration | None = timedelta(hours=1)
    settle: Duration | None = timedelta(minutes=5)
    retention: Retention = Retention()
    sinks: tuple[Receiver, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    budgets: Mapping[str, Daily] = field(default_factory=dict)

    def entry(self, name: str) -> Entry:
        return {entry.name: entry for entry in self.entries}[name]
