"""After how long an idle does a request on the same connection meet a dead one?

A twin: the same request, after each idle time, on the connection that idled and on a fresh one; the factor is the
connection. A peer that closes an idle connection before it is used again does what HTTP allows: the client sees it and
opens another. What customers see as a fault is the connection that takes a request and is dead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.config import conversation
from probes.kinds.keepalive.findings import judged
from probes.kinds.keepalive.reuse import Idled, Life
from probes.kinds.spec import Bound, KindSpec
from probes.model import Ask, Trial
from probes.twins import REPEATS

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Flow

    Asking = Generator[Sequence[Trial], list[Call], list[Call]]
    """Gives the calls that were not sent."""

STEPS = (1.0, 4.0, 5.0, 6.0, 30.0, 60.0, 90.0)
"""Around the 5 s of many application servers and of httpx's own pool, then below and above the timers of proxies."""

_BETWEEN = 3
"""Times tried between the longest that was borne and the one that was not."""
_WIDE = 1.3
"""The one by the other, where that is worth it."""


def keepalive(case: Case) -> Flow:
    lives = [Life(client.name) for client in case.clients]
    unsent: list[Call] = yield from _step(case, lives, None)
    for seconds in (0.0, *sorted({float(s) for s in case.params["idle"]})):
        going = [life for life in lives if life.goes_on]
        if unsent or not going:
            break
        unsent = yield from _step(case, going, seconds)
    broken = [life for life in lives if life.idled and life.last.stale]
    if broken and not unsent:
        unsent = yield from _again(case, broken)
    return judged(case, lives, unsent)


def _step(case: Case, lives: Sequence[Life], seconds: float | None) -> Asking:
    """Each connection is opened (`None`), or used again after `seconds` beside a fresh one."""
    if seconds is None:
        calls = yield [_trial(case, life.client, "open", "kept") for life in lives]
        return _unsent(calls)
    calls = yield [trial for life in lives for trial in _pair(case, life.client, seconds, "kept")]
    for life, reuse, fresh in zip(lives, calls[::2], calls[1::2], strict=True):
        if not _unsent([reuse, fresh]):
            life.idled.append(Idled(seconds, reuse, fresh))
    return _unsent(calls)


def _again(case: Case, broken: Sequence[Life]) -> Asking:
    """The time that broke a connection, on as many others as make a sample, and times between it and the longest that was
    borne; they idle side by side, so that it takes no longer.
    """
    places = [(life, seconds, name) for life in broken for seconds, name in _places(life)]
    calls = yield [_trial(case, life.client, "open", name) for life, _, name in places]
    if _unsent(calls):
        return _unsent(calls)
    calls = yield [
        trial for life, seconds, name in places for trial in _pair(case, life.client, seconds, name)
    ]
    for (life, seconds, _), reuse, fresh in zip(places, calls[::2], calls[1::2], strict=True):
        if not _unsent([reuse, fresh]):
            step = Idled(seconds, reuse, fresh)
            (life.again if seconds == life.last.seconds else life.between).append(step)
    return _unsent(calls)


def _places(life: Life) -> list[tuple[float, str]]:
    """Idle times and the connections that they are tried on."""
    same = [(life.last.seconds, f"kept.{number}") for number in range(1, REPEATS)]
    return same + [(seconds, f"between.{n}") for n, seconds in enumerate(_between(life), 1)]


def _between(life: Life) -> list[float]:
    low, high = life.survived, life.last.seconds
    if not low or high / low < _WIDE:
        return []
    steps = (low + (high - low) * n / (_BETWEEN + 1) for n in range(1, _BETWEEN + 1))
    return [round(seconds, 1 if seconds < 10 else None) for seconds in steps]


def _unsent(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.not_sent is not None]


def _pair(case: Case, client: str, seconds: float, session: str) -> list[Trial]:
    reuse = replace(
        _trial(case, client, f"idle={seconds:g}/variant", session), start=seconds, pair=f"{client}/{session}"
    )
    return [reuse, replace(reuse, label=f"keepalive/{client}/idle={seconds:g}/control", session=None)]


def _trial(case: Case, client: str, what: str, session: str) -> Trial:
    """Refused before inference, so that no step costs a token."""
    ask = Ask(conversation(case.target), recipe="invalid", cap=1, key="target" if case.keyed else "made_up")
    return Trial(f"keepalive/{client}/{what}", client, case.route, ask, session=session)


def bound(case: Case) -> Bound:
    steps = sorted({0.0, *(float(s) for s in case.params["idle"])})
    each = 1 + 2 * len(steps) + 3 * (REPEATS - 1 + _BETWEEN)
    return Bound(each * len(case.clients), 2 * each * len(case.clients), sum(steps) + steps[-1])


SPEC = KindSpec(
    flow=keepalive,
    about="idle connections used again after growing times: from when on are they dead",
    bound=bound,
    defaults={"idle": list(STEPS)},
    limits={"idle": (0.1, 1800)},
    keyed=False,
    long=True,
)
