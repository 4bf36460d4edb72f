"""What does the edge look like from outside, as runs saw it?

    before, after = fingerprint(old_runs), fingerprint(new_runs)
    looked_at = compared(before, after)            # differences: every trait of both, changed or not
    differences(before, after)                     # only what changed
    findings(looked_at, case_id, marks)            # told: `regression.fingerprint`, or `ok`
    rows(looked_at, marks)                         # told: lines of the table of before and after

Attributions are taken as recorded: runs of different versions of edgeprobe are judged again first (`rejudge`), or a better
signature looks like another edge. Runs of one side share target, vantage and scale of time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from probes.change.answers import question
from probes.change.clocks import clock_of
from probes.change.traits import CUTOFF, DELIVERY, Reading, readings
from probes.comparison import Seen, Trait
from probes.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from probes.model import Call, Finding, Run

_KEPT = 3


@dataclass(slots=True)
class _Tally:
    run: Run
    n: int = 0
    ids: set[str] = field(default_factory=set)
    reading: Reading | None = None

    def add(self, reading: Reading, n: int, ids: Iterable[str]) -> None:
        self.n += n
        self.ids.update(ids)
        # Of answers that differ in it the one is taken that does not depend on their order.
        if self.reading is None or _order(reading) > _order(self.reading):
            self.reading = reading


def fingerprint(runs: Iterable[Run]) -> tuple[Trait, ...]:
    """Sorted; the order of runs and of their answers makes no difference."""
    found: dict[tuple[str, str, str], dict[tuple[str, str, str], _Tally]] = {}
    for run in runs:
        for route, asked, reading, n, ids in (*_of_answers(run), *_of_findings(run)):
            tallies = found.setdefault((reading.of, reading.where, route), {})
            tallies.setdefault((reading.value, asked, run.id), _Tally(run)).add(reading, n, ids)
    return tuple(Trait(*key, _seen(found[key])) for key in sorted(found))


def merged(looks: Iterable[tuple[Trait, ...]]) -> tuple[Trait, ...]:
    """Fingerprints of single runs as that of all of them."""
    found: dict[tuple[str, str, str], list[Seen]] = {}
    for look in looks:
        for trait in look:
            found.setdefault((trait.of, trait.where, trait.route), []).extend(trait.seen)
    return tuple(Trait(*key, tuple(found[key])) for key in sorted(found))


_Read = tuple[str, str, Reading, int, tuple[str, ...]]


def _of_answers(run: Run) -> Iterator[_Read]:
    for call in run.calls:
        asked = _asked(call)
        for exchange in call.exchanges:
            for reading in readings(call, exchange):
                yield call.trial.route, asked, reading, 1, (exchange.id,)


def _of_findings(run: Run) -> Iterator[_Read]:
    """What no single answer tells: when long ones are cut, and whether streams flow."""
    for finding in run.findings:
        asked, route = finding.case.partition("/")[2], finding.route or ""
        conclusions = ((CUTOFF, clock_of(finding)), (DELIVERY, _delivered(finding)))
        for of, value in conclusions:
            if value is not None:
                yield (
                    route,
                    asked,
                    Reading(of, asked, value, finding.layer, finding.product),
                    1,
                    finding.evidence,
                )


def _delivered(finding: Finding) -> str | None:
    if finding.kind != "buffering":
        return None
    if finding.code == "ok" and finding.verdict is Verdict.PASS:
        return "as it is made"
    return "held back" if finding.code == "stream.buffered" else None


def _asked(call: Call) -> str:
    """The same question of the same client in any suite."""
    return f"{question(call.case).partition('/')[2]}:{call.trial.label}:{call.trial.client}"


def _seen(tallies: dict[tuple[str, str, str], _Tally]) -> tuple[Seen, ...]:
    made = []
    for (value, asked, name), tally in sorted(tallies.items(), key=lambda each: each[0]):
        assert tally.reading is not None
        made.append(
            Seen(
                value, tally.n, asked, name, tally.run.started, tally.run.finished,
                tally.reading.layer, tally.reading.product, tuple(sorted(tally.ids)[:_KEPT]),
            )
        )  # fmt: skip
    return tuple(made)


def _order(reading: Reading) -> tuple[str, str]:
    return str(reading.layer), reading.product or ""
