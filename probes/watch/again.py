"""Is what was bad once bad again?

At once and over fresh connections, so that a fault of one moment or of one connection wakes nobody, and a lasting one
is known before the interval is over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.alerts.rules import pages
from probes.kinds import KINDS
from probes.kinds.conclude import is_good
from probes.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from probes.alerts.evidence import Asked
    from probes.model import Finding, Run

_HEALTH = "models"
"""The kind that looks at what health checks look at: a server may list nothing and serve everybody."""


def again(
    first: Asked,
    ask: Callable[[tuple[str, ...] | None], Asked | None],
    rule: Callable[[Finding], tuple[int, int]],
) -> list[Asked]:
    """Asks the cases of the failures until each was met as often as its rule wants, or cannot be any more.

    `ask`: given case ids, or `None` for all; `None` where nothing can be asked now.
    """
    suspects = {_whom(finding): rule(finding) for finding in first.findings if pages(finding)}
    met = dict.fromkeys(suspects, (1, 1))
    known = {case.id for case in first.run.cases}
    came: list[Asked] = []
    for _ in range(max((n for _, n in suspects.values()), default=1) - 1):
        unsettled = [
            whom for whom, (k, n) in suspects.items() if met[whom][0] < k <= met[whom][0] + n - met[whom][1]
        ]
        if not unsettled:
            break
        cases = tuple(dict.fromkeys(case for case, _ in unsettled))
        asked = ask(cases if known.issuperset(cases) else None)
        if asked is None:
            break
        came.append(asked)
        for whom in unsettled:
            met[whom] = _counted(met[whom], whom, asked.findings)
    return came


def _whom(finding: Finding) -> tuple[str, str | None]:
    return finding.case, finding.client


def _counted(
    met: tuple[int, int], whom: tuple[str, str | None], findings: Sequence[Finding]
) -> tuple[int, int]:
    """Bad again in whichever way counts; what was not measured does not."""
    case, client = whom
    told = [finding for finding in findings if finding.case == case]
    bad = any(pages(f) and (client is None or f.client in {client, None}) for f in told)
    good = any(f.verdict in {Verdict.PASS, Verdict.WARN} for f in told)
    return met[0] + bad, met[1] + (bad or good)


# --- by another check ------------------------------------------------------------------------------------


def unwell(findings: Sequence[Finding]) -> list[Finding]:
    """Failures of what health checks look at, which alone alarm nobody."""
    return [finding for finding in findings if pages(finding) and finding.kind == _HEALTH]


def serves(run: Run) -> bool:
    """Somebody got a completion."""
    talks = {case.id for case in run.cases if KINDS[case.kind].converses and KINDS[case.kind].asks_api}
    return any(is_good(call) for call in run.calls if call.case in talks)


def but_served(finding: Finding) -> Finding:
    """Who asks for completions is served: a note, no outage."""
    return replace(
        finding,
        verdict=Verdict.WARN,
        detail=(
            *finding.detail,
            (
                "but",
                "a completion, asked for at once, was served: customers who don't look at the list notice nothing",
            ),
        ),
    )
