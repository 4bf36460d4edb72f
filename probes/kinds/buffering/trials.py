"""Which streams are asked for, and which of their factors may be what holds one back?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes.arrivals import RESOLUTION, Arrivals, How, arrivals
from probes.config import conversation
from probes.kinds.buffering import versions
from probes.kinds.by_us import by_us
from probes.kinds.conclude import came_whole
from probes.kinds.length.pace import by_preference as preferred
from probes.kinds.streaming.by_route import ORIGIN
from probes.kinds.streaming.silences import silences
from probes.kinds.words import duration
from probes.model import Ask, Factor, Trial

if TYPE_CHECKING:
    from probes.model import Call, Case, Client, Exchange

_HELD, _SEEN = frozenset({How.WHOLE, How.STEPS}), frozenset({How.WHOLE, How.STEPS, How.FLOWS})


@dataclass(frozen=True, slots=True)
class Other:
    """A stream that differs in `factor` alone from the one that looks held: `held` is that one where it is not the case's
    own, as of HTTP/1.1, for which the SDK can't stand.
    """

    factor: Factor
    trial: Trial
    held: Trial | None = None


class Looked:
    """A call and how its bytes came."""

    def __init__(self, call: Call) -> None:
        self.call = call
        last = call.last
        fine = float(call.conditions.get("resolution", RESOLUTION))
        self.arrivals = _arrived(last, fine) if last is not None else Arrivals(How.UNTOLD, why="nothing came")
        self.resolution = fine

    @property
    def usable(self) -> bool:
        """It is good, or was until we ended it: what is cut is another question's."""
        last = self.call.last
        return last is not None and (
            came_whole(self.call) or (by_us(last) and self.arrivals.how is How.FLOWS)
        )

    @property
    def looks_held(self) -> bool:
        seen = self.arrivals
        return self.usable and not seen.fluent and (seen.how in _HELD or seen.opening > 0)

    @property
    def flows(self) -> bool:
        """From its first token on; where it was fetched, what came before that was there already."""
        return self.usable and (self.arrivals.how is How.FLOWS or self.arrivals.fluent)

    @property
    def as_made(self) -> bool:
        """It flows, and its first token did not wait for others."""
        return self.flows and not self.arrivals.opening


def _arrived(exchange: Exchange, resolution: float) -> Arrivals:
    """A stream that flows, and stands still once or twice, comes in as many goes, which are no buffer's steps."""
    seen = arrivals(exchange, resolution)
    if seen.how not in {How.STEPS, How.UNTOLD} or not (still := silences(exchange, resolution)):
        return seen
    longest = max(silence.seconds for silence in still)
    return replace(seen, how=How.UNTOLD, why=f"it stands still for {duration(longest)} in its middle")


def held(call: Call) -> bool | None:
    """Whether a stream looks held; `None` where it says nothing."""
    looked = Looked(call)
    return looked.looks_held if looked.usable and looked.arrivals.how in _SEEN else None


def by_preference(case: Case) -> list[Client]:
    """The SDK that customers use first; HTTP/2 is asked for by itself."""
    return [client for client in preferred(case) if client.mode != "h2"]


def plain(case: Case, client: str, salt: str) -> Trial:
    ask = Ask(conversation(case.target), recipe="count", stream=True, cap=int(case.params["tokens"]))
    return Trial(
        f"buffering/{client}", client, case.route, ask, deadline=float(case.params["deadline"]), salt=salt
    )


def longer(trial: Trial, times: int) -> Trial:
    ask = trial.request
    assert isinstance(ask, Ask)
    return replace(trial, label=f"{trial.label}/longer", request=replace(ask, cap=times * ask.cap))


def shorter(trial: Trial, cap: int) -> Trial:
    ask = trial.request
    assert isinstance(ask, Ask)
    return replace(trial, label=f"{trial.label}/shorter", request=replace(ask, cap=cap))


def large(case: Case, trial: Trial) -> Trial:
    ask = trial.request
    assert isinstance(ask, Ask)
    sized = replace(ask, prompt_tokens=int(case.params["prompt_tokens"]))
    return replace(trial, label=f"{trial.label}/large", request=sized)


def others(case: Case, base: Trial, small: Trial) -> list[Other]:
    """The first that turns out to matter is claimed, so the closest cause comes first."""
    found = []
    ask = base.request
    assert isinstance(ask, Ask)
    if case.client(base.client).edits:
        edited = replace(ask, edits={**ask.edits, "accept-encoding": "identity"})
        found.append(
            Other(Factor.ACCEPT_ENCODING, replace(base, label=f"{base.label}/identity", request=edited))
        )
    if (pair := versions.both(case, base)) is not None:
        found.append(Other(Factor.HTTP_VERSION, pair[1], held=pair[0]))
    if base.request != small.request and isinstance(small.request, Ask) and ask.prompt_tokens:
        found.append(Other(Factor.SIZE, replace(small, salt=base.salt)))
    if ORIGIN in case.target.routes and case.route != ORIGIN:
        found.append(Other(Factor.ROUTE, replace(base, label=f"{base.label}/origin", route=ORIGIN)))
    return found
