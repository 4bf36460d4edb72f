"""What did one call come to, for a customer whose SDK repeats it by itself?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from probes.budget import free
from probes.kinds.by_us import by_us
from probes.kinds.conclude import outcome_code
from probes.model import Figure

if TYPE_CHECKING:
    from probes.model import Call, Exchange

_REDIRECTS = range(300, 400)
_ENDED = frozenset({"probes.Ended", "asyncio.CancelledError"})
"""What a call raised that was ended between two exchanges, see `clients.observed`."""


@dataclass(frozen=True, slots=True)
class Felt:
    """What one call of a customer came to."""

    call: Call

    @property
    def last(self) -> Exchange:
        return self.call.exchanges[-1]

    @property
    def attempts(self) -> list[Exchange]:
        """The requests that were on the wire, without those to which a redirect led from another."""
        sent = [exchange for exchange in self.call.exchanges if exchange.request.method]
        led = {after.id for before, after in pairwise(sent) if (before.status or 0) in _REDIRECTS}
        return [exchange for exchange in sent if exchange.id not in led]

    @property
    def pauses(self) -> list[float]:
        """Seconds by the clock on the wall, also in a lab: no SDK knows of its time."""
        return [float(e.conditions["paused"]) for e in self.call.exchanges if "paused" in e.conditions]

    @property
    def on_the_wire(self) -> float:
        return sum(exchange.timeline.end or 0.0 for exchange in self.call.exchanges)

    @property
    def waited(self) -> float:
        return self.on_the_wire + sum(self.pauses)

    @property
    def ended_by_us(self) -> bool:
        """While it waited for an answer, or while the SDK paused before it would try again."""
        return by_us(self.last) or self.left_pausing

    @property
    def interrupted(self) -> bool:
        """Somebody ended the run."""
        error, raised = self.last.error, self.call.raised
        in_a_pause = self.left_pausing and raised is not None and not raised.text.endswith("deadline")
        return (error is not None and error.kind == "interrupted") or in_a_pause

    @property
    def left_pausing(self) -> bool:
        return self.call.raised is not None and self.call.raised.type in _ENDED and not by_us(self.last)

    @property
    def good(self) -> bool:
        return outcome_code(self.last) == "ok"

    @property
    def computed(self) -> tuple[int, int]:
        """(by usage that was reported, at the worst): how often the origin may have made the answer."""
        reached = [e for e in self.attempts if e.timeline.upload_end is not None and not free(e)]
        return sum(bool(e.facts.get("usage")) for e in reached), len(reached)

    @property
    def figures(self) -> dict[str, Figure]:
        """Without an upper bound where the end of the call was not seen."""
        known, worst = self.computed
        off = len(self.attempts) * float(self.call.conditions.get("resolution", 0.0))
        n, waited, open_end = len(self.attempts), self.waited, self.ended_by_us
        return {
            "attempts": Figure(n, "requests", 1, n, None if open_end else n),
            "waited": Figure(waited, "s", 1, waited - off, None if open_end else waited + off),
            "paused": Figure(sum(self.pauses), "s", 1),
            "billed": Figure(worst, "times", 1, known, None if open_end else worst),
        }
