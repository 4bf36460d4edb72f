"""Does a streamed answer come back whole, with its end marker, through each client?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.kinds.completion import ANSWER_PATIENCE, asked, bound, judged_or_astray
from probes.kinds.promised import missed
from probes.kinds.spec import KindSpec
from probes.model import Figure, Verdict

if TYPE_CHECKING:
    from probes.model import Case, Finding, Flow


def streaming(case: Case) -> Flow:
    calls = yield from asked(case, stream=True)
    found = yield from judged_or_astray(case, calls, "a stream")
    first_token = {
        call.last.id: call.last.timeline.first_token - (call.last.timeline.upload_start or 0.0)
        for call in calls
        if call.last is not None and call.last.timeline.first_token is not None
    }
    side_by_side = min(len(case.clients), case.target.limits.concurrency)
    timed = [_with_ttft(finding, first_token, side_by_side) for finding in found]
    return timed + missed(case, calls, side_by_side)


def _with_ttft(finding: Finding, first_token: dict[str, float], concurrency: int) -> Finding:
    """TTFT from the first byte of the request sent, per client once: fresh connection, cold client, no cache claim."""
    times = sorted(first_token[name] for name in finding.evidence if name in first_token)
    if finding.verdict is not Verdict.PASS or not times:
        return finding
    middle = times[len(times) // 2] if len(times) % 2 else sum(times[len(times) // 2 - 1 :][:2]) / 2
    ttft = Figure(middle, "s", len(times), times[0], times[-1])
    conditions = {**finding.conditions, "client": "cold", "cache": "unknown", "concurrency": concurrency}
    return replace(finding, figures={"ttft": ttft}, conditions=conditions)


SPEC = KindSpec(
    flow=streaming,
    about="a streamed completion, proven by its end marker",
    bound=bound,
    defaults={"cap": 32, "patience": ANSWER_PATIENCE},
    limits={"cap": (1, 100_000), "patience": (0.1, 3600)},
)
