"""What comes of a run?

`drive(flow, send)` is the only loop. Live and replayed runs differ in `send`: `live.Live` puts trials on the wire,
`replay` looks calls up by (label, repeat).
"""

from __future__ import annotations

import threading
import traceback
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from probes.acceptance import FAMILY, accepted
from probes.attribution import attribute
from probes.kinds import KINDS
from probes.kinds.conclude import conclude
from probes.live import Live
from probes.model import Call, Case, Finding, Found, Layer, NotSent, Reason, Started, Verdict, unsent
from probes.passive import passive
from probes.reproducers import reproducible
from probes.sampling import completed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from probes.live import Bench
    from probes.model import Planned, Run, Send, Trial
    from probes.signatures import Catalogue

_WORST_FIRST = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS)
T = TypeVar("T")
Outcomes = dict[str, tuple[list[Call], list[Finding]]]


def drive(flow: Generator[Sequence[Trial], list[Call], T], send: Send) -> T:
    """Run a flow to what it returns, findings mostly; a label asked for again is its next repeat."""
    asked: Counter[str] = Counter()
    try:
        trials = next(flow)
        while True:
            planned: list[Planned] = []
            for trial in trials:
                planned.append((trial, asked[trial.label]))
                asked[trial.label] += 1
            trials = flow.send(send(planned))
    except StopIteration as done:
        result: T = done.value
        return result


def judge(case: Case, send: Send, redact: Callable[[str], str] = str) -> list[Finding]:
    """The findings of a case, at least one; a flow that breaks is an `error` of ours, never the service's.

    `redact` is for its traceback: what an exception says does not come from a call.
    """
    heard: list[Call] = []

    def hearing(planned: Sequence[Planned]) -> list[Call]:
        calls = send(planned)
        heard.extend(calls)
        return calls

    try:
        findings = drive(KINDS[case.kind].flow(case), hearing)
        findings += passive(case, heard, {finding.code for finding in findings})
        findings = [completed(finding, heard) for finding in findings]
        findings = reproducible(findings, heard, [case])
    except Exception:  # noqa: BLE001 - seam 2 of 3: a bug in a flow must not cost the other cases their findings
        return [bug(case, redact(traceback.format_exc()))]
    return findings or [not_measured(case, Reason.TOO_FEW)]


def bug(case: Case, trace: str) -> Finding:
    return conclude(
        case,
        "probe.bug",
        verdict=Verdict.ERROR,
        layer=Layer.PROBE,
        title="edgeprobe itself failed in this case",
        detail=(("seen", trace),),
    )


def not_measured(case: Case, reason: Reason) -> Finding:
    return conclude(case, "not_measured", layer=Layer.PROBE, reason=reason)


def replay(run: Run, case: Case, catalogue: Catalogue | None = None) -> Send:
    """A send that answers from a stored run; with a catalogue every exchange is attributed anew."""
    stored = {(call.trial.label, call.repeat): call for call in run.calls if call.case == case.id}

    def found(trial: Trial, repeat: int) -> Call:
        call = stored.get((trial.label, repeat))
        if call is None:
            return unsent(case, trial, repeat, NotSent.NOT_RECORDED)
        if catalogue is None:
            return call
        exchanges = tuple(replace(e, attribution=attribute(e, catalogue)) for e in call.exchanges)
        return replace(call, exchanges=exchanges)

    return lambda planned: [found(trial, repeat) for trial, repeat in planned]


def run_cases(cases: Sequence[Case], bench: Bench) -> tuple[list[Call], list[Finding]]:
    """Short cases one after the other, each long one beside them; calls and findings in the order of the cases."""
    outcomes: Outcomes = {}

    def lane(members: Sequence[Case], ended: threading.Event) -> None:
        try:
            for case in members:
                try:
                    outcomes[case.id] = run_case(case, bench)
                except Exception:  # noqa: BLE001 - handed on: else nobody hears of it, and the case looks interrupted
                    found = bug(case, bench.redactor.text(traceback.format_exc()))
                    outcomes[case.id] = [], [found]
                    bench.emit(Found(found))
        finally:
            ended.set()

    lanes = [[case] for case in cases if KINDS[case.kind].long]
    lanes.append([case for case in cases if not KINDS[case.kind].long])
    ends = [threading.Event() for _ in lanes]
    for members, ended in zip(lanes, ends, strict=True):
        threading.Thread(target=lane, args=(members, ended), daemon=True).start()
    for ended in ends:
        bench.stop.guard(ended)
    return _gathered(cases, outcomes)


def _gathered(cases: Sequence[Case], outcomes: Outcomes) -> tuple[list[Call], list[Finding]]:
    calls: list[Call] = []
    findings: list[Finding] = []
    for case in cases:
        got, found = outcomes.get(case.id, ([], [not_measured(case, Reason.INTERRUPTED)]))
        calls += got
        findings += found
    return calls, findings


def run_case(case: Case, bench: Bench) -> tuple[list[Call], list[Finding]]:
    bench.emit(Started(case))
    live = Live(case, bench)
    try:
        findings = judge(case, live, bench.redactor.text)
    finally:
        live.close()
    findings = [accepted(finding, case.target, bench.today) for finding in findings]
    for finding in findings:
        bench.emit(Found(finding))
    return live.calls, findings


def worst(findings: Iterable[Finding]) -> Verdict:
    """The run's verdict; an accepted finding does not count, and nothing measured is inconclusive.

    What is said of acceptances is no measurement.
    """
    counted = [finding for finding in findings if not finding.accepted]
    measured = any(finding.kind != FAMILY for finding in counted)
    seen = {finding.verdict for finding in counted} if measured else set()
    return next((verdict for verdict in _WORST_FIRST if verdict in seen), Verdict.INCONCLUSIVE)


def exit_code(run: Run, *, allow_inconclusive: bool = False) -> int:
    """That of its verdict. `allow_inconclusive`: 0 for a 3, where something passed."""
    code = exit_code_of(run.verdict)
    passed = any(finding.verdict is Verdict.PASS and _of_the_api(finding) for finding in run.findings)
    return 0 if code == 3 and allow_inconclusive and passed else code


def exit_code_of(verdict: Verdict) -> int:
    """1 any fail · 3 error, inconclusive or nothing measured · 0 the rest."""
    if verdict is Verdict.FAIL:
        return 1
    return 3 if verdict in {Verdict.ERROR, Verdict.INCONCLUSIVE} else 0


def _of_the_api(finding: Finding) -> bool:
    """That a host takes connections is no pass of its API."""
    return finding.kind not in KINDS or KINDS[finding.kind].asks_api
