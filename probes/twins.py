"""Does one factor make the difference?

A twin is two trials that differ in exactly one factor, run side by side and repeated. One side failing proves
something; both failing proves nothing about the factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.model import Call, NotSent, Trial

if TYPE_CHECKING:
    from probes.model import Exchange

REPEATS = 3
MORE = 12
"""Pairs at the most, where the first `REPEATS` are mixed."""
P = 0.05
_Z = 1.959964  # two-sided 95 %

Step = Generator[Sequence[Trial], list[Call], list[Call]]
_FRAMING = frozenset({"content-length", "host"})


Outcome = Callable[[Call], bool | None]
"""Whether a call failed; `None` where it says nothing of the question, and then it does not count."""


@dataclass(frozen=True, slots=True)
class Side:
    """`k` failures in `n` calls that say something."""

    k: int
    n: int
    calls: tuple[Call, ...] = ()

    @property
    def passed(self) -> bool:
        return self.n > 0 and self.k == 0

    @property
    def failed(self) -> bool:
        return self.n > 0 and self.k == self.n

    @property
    def evidence(self) -> str | None:
        """The exchange id to show: the last one of this side."""
        return next((call.last.id for call in reversed(self.calls) if call.last is not None), None)


@dataclass(frozen=True, slots=True)
class Twin:
    control: Side
    variant: Side

    @property
    def claimed(self) -> bool:
        """The variant fails because of the factor: both sides pure with n ≥ 3, or Fisher's exact test ≤ 0.05."""
        enough = min(self.control.n, self.variant.n) >= REPEATS
        if enough and self.control.passed and self.variant.failed:
            return True
        return self._rate(self.variant) > self._rate(self.control) and fisher(self.control, self.variant) <= P

    @property
    def unsent(self) -> NotSent | None:
        return unsent([*self.control.calls, *self.variant.calls])

    @staticmethod
    def _rate(side: Side) -> float:
        return side.k / side.n if side.n else 0.0


def one(trial: Trial) -> Generator[Sequence[Trial], list[Call], Call]:
    """A step of one request; its call is what `yield from` gives."""
    calls = yield [trial]
    return calls[0]


def cells(
    trials: Sequence[Trial], outcome: Outcome, repeats: int = REPEATS
) -> Generator[Sequence[Trial], list[Call], list[Side]]:
    """Each trial `repeats` times; the trials of one round are sent together and bought as one."""
    rounds: list[list[Call]] = []
    for _ in range(repeats):
        rounds.append((yield [replace(trial, pair=trials[0].label) for trial in trials]))
        if unsent(rounds[-1]):
            break
    return [side([calls[index] for calls in rounds], outcome) for index in range(len(trials))]


def twin(
    control: Trial, variant: Trial, outcome: Outcome, repeats: int = REPEATS, more: int = MORE
) -> Generator[Sequence[Trial], list[Call], Twin]:
    """Pairs of control and variant; where they come out mixed, more pairs, up to `more`."""
    pairs = repeats
    calls: tuple[list[Call], list[Call]] = ([], [])
    while True:
        for got, found in zip(calls, (yield from cells((control, variant), outcome, pairs)), strict=True):
            got.extend(found.calls)
        result = Twin(side(calls[0], outcome), side(calls[1], outcome))
        mixed = not (result.control.passed or result.control.failed) or not (
            result.variant.passed or result.variant.failed
        )
        pairs = more - len(calls[0])
        if result.claimed or result.unsent or not mixed or pairs <= 0:
            return result


def side(calls: Sequence[Call], outcome: Outcome) -> Side:
    said = [failed for call in calls if call.not_sent is None and (failed := outcome(call)) is not None]
    return Side(sum(said), len(said), tuple(calls))


def unsent(calls: Sequence[Call]) -> NotSent | None:
    """Why the first call that was not sent was not."""
    return next((call.not_sent for call in calls if call.not_sent is not None), None)


def fisher(control: Side, variant: Side) -> float:
    """Two-sided p of Fisher's exact test on failures of both sides: all tables no likelier than the one seen."""
    failures, total = control.k + variant.k, control.n + variant.n
    if not control.n or not variant.n:
        return 1.0

    def ways(k: int) -> int:
        return (
            math.comb(control.n, k) * math.comb(variant.n, failures - k)
            if 0 <= failures - k <= variant.n
            else 0
        )

    seen = ways(control.k)
    return sum(w for k in range(control.n + 1) if (w := ways(k)) <= seen) / math.comb(total, failures)


def wilson(k: float, n: float, z: float = _Z) -> tuple[float, float]:
    """Interval of a rate of `k` in `n`, as fractions: of 95 %, unless `z` says otherwise."""
    if n == 0:
        return 0.0, 1.0
    rate, z2 = k / n, z * z
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def confounders(control: Exchange, variant: Exchange, factor: Sequence[str] = ()) -> tuple[str, ...]:
    """What else differed on the wire, in words; `factor` names the headers that were meant to (`x-*` by prefix), or a
    condition such as `http_version`.
    """
    prefixes = tuple(name.removesuffix("*") for name in factor if name.endswith("*"))

    def meant(name: str) -> bool:
        return name in factor or name in _FRAMING or bool(prefixes and name.startswith(prefixes))

    def others(exchange: Exchange) -> dict[str, tuple[list[str], list[str]]]:
        """Lower-case name → its spellings and its values."""
        grouped: dict[str, tuple[list[str], list[str]]] = {}
        for name, value in exchange.request.headers:
            if not meant(name.lower()):
                spellings, values = grouped.setdefault(name.lower(), ([], []))
                spellings.append(name)
                values.append(value)
        return grouped

    ours, theirs = others(control), others(variant)
    found = [f"header {n} only in the control" for n in ours if n not in theirs]
    found += [f"header {n} only in the variant" for n in theirs if n not in ours]
    shared = [n for n in ours if n in theirs]
    found += [f"header {n} differs in value" for n in shared if ours[n][1] != theirs[n][1]]
    # HTTP/2 has no capitals in names (RFC 9113, 8.2).
    cased = "http_version" not in factor and any(ours[n][0] != theirs[n][0] for n in shared)
    found += ["header names differ in case"] * cased
    found += ["headers differ in order"] * (shared != [n for n in theirs if n in ours])
    if control.request.body_digest != variant.request.body_digest:
        found.append("the bodies differ")
    for what in ("http_version", "connection", "peer", "proxy"):
        one_side, other = control.conditions.get(what), variant.conditions.get(what)
        if what not in factor and None not in {one_side, other} and one_side != other:
            found.append(f"{what.replace('_', ' ')} differs")
    return tuple(found)
