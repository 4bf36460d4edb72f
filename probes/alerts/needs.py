"""What does alerting need of the others?

Shapes alone, so that it can be tried without a database, a schedule or a clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from probes.canary import About, Alert, Mark, Notice, Turn


class Memory(Protocol):
    """What has to outlive the process; see `probes.memory`."""

    def alerts(self, *, open_only: bool = True) -> list[Alert]: ...
    def keep(self, alert: Alert, /) -> None: ...
    def notice(self, notice: Notice, /) -> None: ...
    def undelivered(self) -> list[Notice]: ...
    def marks(self, since: datetime, until: datetime | None = None) -> list[Mark]: ...
    def turns(self, entry: str, limit: int = ...) -> list[Turn]:
        """Newest first."""
        ...

    def passed(
        self, target: str, vantage: str | None, clients: Sequence[str], before: datetime
    ) -> Mapping[str, datetime]: ...


class Wall(Protocol):
    """The time of day. `shown`: that of the machine, which people look at, where the canary's runs faster; `None` where
    that is not known.
    """

    def now(self) -> datetime: ...
    def shown(self, at: datetime, /) -> datetime | None: ...


class Confirmed(Protocol):
    @property
    def k(self) -> int: ...
    @property
    def n(self) -> int: ...


class Entry(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def sample(self) -> float: ...
    @property
    def alert(self) -> Confirmed | None: ...


class Maintenance(Protocol):
    """Once, from `begin` until `until`, or whenever `cron` says; without `targets` it is of all."""

    @property
    def name(self) -> str: ...
    @property
    def begin(self) -> datetime | None: ...
    @property
    def until(self) -> datetime | None: ...
    @property
    def cron(self) -> str | None: ...
    @property
    def lasts(self) -> timedelta | None: ...
    @property
    def timezone(self) -> str: ...
    @property
    def targets(self) -> Sequence[str]: ...


class Receiver(Protocol):
    """`min`: the mildest severity that is told."""

    @property
    def name(self) -> str: ...
    @property
    def about(self) -> Sequence[About]: ...
    @property
    def min(self) -> str: ...


class Canary(Protocol):
    @property
    def entries(self) -> Sequence[Entry]: ...
    @property
    def link(self) -> str | None: ...
    @property
    def sinks(self) -> Sequence[Receiver]: ...
    @property
    def maintenance(self) -> Sequence[Maintenance]: ...
