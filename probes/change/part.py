"""What does one part of a comparison say?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from probes.model import Confidence, Finding, Layer, Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from probes.comparison import Row

KIND = "baseline"
"""Of the findings of a comparison; they ask for nothing."""
ORDER = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Part:
    """`findings`: what is to be told of its rows. `left_out`: what was not compared, and why, in words."""

    rows: tuple[Row, ...] = ()
    findings: tuple[Finding, ...] = ()
    left_out: tuple[str, ...] = ()


def finding(code: str, verdict: Verdict | None = None, **fields: Any) -> Finding:
    """Of a code of the vocabulary; its case is set by who tells it."""
    row = vocabulary()[code]
    values: dict[str, Any] = {
        "verdict": verdict or row.verdict,
        "title": row.title,
        "advice": row.advice if code != "ok" else "",
        "who_acts": row.who_acts,
        "retryable": row.retryable,
        "layer": Layer.PROBE if code == "not_measured" else Layer.UNKNOWN,
        "confidence": Confidence.HIGH,
    }
    return Finding(code=code, case="", kind=KIND, **(values | fields))


def of_case(findings: Iterable[Finding], case: str) -> tuple[Finding, ...]:
    return tuple(replace(one, case=case) for one in findings)


def worst(rows: Sequence[Row]) -> Verdict:
    """Nothing compared proves nothing."""
    seen = {row.verdict for row in rows}
    return next((verdict for verdict in ORDER if verdict in seen), Verdict.INCONCLUSIVE)


def times(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
