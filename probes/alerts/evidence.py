"""Who was hurt in a run, who was not, and of whom does it say nothing?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from probes.alerts.rules import key_of, pages
from probes.kinds.conclude import is_good
from probes.model import Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from probes.canary import AlertKey
    from probes.model import Call, Finding, Run

_UNCLEAR = frozenset({Verdict.INCONCLUSIVE, Verdict.ERROR})
_TOOL = "dialer"
"""Opens connections for us; no customer has it."""


class Subject(NamedTuple):
    """One case through one client, of one entry; `client: None` is what no single client stands for."""

    entry: str
    case: str
    client: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A run of an entry and what was found in it; `part`: only its bad cases, asked again at once. `heard`: when each
    call ended, by its id. `served`: when somebody was last let in, before a run in which nobody was.
    """

    run: Run
    findings: Sequence[Finding]
    part: bool = False
    heard: Mapping[str, datetime] = field(default_factory=dict)
    served: datetime | None = None

    def met(self, finding: Finding, subject: Subject) -> datetime | None:
        """When this finding's first bad answer came to one that it hurts; where its own are not known, to any."""
        hit = [call for call in _hit(finding, self.run) if call.id in self.heard]
        bad = [c for c in hit if not is_good(c) and all(e.id != finding.control for e in c.exchanges)] or hit
        own = [call for call in bad if (call.case, call.trial.client) == (subject.case, subject.client)]
        return min((self.heard[call.id] for call in own or bad), default=None)


@dataclass(frozen=True, slots=True)
class Reading:
    """`bad`: the findings that hurt, by what they are grouped under and whom they hurt. `good`: who got what was asked
    for. `mild`: who met something that hurts nobody, a warning or what the operator accepted. `watched`: who was to be
    asked, or left out for a reason; `whole`: nobody else of the entry is.
    """

    bad: Mapping[AlertKey, Mapping[Subject, Finding]]
    mild: Mapping[AlertKey, frozenset[Subject]]
    good: frozenset[Subject]
    unclear: frozenset[Subject]
    watched: frozenset[Subject]
    whole: bool

    def passed(self, subject: Subject, key: AlertKey) -> bool:
        """Whether it was asked and did not meet this, or is asked no more; no word of it is no pass."""
        if subject in self.bad.get(key, {}) or subject in self.unclear:
            return False
        fine = subject in self.good or subject in self.mild.get(key, ()) or self._served_elsewhere(subject)
        return fine or (self.whole and subject not in self.watched)

    def _served_elsewhere(self, subject: Subject) -> bool:
        """Its case is clean and did not ask through it this time, and in another case it got what was asked for."""
        clean = self.whole and subject._replace(client=None) in self.good
        return clean and subject.client is not None and subject.client in {good.client for good in self.good}


def read(asked: Asked, entry: str, target: str) -> Reading:
    """What one run says of each of its subjects."""
    run = asked.run
    bad: dict[AlertKey, dict[Subject, Finding]] = defaultdict(dict)
    mild: dict[AlertKey, frozenset[Subject]] = defaultdict(frozenset)
    good: set[Subject] = set()
    unclear: set[Subject] = set()
    for finding in asked.findings:
        subjects = _subjects(finding, run, entry)
        if pages(finding):
            bad[key_of(finding, target)] |= dict.fromkeys(
                subjects or [Subject(entry, finding.case, None)], finding
            )
        elif finding.verdict in _UNCLEAR:
            unclear |= set(subjects)
        elif finding.verdict is Verdict.PASS:
            good |= set(subjects)
        else:
            mild[key_of(finding, target)] |= set(subjects)
    hurt = {subject.case for group in bad.values() for subject in group}
    troubled = {f.case for f in asked.findings if f.verdict in _UNCLEAR or pages(f)} | hurt
    clean = {finding.case for finding in asked.findings} - troubled
    good |= {Subject(entry, case, name) for case, name in _sent(run) if case in clean}
    good |= {Subject(entry, case, None) for case in clean}
    whole = not asked.part and all(f.reason is not Reason.INTERRUPTED for f in asked.findings)
    watched = {Subject(entry, *row) for row in _watched(run)}
    return Reading(bad, mild, frozenset(good), frozenset(unclear), frozenset(watched), whole)


def _subjects(finding: Finding, run: Run, entry: str) -> list[Subject]:
    """What is said of a whole run hurts each client in the case that it was asked in: there it is asked again."""
    if finding.client is None and (hit := _hit(finding, run)):
        return list(dict.fromkeys(Subject(entry, call.case, call.trial.client) for call in hit))
    return [Subject(entry, finding.case, name) for name in clients_of(finding, run)]


def _hit(finding: Finding, run: Run) -> list[Call]:
    evidence = set(finding.evidence)
    return [call for call in run.calls if any(ex.id in evidence for ex in call.exchanges)]


def _sent(run: Run) -> set[tuple[str, str]]:
    return {(call.case, call.trial.client) for call in run.calls if call.exchanges}


def _watched(run: Run) -> Iterator[tuple[str, str | None]]:
    for case in run.cases:
        yield case.id, None
        yield from ((case.id, client.name) for client in case.clients)
    yield from ((row.case, row.client) for row in run.skipped)
    yield from _sent(run)


def clients_of(finding: Finding, run: Run) -> tuple[str, ...]:
    """The clients that a finding is about. Where it names one of several that met the same, as a twin does, the others
    are known by their answers.
    """
    if finding.client is None:
        return tuple(dict.fromkeys(call.trial.client for call in _hit(finding, run)))
    if finding.verdict is not Verdict.FAIL:
        return (finding.client,)
    fine = {name for f in run.findings if _is_pass_of(f, finding.case) for name in clients_of(f, run)}
    alike = [call.trial.client for call in run.calls if call.case == finding.case and _met(call, finding)]
    return tuple(dict.fromkeys((finding.client, *(name for name in alike if name not in fine))))


def _is_pass_of(finding: Finding, case: str) -> bool:
    return finding.verdict is Verdict.PASS and finding.case == case


def _met(call: Call, finding: Finding) -> bool:
    """The very answer that the finding is about: an answer that only looks like it proves nothing."""
    made = call.last.attribution if call.last is not None else None
    if made is None or made.code == "ok" or finding.vendor_code is None:
        return False
    return (made.layer, made.product, made.vendor_code, made.code) == (
        finding.layer, finding.product, finding.vendor_code, finding.code,
    )  # fmt: skip


def passing(asked: Asked) -> tuple[str, ...]:
    """The customers' clients that got something good and met nothing bad in this run."""
    met: dict[bool, set[str]] = {True: set(), False: set()}
    for finding in asked.findings:
        if finding.verdict is Verdict.PASS or pages(finding):
            met[finding.verdict is Verdict.PASS] |= set(clients_of(finding, asked.run))
    return customers(met[True] - met[False])


def customers(names: Iterable[str | None]) -> tuple[str, ...]:
    """Sorted, each once, without what only we have."""
    return tuple(sorted({name for name in names if name is not None and name != _TOOL}))
