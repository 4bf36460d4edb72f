"""What are the values of the metrics now, and how do they look to Prometheus?

A series is there from its first value on: what was not measured is absent and never 0.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from probes.metric_rows import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from probes.metric_rows import Row

_LONGEST = 120
Labels = tuple[str, ...]


@dataclass(slots=True)
class _Counts:
    """How many fell into each bucket, the last without an end, and their sum."""

    buckets: list[int]
    total: float = 0.0


class Series(Collector):
    """Not thread-safe: whoever writes and reads it holds a lock over both."""

    def __init__(self) -> None:
        self._values: dict[str, dict[Labels, float]] = {name: {} for name in CATALOGUE}
        self._counts: dict[str, dict[Labels, _Counts]] = {name: {} for name in CATALOGUE}

    def add(self, name: str, by: float = 1.0, /, **labels: str) -> None:
        held, at = self._values[name], _ordered(name, labels)
        held[at] = held.get(at, 0.0) + by

    def count(self, name: str, label: str, value: str, /, **others: str) -> None:
        """Add 1 where the label has that value; its other values begin at 0, so that a first bad one is a rise."""
        for other in CATALOGUE[name].labels[label] or ():
            self.add(name, float(other == value), **{label: other}, **others)

    def put(self, name: str, value: float | None, /, **labels: str) -> None:
        """`None` takes the series away."""
        if value is None:
            self._values[name].pop(_ordered(name, labels), None)
        else:
            self._values[name][_ordered(name, labels)] = float(value)

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        bounds = CATALOGUE[name].buckets
        held = self._counts[name].setdefault(_ordered(name, labels), _Counts([0] * (len(bounds) + 1)))
        held.buckets[bisect_left(bounds, value)] += 1
        held.total += value

    def keep(self, label: str, values: Collection[str]) -> None:
        """Forget every series in which the label has another value."""
        for name, row in CATALOGUE.items():
            if label in row.labels:
                where = list(row.labels).index(label)
                for held in (self._values[name], self._counts[name]):
                    for at in [at for at in held if at[where] not in values]:
                        held.pop(at, None)

    def clear(self, name: str) -> None:
        self._values[name].clear()

    def kinds(self, name: str, target: str) -> int:
        """How many series of a metric a target has."""
        where = list(CATALOGUE[name].labels).index("target")
        return sum(at[where] == shown(target) for at in self._values[name])

    def has(self, name: str, /, **labels: str) -> bool:
        return _ordered(name, labels) in self._values[name]

    def collect(self) -> Iterator[Metric]:
        for row in CATALOGUE.values():
            if self._values[row.name] or self._counts[row.name]:
                yield self._family(row)

    def _family(self, row: Row) -> Metric:
        names = list(row.labels)
        if row.type == "histogram":
            found = HistogramMetricFamily(row.name, row.help, labels=names)
            ends = [*map(floatToGoString, row.buckets), "+Inf"]
            for at, held in self._counts[row.name].items():
                found.add_metric(at, list(zip(ends, accumulate(held.buckets), strict=True)), held.total)
            return found
        family = CounterMetricFamily if row.type == "counter" else GaugeMetricFamily
        plain = family(row.name, row.help, labels=names)
        for at, value in self._values[row.name].items():
            plain.add_metric(at, value)
        return plain


def _ordered(name: str, labels: Mapping[str, str]) -> Labels:
    """The values in the order of the catalogue; a label that is missing or too many is a KeyError."""
    wanted = CATALOGUE[name].labels
    if labels.keys() != wanted.keys():
        raise KeyError(f"{name}: {sorted(labels)} are not {sorted(wanted)}")
    return tuple(shown(labels[label]) for label in wanted)


def shown(text: str) -> str:
    """A value that every reader of the format takes: no control characters or halves of pairs, and not without end."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text[:_LONGEST])
