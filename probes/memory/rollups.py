"""How did a target do for each client over each route, by the minute, the hour and the day?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import and_, insert, select, update

from probes.memory.columns import EPOCH
from probes.memory.schema import calls, rollups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection, Row

Grain = Literal["minute", "hour", "day"]
GRAINS: Mapping[Grain, timedelta] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
_GROWTH = 1.1
_LEAST = 0.0001
_CLOCKS = ("ttft", "tpot", "total")
_WHOSE = ("target", "vantage", "client", "route")


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many samples lie in each bucket; its upper end is `edge(bucket)`, a tenth above that of the one before."""

    counts: Mapping[int, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    def quantile(self, share: float) -> float | None:
        """The upper end of the bucket that it lies in: at most a tenth too much."""
        wanted, seen = math.ceil(share * self.n), 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= wanted:
                return edge(bucket)
        return None

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(dict(Counter(self.counts) + Counter(other.counts)))


def edge(bucket: int) -> float:
    return float(_LEAST * _GROWTH**bucket)


def bucket_of(value: float) -> int:
    """The first whose upper end is not below `value`."""
    return 0 if value <= _LEAST else math.ceil(round(math.log(value / _LEAST, _GROWTH), 9))


@dataclass(frozen=True, slots=True)
class Rollup:
    """`n` requests as customers make them, `good` of them answered well, `limited` held back on our own key.

    `passed`: when the last good one was. `route`: `None` where it was not recorded, as it once was not.
    """

    grain: Grain
    at: datetime
    target: str
    vantage: str | None
    client: str
    route: str | None
    n: int
    good: int
    limited: int
    passed: datetime | None
    ttft: Histogram
    tpot: Histogram
    total: Histogram

    @property
    def availability(self) -> float | None:
        """Of the requests that were not held back; not known without any."""
        counted = self.n - self.limited
        return self.good / counted if counted > 0 else None


def roll(connection: Connection, run: str) -> None:
    """Add the calls of a run to the figures, each of them once."""
    unrolled = and_(calls.c.run == run, calls.c.rolled.is_(False))
    groups: dict[tuple[Any, ...], list[Row[Any]]] = {}
    for row in connection.execute(select(calls).where(unrolled, calls.c.asks.is_(True))):
        for grain, length in GRAINS.items():
            start = EPOCH + (row.at - EPOCH) // length * length
            groups.setdefault((grain, start, *(getattr(row, name) for name in _WHOSE)), []).append(row)
    for key, rows in groups.items():
        _add(connection, dict(zip(("grain", "at", *_WHOSE), key, strict=True)), rows)
    connection.execute(update(calls).where(unrolled).values(rolled=True))


def _add(connection: Connection, key: dict[str, Any], rows: list[Row[Any]]) -> None:
    this = and_(*(rollups.c[name] == value for name, value in key.items()))
    old = connection.execute(select(rollups).where(this).with_for_update()).first()
    passes = [row.at for row in rows if row.good] + ([old.passed] if old and old.passed else [])
    values: dict[str, Any] = {
        "n": len(rows) + (old.n if old else 0),
        "good": sum(row.good for row in rows) + (old.good if old else 0),
        "limited": sum(row.limited for row in rows) + (old.limited if old else 0),
        "passed": max(passes, default=None),
    }
    for clock in _CLOCKS:
        times = [value for row in rows if (value := getattr(row, clock)) is not None]
        counts = Counter(bucket_of(value) for value in times)
        before = _histogram(getattr(old, clock)) if old else Histogram()
        merged = before + Histogram(counts)
        values[clock] = {str(bucket): merged.counts[bucket] for bucket in sorted(merged.counts)}
    if old:
        connection.execute(update(rollups).where(this).values(**values))
    else:
        connection.execute(insert(rollups).values(**key, **values))


def read(
    connection: Connection, grain: Grain, since: datetime, until: datetime | None, **named: str | None
) -> list[Rollup]:
    """In the order of time; `named` are columns and what they must be, `None` is any."""
    where = [rollups.c.grain == grain, rollups.c.at >= since]
    where += [rollups.c.at < until] if until is not None else []
    where += [rollups.c[name] == value for name, value in named.items() if value is not None]
    found = connection.execute(
        select(rollups).where(*where).order_by(rollups.c.at, rollups.c.client, rollups.c.route)
    )
    return [_rollup(row) for row in found]


def _rollup(row: Row[Any]) -> Rollup:
    return Rollup(
        row.grain,
        row.at,
        row.target,
        row.vantage or None,
        row.client,
        row.route or None,
        row.n,
        row.good,
        row.limited,
        row.passed,
        *(_histogram(getattr(row, clock)) for clock in _CLOCKS),
    )


def _histogram(stored: Mapping[str, int]) -> Histogram:
    return Histogram({int(bucket): n for bucket, n in stored.items()})
