"""Which findings does the operator live with, and do the acceptances of a target still hold?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.errors import did_you_mean
from probes.model import Confidence, Finding, Layer, Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from probes.model import Acceptance, Target
    from probes.strict_yaml import KeyPath

FAMILY = "acceptance"
"""Of the codes that speak of acceptances; they measure nothing."""


def accepted(finding: Finding, target: Target, today: date) -> Finding:
    """The finding, marked where an acceptance that has not expired matches it."""
    held = any(matches(one, finding) and not expired(one, today) for one in target.accepted)
    return replace(finding, accepted=True) if held else finding


def matches(acceptance: Acceptance, finding: Finding) -> bool:
    """By code and, where it names one, by client; what passed needs no acceptance."""
    return (
        finding.verdict is not Verdict.PASS
        and finding.code == acceptance.code
        and acceptance.client in {None, finding.client}
    )


def expired(acceptance: Acceptance, today: date) -> bool:
    return acceptance.until is not None and acceptance.until < today


def apart(target: Target, client: str) -> str | None:
    """The client's own name where an acceptance names it: what is found of it must not be told with others' as one."""
    return client if any(one.client == client for one in target.accepted) else None


def lapsed(target: Target, findings: Sequence[Finding], today: date, suite: str) -> list[Finding]:
    """One finding for each acceptance that has expired, and for each that matched none of the run's findings.

    Where nothing was measured, nothing can be said to be unused.
    """
    found: list[Finding] = []
    for index, one in enumerate(target.accepted):
        hits = [finding for finding in findings if matches(one, finding)]
        if expired(one, today):
            said = f"it held until {one.until}; {_score(hits)} in this run"
            found.append(_finding(f"{FAMILY}.expired", index, one, suite, said))
        elif not hits and findings:
            said = "no finding of this run matches it"
            found.append(_finding(f"{FAMILY}.unused", index, one, suite, said))
    return found


def _score(hits: Sequence[Finding]) -> str:
    return f"{len(hits)} finding{'' if len(hits) == 1 else 's'} that it would have matched"


def _finding(code: str, index: int, one: Acceptance, suite: str, said: str) -> Finding:
    row = vocabulary()[code]
    return Finding(
        code=code,
        verdict=row.verdict,
        case=f"{suite}/{FAMILY}",
        kind=FAMILY,
        layer=Layer.PROBE,
        client=one.client,
        title=f"{row.title}: {one.code}{f' of {one.client}' if one.client else ''}",
        detail=(("seen", f"accepted[{index}] of the target: {said}"), ("reason", one.reason)),
        confidence=Confidence.HIGH,
        who_acts=row.who_acts,
        retryable=row.retryable,
        advice=row.advice,
    )


def problems(target: Target) -> Iterator[tuple[KeyPath, str]]:
    """Key path and problem of acceptances that no finding could match, or that say no reason."""
    known = vocabulary()
    for index, one in enumerate(target.accepted):
        at = ("accepted", index)
        if one.code not in known:
            yield (*at, "code"), f"finding code {one.code!r} is not known{did_you_mean(one.code, known)}"
        elif known[one.code].verdict is Verdict.PASS or one.code.partition(".")[0] == FAMILY:
            yield (*at, "code"), f"{one.code} needs no acceptance"
        if not one.reason.strip():
            yield (*at, "reason"), "is empty; say why it is accepted"
