"""Did it become slower, and could these samples have shown it?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from probes.change import statistics
from probes.change.answers import timed, worded
from probes.change.drift import drift
from probes.change.part import Part, finding, times
from probes.change.shifts import able, in_words, percent
from probes.change.statistics import FAMILY
from probes.comparison import Row
from probes.kinds.words import duration
from probes.model import Figure, Reason, Verdict
from probes.sampling import middle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from probes.change.answers import Conditions, Timed
    from probes.change.statistics import Effect
    from probes.model import Finding, Run

METRICS = {"ttft": "TTFT", "tpot": "TPOT", "total": "total"}
SLOWER = 0.2
"""Of the time before: what counts as slower, unless said otherwise."""
_MATTERS = 0.75
"""Of `slower`, from which on a proven shift fails: as much as a shift of `slower` is measured as at its least, and more than
two moments of one state are apart."""
FEW = 5
"""Samples of a side, below which nothing is compared."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Of one metric under one set of conditions, in the order of time. `runs`: which each is of. `late`, `other`: left
    out, since the probe itself was late, and since the answer was of another length.
    """

    values: tuple[float, ...]
    runs: tuple[str, ...]
    resolution: float
    late: int = 0
    other: int = 0

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def middle(self) -> float:
        return median(self.values)

    def __str__(self) -> str:
        return f"{duration(self.middle)} of {self.n}" if self.n else "none"


@dataclass(frozen=True, slots=True)
class Test:
    conditions: Conditions
    metric: str
    before: Samples
    after: Samples

    @property
    def where(self) -> str:
        """With those of its conditions that other tests of the same client may differ in."""
        key = self.conditions
        label = key.label.removesuffix(f"/{key.client}")
        more = [
            "" if label == key.case.split("/")[1] else label,
            "connection used again" if key.connection == "reused" else "",
            "prompt from the cache" if key.cache == "hit" else "",
            f"{key.concurrency} at once" if key.concurrency > 1 else "",
        ]
        return " · ".join([worded(key.where), *(word for word in more if word)])


def compare(before: Sequence[Run], after: Sequence[Run], slower: float = SLOWER) -> Part:
    """A row for each of TTFT, TPOT and total of each client of each case that has enough samples on both sides."""
    old, new = timed(before), timed(after)
    pairs = [test for key in old if key in new for test in _tests(key, old[key], new[key])]
    tests = [test for test in pairs if min(test.before.n, test.after.n) >= FEW]
    left_out = [*_unused(pairs), *_one_sided(old, new)]
    if not pairs:
        return Part(left_out=tuple(left_out))
    if not tests:
        few = _too_few(pairs)
        return Part((few,), (_told_too_few(few),), tuple(left_out))
    if small := len(pairs) - len(tests):
        left_out.append(f"latency, fewer than {FEW} samples on a side: {times(small, 'figure')}")
    level = FAMILY / len(tests)
    rows: list[Row] = []
    findings: list[Finding] = []
    for test in tests:
        row, reason = _row(test, level, slower)
        rows.append(row)
        if row.verdict is not Verdict.PASS:
            findings.append(_finding(test, row, reason, slower))
    if not findings:
        findings.append(_fine(rows, slower))
    return Part(tuple(rows), tuple(findings), tuple(left_out))


def _tests(key: Conditions, old: Sequence[Timed], new: Sequence[Timed]) -> Iterator[Test]:
    size = Counter(one.tokens for one in (*old, *new) if one.tokens is not None)
    commonest = size.most_common(1)[0][0] if size else None
    for metric in METRICS:
        before, after = (samples(side, metric, commonest) for side in (old, new))
        if before.n or after.n:
            yield Test(key, metric, before, after)


def samples(side: Sequence[Timed], metric: str, tokens: int | None) -> Samples:
    """`tokens`: of the answers whose total is comparable; longer ones take longer."""
    alike = [one for one in side if metric != "total" or one.tokens == tokens is not None]
    usable = [
        (value, one) for one in alike if (value := getattr(one.sample, metric)) is not None and value > 0
    ]
    return Samples(
        tuple(value for value, _ in usable),
        tuple(one.run for _, one in usable),
        0.0 if metric == "tpot" else max((one.resolution for _, one in usable), default=0.0),
        sum(one.sample.tainted and getattr(one.sample, metric) is None for one in alike),
        len(side) - len(alike),
    )


def _row(test: Test, level: float, slower: float) -> tuple[Row, Reason | None]:
    before, after = test.before, test.after
    seen = statistics.effect(before.values, after.values, level)
    scatter = statistics.spread(before.values, after.values)
    smallest = statistics.smallest(scatter, before.n, after.n, level)
    row = Row(
        METRICS[test.metric], test.where, str(before), str(after), Verdict.PASS,
        effect=Figure(seen.ratio, "times", min(before.n, after.n), *_bounds(seen)), smallest=smallest,
    )  # fmt: skip
    for side, one in (("before", before), ("after", after)):
        if said := drift(one.values, one.runs, slower):
            return replace(row, verdict=Verdict.INCONCLUSIVE, why=f"drifts {side}: {said}"), Reason.DRIFT
    # No shift matters that the clock cannot tell.
    room = max(before.resolution, after.resolution)
    n = able(min(before.n, after.n), smallest)
    if seen.low > 1 and seen.ratio >= 1 + _MATTERS * slower and (seen.ratio - 1) * before.middle >= room:
        return replace(row, verdict=Verdict.FAIL, why=f"slower: {in_words(seen)}"), None
    if seen.high < 1 + slower or (seen.high - 1) * before.middle < room:
        shown = f"; {n}" if smallest is not None else ""
        way = _way(seen, before.middle, room)
        return replace(row, why=f"{way}: {in_words(seen)}{shown}", better=way == _FASTER), None
    many = statistics.needed(scatter, 1 + slower, level)
    wanted = f"; {percent(1 + slower)} takes {many:,}" if many and many > min(before.n, after.n) else ""
    said = f"{in_words(seen)}; {n}{wanted}"
    if seen.low > 1:
        said = f"slower: {in_words(seen)}; whether by {slower:.0%} can't be told{wanted}"
    return replace(row, verdict=Verdict.INCONCLUSIVE, why=said), Reason.TOO_FEW


_FASTER = "faster"


def _way(seen: Effect, before: float, room: float) -> str:
    if abs(seen.ratio - 1) * before < room or seen.low <= 1 <= seen.high:
        return "as before"
    return _FASTER if seen.high < 1 else "slower by less than counts"


def _bounds(seen: Effect) -> tuple[float | None, float | None]:
    return seen.low or None, seen.high if seen.high < float("inf") else None


# --- what is told -----------------------------------------------------------------------------------------


def _finding(test: Test, row: Row, reason: Reason | None, slower: float) -> Finding:
    assert row.effect is not None
    code = "regression.latency" if row.verdict is Verdict.FAIL else "not_measured"
    title = f"{row.what} of {row.where} is slower: {percent(row.effect.value)}"
    if code == "not_measured":
        title = f"Whether {row.what} of {row.where} became slower can't be told"
        if reason is Reason.TOO_FEW and row.effect.low is not None and row.effect.low > 1:
            span = (
                f"{percent(row.effect.low)} to {percent(row.effect.high)}"
                if row.effect.high
                else "an open shift"
            )
            title = f"{row.what} of {row.where} is slower by {span}; whether by {slower:.0%} can't be told"
    n, unit = min(test.before.n, test.after.n), "s/token" if test.metric == "tpot" else "s"
    smallest = {"smallest": Figure(row.smallest, "times", n)} if row.smallest else {}
    conditions = _as_conditions(test.conditions)
    left = [
        f"{one.late} {side}" for side, one in (("before", test.before), ("after", test.after)) if one.late
    ]
    return finding(
        code,
        row.verdict,
        client=test.conditions.client,
        route=test.conditions.route,
        title=title,
        detail=(
            ("before", row.before),
            ("after", row.after),
            ("because", row.why),
            *([("tainted", f"{' and '.join(left)} left out: the probe itself was late")] if left else []),
        ),
        figures={
            "ratio": row.effect,
            "before": middle(test.before.values, unit, conditions),
            "after": middle(test.after.values, unit, conditions),
            **smallest,
        },
        conditions=conditions,
        reason=reason,
        **({} if code == "regression.latency" else {"advice": _ADVICE[reason].format(percent(1 + slower))}),
    )


_ADVICE = {
    Reason.DRIFT: "Take both sides in a quiet hour, or more runs of each over the same hours of the day.",
    Reason.TOO_FEW: "Ask more often (run gate --set repeats=N, or several runs a side), until {} can be told.",
    None: "",
}


def _as_conditions(key: Conditions) -> dict[str, Any]:
    return {
        "connection": key.connection, "http_version": key.http_version, "cache": key.cache, "concurrency": key.concurrency,
        "stream": key.stream, "cap": key.cap, "endpoint": key.endpoint, "model": key.model,
        "client": "warm" if key.connection == "reused" else "cold",
    }  # fmt: skip


def _fine(rows: Sequence[Row], slower: float) -> Finding:
    most = max((row.effect.high for row in rows if row.effect is not None and row.effect.high), default=None)
    return finding(
        "ok",
        Verdict.PASS,
        title=f"Not slower by {slower:.0%}: {times(len(rows), 'figure')} compared"
        + (f", at most {percent(most)}" if most is not None else ""),
        detail=tuple((row.what, f"{row.before} → {row.after}, {row.why}; {row.where}") for row in rows),
    )


# --- what is left out -------------------------------------------------------------------------------------


def _too_few(pairs: Sequence[Test]) -> Row:
    most = max(min(test.before.n, test.after.n) for test in pairs)
    said = f"at most {times(most, 'sample')} a side under equal conditions; {FEW} are the fewest that tell anything"
    return Row("latency", "", "", "", Verdict.INCONCLUSIVE, said)


def _told_too_few(row: Row) -> Finding:
    return finding(
        "not_measured",
        Verdict.INCONCLUSIVE,
        title="Whether it became slower can't be told",
        detail=(("because", row.why),),
        reason=Reason.TOO_FEW,
        advice=_ADVICE[Reason.TOO_FEW].format("a shift"),
    )


def _unused(pairs: Sequence[Test]) -> Iterator[str]:
    for why, name in (
        ("for which the probe itself was late", "late"),
        ("of answers of another length", "other"),
    ):
        counts = [
            sum(getattr(side, name) for side in sides)
            for sides in zip(*((t.before, t.after) for t in pairs), strict=True)
        ]
        if any(counts):
            yield f"latency, {counts[0]} times before and {counts[1]} after, {why}"


def _one_sided(old: Mapping[Conditions, object], new: Mapping[Conditions, object]) -> Iterator[str]:
    """Conditions that only one side has, of clients that both sides timed: else the outcome says it."""
    shared = {key.where for key in old} & {key.where for key in new}
    matched = {key.where for key in old if key in new}
    for where in sorted(shared - matched):
        a = next(key for key in old if key.where == where)
        b = next(key for key in new if key.where == where)
        differs = [name for name in a.__dataclass_fields__ if getattr(a, name) != getattr(b, name)]
        said = [
            f"{name.replace('_', ' ')} {getattr(a, name)} before, {getattr(b, name)} after"
            for name in differs
        ]
        yield f"latency of {worded(where)}: {', '.join(said)}"
