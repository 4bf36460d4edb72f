"""What did the requests of a curve measure, by the length of their prompts, and under which conditions?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from probes.costs import used
from probes.kinds.words import listed, median_of
from probes.model import Ask
from probes.samples import cached_share, sample
from probes.sampling import agreeing, drift, figure, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Figure
    from probes.sampling import Sample

LEAST = 3
"""Samples of a length, without which no figure is told of it."""
_HIT = 0.1
"""Of a prompt: what a template at its front may have in a cache."""
_WHY = {
    "cache": "came from a cache",
    "late": "may be stamped late by this process",
    "conditions": "had other conditions (connection)",
    "usage": "told no usage",
}


@dataclass(slots=True)
class Side:
    """One length. `wholes`: (prompt tokens, output tokens, seconds in all)."""

    ttft: list[Sample] = field(default_factory=list)
    tpot: list[Sample] = field(default_factory=list)
    share: list[Sample] = field(default_factory=list)
    wholes: list[tuple[int, int, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Measured:
    """`sides` by the tokens that the server counts; `left_out`: why, and how many."""

    sides: dict[int, Side]
    control: list[Sample]
    left_out: Counter[str]
    counted: bool
    conditions: dict[str, Any]

    def figures(self) -> dict[str, Figure]:
        """Of each length and of the control."""
        found = {}
        for tokens, side in self.sides.items():
            for name, samples, unit in (
                ("ttft", side.ttft, "s"), ("tpot", side.tpot, "s"), ("ttft_share", side.share, "share"),
            ):  # fmt: skip
                if samples:
                    found[f"{name}@{tokens}"] = figure(samples, unit)
        if self.control:
            found["control"] = figure(self.control)
        if (moved := drift(self.control)) is not None:
            found["drift"] = replace(
                found["control"], value=moved.times, unit="times", low=None, high=None, spread=None
            )
        return found

    def rows(self) -> list[tuple[str, str]]:
        """Under which conditions, then a line for each length."""
        connection, client = (self.conditions.get(name, "unknown") for name in ("connection", "client"))
        said = (
            f"TTFT by tokens of the prompt, each a text of its own; shuffled, one at a time, connection {connection}, client "
            f"{client}, a first round discarded; medians with 95 % intervals, or the widest that n gives"
        )
        seen = ("seen", said)
        return [seen, *self._lengths()]

    def _lengths(self) -> list[tuple[str, str]]:
        return [(f"{tokens:,}", _row(side)) for tokens, side in self.sides.items() if side.ttft]

    def without(self) -> str:
        """Which samples no figure is made of."""
        said = [f"{n} that {_WHY[why]}" for why, n in self.left_out.items() if n]
        return listed(said) if said else ""


def measured(calls: Sequence[Call]) -> Measured:
    """Of good calls, in their order; what agrees in its conditions with most of them."""
    control: list[Sample] = []
    by_length: dict[int, Side] = {}
    tokens: dict[int, list[int]] = {}
    left: Counter[str] = Counter()
    for position, call in enumerate(calls):
        assert call.last is not None
        assert isinstance(call.trial.request, Ask)
        length, seen, usage = (
            call.trial.request.prompt_tokens,
            sample(call.last),
            call.last.facts.get("usage"),
        )
        count, share = used(usage), cached_share(usage or {})
        if seen.ttft is None:
            left["late"] += 1
        elif not length:
            control.append(sampled(call, seen.ttft, position))
        elif count is None or not count[0]:
            left["usage"] += 1
        elif share is not None and share[0] > _HIT * share[1]:
            left["cache"] += 1
        else:
            side = by_length.setdefault(length, Side())
            tokens.setdefault(length, []).append(count[0] if share is None else share[1])
            side.ttft.append(sampled(call, seen.ttft, position))
            if seen.tpot:
                side.tpot.append(sampled(call, seen.tpot, position))
            if seen.total:
                side.share.append(sampled(call, seen.ttft / seen.total, position))
                side.wholes.append((tokens[length][-1], count[1], seen.total))
    middle = [median(tokens[n]) for n in sorted(tokens)]
    more = all(a < b for a, b in pairwise(middle))
    return _agreed(by_length, tokens, control, left, counted=more and bool(tokens or not left["usage"]))


def _agreed(
    by_length: dict[int, Side],
    tokens: dict[int, list[int]],
    control: list[Sample],
    left: Counter[str],
    *,
    counted: bool,
) -> Measured:
    every = {"control": control, **{f"{n}": side.ttft for n, side in by_length.items()}}
    kept, odd = agreeing(every)
    left["conditions"] += odd
    way = next((s.conditions for samples in kept.values() for s in samples), None)
    for side in by_length.values():
        for name in ("ttft", "tpot", "share"):
            setattr(side, name, [s for s in getattr(side, name) if s.conditions == way])
    sides = {round(median(tokens[n])): side for n, side in sorted(by_length.items())}
    conditions: dict[str, Any] = {"cache": "cold", "order": "shuffled"}
    if way is not None:
        conditions |= {"connection": way.connection, "client": way.client, "concurrency": way.concurrency}
    return Measured(sides, kept["control"], left, counted, conditions)


def _row(side: Side) -> str:
    said = median_of(figure(side.ttft))
    if len(side.share) >= LEAST:
        said += f", {100 * figure(side.share).value:.0f} % of the total"
    if len(side.tpot) >= LEAST and (tpot := figure(side.tpot).value):
        said += f"; then {1 / tpot:.3g} tokens/s"
    return said
