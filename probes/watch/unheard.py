"""Did nobody hear the API in a run, whoever asked, and is it for a reason of our own?"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from probes.attribution import is_api_answer, is_refusal
from probes.kinds import KINDS
from probes.kinds.by_us import by_us
from probes.kinds.conclude import is_good
from probes.memory.outcomes import asks
from probes.model import Layer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Exchange, Run

_IN_VAIN = frozenset({"deadline", "timeout"})
_OWN_KEY = frozenset({"ratelimited", "quota"})
_OUR_SIDE = frozenset({Layer.CLIENT, Layer.PROXY, Layer.PROBE})


def unheard(run: Run) -> list[Call]:
    """The calls that were to hear the API, where none of them did; else none."""
    asked = {case.id for case in run.cases if KINDS[case.kind].asks_api}
    calls = [call for call in run.calls if call.last is not None and call.case in asked]
    return [] if any(map(_heard, calls)) else calls


def of_our_doing(run: Run, calls: Sequence[Call]) -> bool:
    """Whether one of them was held back on our own key, kept by what stands on our side, or ended by us while it went
    on.
    """
    long = {case.id for case in run.cases if KINDS[case.kind].long}
    return any(_is_ours(call, long=call.case in long) for call in calls)


def is_limited_by_edge(calls: Sequence[Call]) -> bool:
    """Whether a rate limit in front of the API is all that they met."""
    met = [call.last.attribution for call in calls if call.last is not None]
    return bool(met) and all(
        made is not None and made.layer is Layer.EDGE and made.code.partition(".")[0] == "ratelimited"
        for made in met
    )


def is_refused(call: Call) -> bool:
    """By an answer. Where the API is to turn everybody down, a 403 in its form may be a WAF's."""
    last = call.last
    if last is None or last.status is None:
        return False
    return is_refusal(last) or (not asks(call) and last.status == HTTPStatus.FORBIDDEN)


def waited(exchange: Exchange) -> bool:
    """In vain, until our own limit."""
    return exchange.error is not None and exchange.error.kind in _IN_VAIN


def _heard(call: Call) -> bool:
    return is_good(call) or (call.last is not None and is_api_answer(call.last) and not is_refused(call))


def _is_ours(call: Call, *, long: bool) -> bool:
    last = call.last
    assert last is not None
    made = last.attribution
    if made is not None and (made.code.partition(".")[0] in _OWN_KEY or made.layer in _OUR_SIDE):
        return True
    return by_us(last) and (long or last.status is not None or not waited(last))
