"""Did answers begin later than before the command?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude
from probes.kinds.words import duration
from probes.model import Confidence, Figure, Observed, Verdict
from probes.samples import sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.during.timed import Request
    from probes.model import Case, Finding

_FEWEST, _TWO = 5, 2
_TIMES, _MORE = 2.0, 0.5
"""How many times the slowest before, and by how many seconds more, an answer has to be to be called slow."""
_SHOWN = 8


def slow(case: Case, before: Sequence[Request], since: Sequence[Request]) -> list[Finding]:
    """Of the short requests, which are alike; a warning, since one in so many may be slow by chance."""
    usual, now = _ttfts(before), _ttfts(since)
    if len(usual) < _FEWEST or not now:
        return []
    most = max(usual.values())
    late = {name: seconds for name, seconds in now.items() if seconds > max(_TIMES * most, most + _MORE)}
    if len(late) < _TWO:
        return []
    worst = max(late, key=lambda name: late[name])
    example = next(each.call.last for each in since if each.call.last and each.call.last.id == worst)
    ratio = median(now.values()) / median(usual.values())
    return [
        conclude(
            case, "regression.latency", example, verdict=Verdict.WARN, client=case.clients[0].name,
            title=f"{len(late)} of {len(now)} answers began late, after up to {duration(late[worst])}, and none before the command",
            observed=Observed(len(late), len(now)),
            detail=(
                ("seen", f"first token after {_in_words(now)} from the beginning of the command on"),
                ("before", f"after {_in_words(usual)}; the same small stream over a new connection each time"),
                ("called late", f"what took more than {_TIMES:g} times the slowest before, and {_MORE:g} s more"),
            ),
            figures={
                "ttft_before": _figure(usual),
                "ttft_since": _figure(now),
                "ratio": Figure(ratio, "times", len(now)),
            },
            confidence=Confidence.MEDIUM, evidence=tuple(late)[:_SHOWN], next_test=None,
            advice="See whether it lasts after the command: what was just started may be cold, or others carry its load.",
        )
    ]  # fmt: skip


def _ttfts(seen: Sequence[Request]) -> dict[str, float]:
    found = {}
    for each in seen:
        if each.good and not each.stream and each.call.last is not None:
            seconds = sample(each.call.last).ttft
            if seconds is not None:
                found[each.call.last.id] = seconds
    return found


def _figure(of: dict[str, float]) -> Figure:
    return Figure(median(of.values()), "s", len(of), min(of.values()), max(of.values()))


def _in_words(of: dict[str, float]) -> str:
    values = of.values()
    return f"{duration(median(values))} in the middle, {duration(max(values))} at the most (n = {len(of)})"
