"""From how many tokens on is an answer lost, and what can be done about it?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from probes.model import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.length.pace import Pace
    from probes.kinds.length.side import Side
    from probes.model import Case
    from probes.timers import Timer

Way = Literal["stream", "early bytes", "no stream", "none"]
"""Out of a timer: what gets past it, or why streaming does not."""
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
    asked = [
        tpot for tpot in map(float, case.params["speeds"]) if speed.tpot is None or ms(tpot) != ms(speed.tpot)
    ]
    for tpot in dict.fromkeys((*given, *asked)):
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


def advice(timers: Sequence[Timer], shown: Sequence[str], tokens: int | None, way: Way) -> str:
    """What to do about a timer; `shown`: the products that the answer itself shows, who made it first."""
    at_most = f" at {safe(tokens)} tokens" if tokens else ""
    first = {
        "stream": f"Stream; or cap answers that are not streamed{at_most}",
        "early bytes": _EARLY_BYTES,
        "no stream": f"Cap answers that are not streamed{at_most}; streaming is no advice before streams are in order",
        "none": f"Cap answers{at_most}, streamed or not, since streaming is no way out",
    }[way]
    return f"{first}; or {_raising(timers, shown, 'limit on the whole answer' if way == 'none' else 'read timer')}."


def _raising(timers: Sequence[Timer], shown: Sequence[str], what: str) -> str:
    """Which timer, by what, and on which plan that is possible at all; a suspect that no answer showed is no advice."""
    timer = next((timer for name in shown for timer in timers if timer.product == name), None)
    if timer is None or timer.raised is None:
        return f"raise the {what} of the layer that cut"
    if timer.raised.by is None:
        return f"leave {timer.product}, whose {timer.timer} cannot be raised"
    return f"raise {timer.product}'s {timer.timer} ({timer.raised.by})"


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
