"""What does today's catalogue say of a stored run?

Its calls stay what they were: each exchange is attributed again, and each case's flow is driven again from the calls
that were recorded. What was expected of the target is what was stored with the run, on the day of the run.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from probes import __version__
from probes.acceptance import FAMILY, accepted, lapsed
from probes.attribution import attribute
from probes.kinds import KINDS
from probes.kinds.conclude import conclude
from probes.model import Layer, NotSent, Reason, Verdict
from probes.parameters import mismatch
from probes.routed import ROUTING, routed
from probes.runner import judge, replay, worst

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from probes.model import Call, Case, Finding, Planned, Run
    from probes.signatures import Catalogue

REJUDGED = "rejudged"
"""The row of `versions` that says so."""
BESIDE = "during"
"""The suite of what was asked beside a command."""


def rejudge(stored: Run, catalogue: Catalogue, now: datetime) -> Run:
    """The same run as judged `now`: its id and calls, and as not recorded what today's flows would ask beyond them.

    A case that can't be judged again keeps its findings, and one more says why: such a run does not pass.
    """
    anew = replace(stored, calls=tuple(_attributed(call, catalogue) for call in stored.calls))
    missing: list[Call] = []
    findings: list[Finding] = []
    for case in stored.cases:
        missed, found = _again(anew, case)
        missing += missed
        findings += [accepted(finding, case.target, stored.started.date()) for finding in found]
    known = {case.id for case in stored.cases}
    findings += [
        one for one in stored.findings if one.case not in known and one.kind not in {FAMILY, ROUTING}
    ]
    if stored.suites:
        spread = routed(anew.calls, stored.suites[0])
        findings += [accepted(finding, stored.target, stored.started.date()) for finding in spread]
        findings += lapsed(stored.target, findings, stored.started.date(), stored.suites[0])
    said = f"{now:%Y-%m-%d %H:%M} UTC by edgeprobe {__version__}, signatures {digest(catalogue)}"
    return replace(
        anew,
        calls=(*anew.calls, *missing),
        findings=tuple(findings),
        verdict=worst(findings),
        versions={**stored.versions, REJUDGED: said},
    )


def digest(catalogue: Catalogue) -> str:
    """Two catalogues with the same digest judge alike; where they came from and their samples do not count."""
    decides = [(one.product, one.layer, one.forward, replace(one.row, source=(), samples=())) for one in catalogue.signatures]  # fmt: skip
    marks = [
        (product, layer, [(name, regex.pattern) for name, regex in headers])
        for product, layer, headers in catalogue.marks
    ]
    return f"sha256:{hashlib.sha256(repr((decides, marks)).encode()).hexdigest()[:12]}"


def _attributed(call: Call, catalogue: Catalogue) -> Call:
    exchanges = tuple(replace(e, attribution=attribute(e, catalogue)) for e in call.exchanges)
    return replace(call, exchanges=exchanges)


def _again(run: Run, case: Case) -> tuple[list[Call], list[Finding]]:
    """The calls that the case's flow misses, and what it finds."""
    before = [finding for finding in run.findings if finding.case == case.id]
    recorded = any(call.case == case.id for call in run.calls)
    if before and not recorded and all(map(_unmeasured, before)):
        return [], before  # nothing was asked, and the live run knew why
    if (why := _cannot(case)) is not None:
        return [], _kept(run, case, before, why)
    missing: list[Call] = []
    answers = replay(run, case)

    def send(planned: Sequence[Planned]) -> list[Call]:
        calls = answers(planned)
        missing.extend(call for call in calls if call.not_sent is NotSent.NOT_RECORDED)
        return calls

    found = judge(_of_today(run, case), send)
    stumbled = next((finding for finding in found if finding.code == "probe.bug"), None)
    if stumbled is not None and all(finding.code != "probe.bug" for finding in before):
        cause = stumbled.detail[0][1].strip().rpartition("\n")[2]
        return [], _kept(run, case, before, f"its question stumbled over what was stored: {cause}")
    return missing, found


def _unmeasured(finding: Finding) -> bool:
    return finding.verdict in {Verdict.INCONCLUSIVE, Verdict.ERROR} and not finding.evidence


def _cannot(case: Case) -> str | None:
    if case.suite == BESIDE:
        return "it was judged by when its command began and ended, which is not kept with the calls"
    if case.kind not in KINDS:
        return f"this edgeprobe has no kind {case.kind}"
    if case.route not in case.target.routes:
        return f"its route {case.route} is not stored with the target"
    defaults = KINDS[case.kind].defaults
    for key, value in case.params.items():
        if key in defaults and (wanted := mismatch(value, defaults[key])):
            return f"its parameter {key} must be {wanted} today, and was {value!r}"
    return None


def _of_today(run: Run, case: Case) -> Case:
    """With the parameters and senders that its kind has got since, and what its run knows better than a case of old."""
    spec, names = KINDS[case.kind], {client.name for client in case.clients}
    brought = [client for client in spec.brings if client.name not in names]
    params = {**spec.defaults, **case.params}
    return replace(case, params=params, clients=(*case.clients, *brought), time_scale=run.time_scale)


_AGAIN = "Run it again, beside such a command."
_AGAIN_OR_OLD = (
    "Run it against the server again, or judge it with the version of edgeprobe that took the run."
)


def _kept(run: Run, case: Case, before: Sequence[Finding], why: str) -> list[Finding]:
    said = f"{why}; what was found on {run.started:%Y-%m-%d} stands beside this as it was"
    unproven = conclude(
        case,
        "not_measured",
        layer=Layer.PROBE,
        reason=Reason.NOT_RECORDED,
        title=f"{case.kind} can't be judged again",
        detail=(("seen", said if before else why),),
        advice=_AGAIN if case.suite == BESIDE else _AGAIN_OR_OLD,
    )
    return [*before, unproven]
