"""From how many tokens on is an answer lost, and what can be done about it?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from probes.model import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.length.pace import Pace
    from probes.kinds.length.side import Side
    from probes.model import Case
    from probes.timers import Timer

_SAFE = 0.9
_ANSWERS = (500, 1000, 2000, 4000)
"""Tokens of answers that customers ask for."""
_EARLY_BYTES = (
    "Streaming does not help while nothing comes before the first token: have the origin send the headers and a comment "
    "(a line such as `: ping`) at once, and one more often than the timer until the first token"
)


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds to the first token, and for each one after it."""

    ttft: float | None
    tpot: float | None

    @classmethod
    def of(cls, stream: Side, pace: Pace) -> Speed:
        """Of the long stream where it shows it, else of the short one before it."""
        ttft = stream.ttft if stream.last is not None else None
        return cls(ttft if ttft is not None else pace.ttft, stream.tpot or pace.tpot)

    def longest(self, cutoff: float, tpot: float | None = None) -> int | None:
        """Tokens of the longest answer that is whole before `cutoff`, at this speed or another; TTFT as measured."""
        tpot = tpot or self.tpot
        if not tpot or self.ttft is None or cutoff <= self.ttft:
            return None
        return math.floor((cutoff - self.ttft) / tpot) + 1

    def figures(self) -> dict[str, Figure]:
        ttft = {} if self.ttft is None else {"ttft": Figure(self.ttft, "s", 1)}
        return ttft | ({} if self.tpot is None else {"tpot": Figure(self.tpot, "s/token", 1)})


def cliff(case: Case, speed: Speed, cutoff: float) -> tuple[tuple[str, str], ...]:
    """Today, at the speed that was asked about, and for a few others."""
    rows: list[str] = []
    if speed.tpot is not None and (tokens := speed.longest(cutoff)) is not None:
        rows.append(f"at {ms(speed.tpot)} a token, as measured, an answer above {tokens:,} tokens is lost")
    given = [float(case.params["tpot"])] if case.params["tpot"] is not None else []
    for tpot in (*given, *map(float, case.params["speeds"])):
        tokens = speed.longest(cutoff, tpot)
        rows += [f"at {ms(tpot)}: {tokens:,}"] if tokens is not None else []
    return (("cliff", " · ".join(rows)),) if rows else ()


def reaches(speed: Speed, held: float) -> tuple[tuple[str, str], ...]:
    """From which speed on answers of the usual lengths take longer than what was tested."""
    if speed.ttft is None or held <= speed.ttft:
        return ()
    rows = [f"{tokens:,} tokens from {ms((held - speed.ttft) / tokens)}" for tokens in _ANSWERS]
    return (("beyond", f"slower answers are not covered: of {', of '.join(rows)} a token on"),)


def safe(tokens: int) -> int:
    """A round cap below the cliff, with room for a slower minute."""
    lowered = math.floor(tokens * _SAFE)
    unit = int(10 ** max(len(str(lowered)) - 2, 0))
    return max(lowered // unit * unit, 1)


def advice(timers: Sequence[Timer], product: str | None, tokens: int | None, *, silent: bool) -> str:
    """What to do about a first-byte timer; `silent`: the streamed side met it as well."""
    cap = (
        f"cap answers that are not streamed at {safe(tokens)} tokens"
        if tokens
        else "cap answers that are not streamed"
    )
    first = _EARLY_BYTES if silent else f"Stream; or {cap}"
    return f"{first}; or {raising(timers, product)}."


def raising(timers: Sequence[Timer], product: str | None) -> str:
    """Which timer, on which product, by what, and on which plan that is possible at all; a list of suspects is no advice."""
    of = {timer.product: timer for timer in reversed(timers)}
    timer = of.get(product or "") or (timers[0] if len(of) == 1 else None)
    if timer is None or timer.raised is None:
        return "raise the read timer of the layer that cut"
    if timer.raised.by is None:
        return f"leave {timer.product}, whose {timer.timer} cannot be raised"
    return f"raise {timer.product}'s {timer.timer} ({timer.raised.by})"


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"
