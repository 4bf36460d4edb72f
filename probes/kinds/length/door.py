"""Which client is let in, and how fast is it answered?"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from probes.kinds.conclude import by_outcome, not_sent
from probes.kinds.length.judge import all_refused
from probes.kinds.length.pace import Pace, refuses_streams, short, tells
from probes.kinds.length.side import Side
from probes.model import Call, Finding, Trial
from probes.twins import one

if TYPE_CHECKING:
    from probes.model import Case, Client, Flow

Further = Generator[Sequence[Trial], list[Call], "list[Finding] | Call"]
"""What is found, or the call by which the client was turned away after all."""


def let_in(
    case: Case, clients: Sequence[Client], further: Callable[[Client, Pace, Iterator[str]], Further]
) -> Flow:
    """`further` with the first client that the edge does not turn away, its pace and fresh salts."""
    salts, refused = _fresh(case), list[Call]()
    for client in clients:
        call = yield from _short(case, client, salts)
        if call.not_sent is not None:
            return [not_sent(case, call.not_sent, "a short answer told the pace", [call])]
        if not Side(call).turned_away:
            if not tells(call):
                return by_outcome(case, [call], f"a short {'stream' if Side(call).streamed else 'answer'}")
            found = yield from further(client, Pace.of(call), salts)
            if isinstance(found, list):
                return found
            call = found
        refused.append(call)
    return [all_refused(case, refused)]


def _short(case: Case, client: Client, salts: Iterator[str]) -> Generator[Sequence[Trial], list[Call], Call]:
    """A short stream; where the API has no streams, a short answer that is none."""
    tokens = int(case.params["prompt_tokens"])
    call = yield from one(short(case, client, next(salts), tokens))
    if not refuses_streams(call):
        return call
    whole = yield from one(short(case, client, next(salts), tokens, "whole", stream=False))
    return whole if whole.not_sent is not None or tells(whole) else call


def _fresh(case: Case) -> Iterator[str]:
    """A nonce for each prompt, so that no prefix cache can answer for the model."""
    rng = case.rng
    while True:
        yield f"{rng.getrandbits(48):012x}"
