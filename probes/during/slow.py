"""Did answers begin later than before the command?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude
from probes.kinds.words import duration, median_of
from probes.model import Confidence, Figure, Observed, Verdict
from probes.samples import sample
from probes.sampling import alike, figure, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.during.timed import Request
    from probes.model import Call, Case, Finding
    from probes.sampling import Sample

_FEWEST, _TWO = 5, 2
_TIMES, _MORE = 2.0, 0.5
"""How many times the slowest before, and by how many seconds more, an answer has to be to be called slow."""
_SHOWN = 8


def slow(case: Case, before: Sequence[Request], since: Sequence[Request]) -> list[Finding]:
    """Of the short requests, which are alike; a warning, since one in so many may be slow by chance."""
    same, _ = alike(each.call for each in (*before, *since) if _tells(each))
    usual, now = _ttfts(before, same), _ttfts(since, same)
    if len(usual) < _FEWEST or not now:
        return []
    most = max(sample.value for sample in usual.values())
    bound = max(_TIMES * most, most + _MORE)
    late = {name: sample.value for name, sample in now.items() if sample.value > bound}
    if len(late) < _TWO:
        return []
    worst = max(late, key=lambda name: late[name])
    example = next(each.call.last for each in since if each.call.last and each.call.last.id == worst)
    earlier, later = figure(list(usual.values())), figure(list(now.values()))
    return [
        conclude(
            case, "regression.latency", example, verdict=Verdict.WARN, client=case.clients[0].name,
            title=f"{len(late)} of {len(now)} answers began late, after up to {duration(late[worst])}, and none before the command",
            observed=Observed(len(late), len(now)),
            detail=(
                ("seen", f"first token after {median_of(later)} from the beginning of the command on"),
                ("before", f"after {median_of(earlier)}, {duration(most)} at the most; the same small stream over a new connection each time"),
                ("called late", f"what took more than {_TIMES:g} times the slowest before, and {_MORE:g} s more"),
            ),
            figures={
                "ttft_before": earlier,
                "ttft_since": later,
                "ratio": Figure(later.value / earlier.value, "times", len(now), conditions=later.conditions),
            },
            confidence=Confidence.MEDIUM, evidence=tuple(late)[:_SHOWN], next_test=None,
            advice="See whether it lasts after the command: what was just started may be cold, or others carry its load.",
        )
    ]  # fmt: skip


def _tells(each: Request) -> bool:
    return bool(each.good) and not each.stream and each.call.last is not None


def _ttfts(seen: Sequence[Request], same: Sequence[Call]) -> dict[str, Sample]:
    """By exchange, of the calls that were taken alike."""
    ids, found = {call.id for call in same}, {}
    for each in seen:
        if _tells(each) and each.call.id in ids and each.call.last is not None:
            seconds = sample(each.call.last).ttft
            if seconds is not None:
                found[each.call.last.id] = sampled(each.call, seconds)
    return found
