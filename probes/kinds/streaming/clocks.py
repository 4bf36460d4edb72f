"""How fast did the streams of a finding come: the five clocks, the gaps, and time per token?"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from probes.kinds.words import duration, median_of
from probes.model import Figure
from probes.samples import counted, stalled, tpot
from probes.sampling import alike, conditions_of, figure, sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from probes.model import Call, Exchange
    from probes.sampling import Sample

CLOCKS = {
    "headers": "headers",
    "first_byte": "first_byte",
    "first_event": "first_event",
    "ttft": "first_token",
    "first_content": "first_content",
}
"""Figure → mark of the timeline. `ttft` is the first token of any channel, `first_content` the first that is shown."""
LEAST_FOR_P99 = 100
"""Samples: below, the highest of them is no percentile."""
_P99 = 0.99
_TOKENS, _NO_EVENTS = "vrk", "cb"


class Timed(NamedTuple):
    """`readings` are all that were looked at, `tainted` those of them that a stall of our own may have made late."""

    figures: dict[str, Figure]
    rows: list[tuple[str, str]]
    conditions: dict[str, Any]


def timed(calls: Sequence[Call]) -> Timed:
    """Times from the first byte of the request sent, of the calls under the commonest conditions; how many others there were
    is said.
    """
    every = [call for call in calls if call.last is not None]
    kept, others = alike(every)
    streams = [(call, call.last) for call in kept if call.last is not None]
    readings = _Readings()
    figures = {name: f for name, mark in CLOCKS.items() if (f := _clock(streams, mark, readings))}
    pace = [
        sampled(call, value)
        for call, e in streams
        if readings.take(e, e.timeline.first_token, e.timeline.last_token)
        and (value := tpot(e, counted(e))) is not None
    ]
    figures |= {"tpot": figure(pace, "s/token")} if pace else {}
    for name, times in _COLUMNS.items():
        gaps = [sampled(call, gap) for call, e in streams for gap in _apart(e, times(e), readings)]
        figures |= _gaps(name, gaps)
    exchanges = [e for _, e in streams]
    figures |= _beats(exchanges)
    conditions: dict[str, Any] = conditions_of(kept[0])._asdict() if kept else {}
    if readings.tainted:
        conditions["tainted"] = readings.tainted
    return Timed(
        figures,
        [
            *_rows(exchanges, figures),
            *_counts([call.last for call in every if call.last is not None], figures),
            *_left_out(others, len(every)),
            *readings.row(),
        ],
        conditions,
    )


def _left_out(others: Sequence[Call], n: int) -> list[tuple[str, str]]:
    """No figure is of mixed conditions."""
    said = f"{len(others)} of {n} streams, taken under other conditions: connection, client, cache or how many at once"
    return [("left out", said)] if others else []


class _Readings:
    """Which readings of our clock are to be trusted."""

    def __init__(self) -> None:
        self.tainted = self.all = 0
        self._longest = 0.0

    def take(self, exchange: Exchange, *marks: float | None) -> bool:
        """Whether none of the marks fell into a stall."""
        if None in marks:
            return False
        self.all += 1
        found = [stall for mark in marks if mark is not None and (stall := stalled(exchange, mark))]
        self.tainted += bool(found)
        self._longest = max([self._longest, *(until - since for since, until in found)])
        return not found

    def row(self) -> list[tuple[str, str]]:
        if not self.tainted:
            return []
        lag = f"this process itself ran up to {duration(self._longest)} late"
        return [
            ("tainted", f"{self.tainted} of {self.all} readings of the clock are left out: {lag} meanwhile")
        ]


def _clock(streams: Sequence[tuple[Call, Exchange]], mark: str, readings: _Readings) -> Figure | None:
    times = []
    for call, exchange in streams:
        start, at = exchange.timeline.upload_start or 0.0, getattr(exchange.timeline, mark)
        if at is not None and readings.take(exchange, start, at):
            times.append(sampled(call, at - start))
    return figure(times) if times else None


def _of_events(exchange: Exchange, wanted: str = "", unwanted: str = "") -> list[float]:
    columns = zip(exchange.event_times, exchange.event_kinds, strict=False)
    return [at for at, kind in columns if (kind in wanted if wanted else kind not in unwanted)]


_COLUMNS: dict[str, Callable[[Exchange], Sequence[float]]] = {
    "transport_gap": lambda exchange: exchange.chunk_times,
    "event_gap": lambda exchange: _of_events(exchange, unwanted=_NO_EVENTS),
    "chunk_gap": lambda exchange: _of_events(exchange, wanted=_TOKENS),
}
"""Between any two bytes read, between two events that a client is told of, and between two chunks that hold tokens."""


def _apart(exchange: Exchange, times: Iterable[float], readings: _Readings) -> list[float]:
    return [later - sooner for sooner, later in pairwise(times) if readings.take(exchange, sooner, later)]


def _gaps(name: str, gaps: Sequence[Sample]) -> dict[str, Figure]:
    """The median of chunk gaps and the longest of all; a p99 only of enough samples."""
    if not gaps:
        return {}
    middle, values = figure(gaps), sorted(gap.value for gap in gaps)
    found = {f"{name}_max": _one_of(middle, values[-1])}
    if name == "chunk_gap":
        found = {name: middle, **found}
    if len(values) >= LEAST_FOR_P99:
        found[f"{name}_p99"] = _one_of(middle, values[math.ceil(_P99 * len(values)) - 1])
    return found


def _one_of(all_of: Figure, value: float) -> Figure:
    """One of the samples of a figure."""
    return Figure(value, all_of.unit, all_of.n, conditions=all_of.conditions)


def _beats(exchanges: Sequence[Exchange]) -> dict[str, Figure]:
    """Heartbeats by their kind, of all streams together."""
    seen: Counter[str] = Counter()
    for exchange in exchanges:
        seen.update({kind: row["n"] for kind, row in (exchange.facts.get("heartbeats") or {}).items()})
    return {f"heartbeats_{kind}": Figure(n, "heartbeats", len(exchanges)) for kind, n in seen.items()}


def _rows(exchanges: Sequence[Exchange], figures: dict[str, Figure]) -> list[tuple[str, str]]:
    """The clocks in the order in which they stop."""
    words = {
        "headers": "headers",
        "first_event": "first event",
        "ttft": "first token",
        "first_content": "first text",
    }
    several = len(exchanges) > 1
    said = [
        f"{word} {median_of(figures[name]) if several else duration(figures[name].value)}"
        for name, word in words.items()
        if name in figures
    ]
    of = f"; medians of {len(exchanges)} streams" if several else ""
    return [("clocks", f"{', '.join(said)}{of}")] if said else []


def _counts(exchanges: Sequence[Exchange], figures: Mapping[str, Figure]) -> list[tuple[str, str]]:
    """What no condition changes, of all streams."""
    rows = []
    usage = sum(counted(e) or 0 for e in exchanges)
    chunks = sum(int(e.facts.get("tokens") or 0) for e in exchanges)
    of = f" of {len(exchanges)} streams" if len(exchanges) > 1 else ""
    if chunks and usage > chunks and all(counted(e) for e in exchanges):
        rows.append(
            (
                "chunks",
                f"{usage} tokens by usage came in {chunks} chunks{of}: a chunk gap is no time per token",
            )
        )
    thought = sum(int((e.facts.get("channels") or {}).get("reasoning") or 0) for e in exchanges)
    if thought:
        before = "reasoning comes before the text that is shown"
        alone = "reasoning comes, and no text that is shown"
        said_of_it = before if "first_content" in figures else alone
        rows.append(("reasoning", f"{said_of_it}; the first token is one of it"))
    return rows
