"""Does it fail on a connection that idled, though it passes on a fresh one?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude
from probes.kinds.keepalive.reuse import BROKEN, Became, became, between, known_timers
from probes.kinds.reproduction.outcome import OUTCOME, REPRODUCED
from probes.kinds.reproduction.reply import paragraph
from probes.kinds.reproduction.rows import evidence
from probes.kinds.reproduction.rules import rule
from probes.kinds.reproduction.study import RAW, Question
from probes.kinds.words import shown
from probes.model import Confidence, Factor, Layer, Observed, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.kinds.reproduction.draft import Draft
    from probes.kinds.reproduction.study import Study
    from probes.model import Call, Finding, Trial

    Asks = Generator[Sequence[Trial], list[Call], "Idled"]

_AGAIN = 3
_STEPS = 3
"""Times that narrow the limit down."""
_WIDE = 1.3


@dataclass
class Idled:
    """`alive`: the longest idle after which the connection carried the request; `dead`: the shortest after which it was
    broken, with what was seen of that time.
    """

    alive: float = 0.0
    dead: float | None = None
    broken: list[Call] = field(default_factory=list)
    fresh: list[Call] = field(default_factory=list)
    outlived: int = 0
    """Connections that bore as long as one that broke, or longer."""
    tried: list[float] = field(default_factory=list)

    @property
    def said(self) -> str | None:
        if not self.tried:
            return None
        times = ", ".join(f"{seconds:g}" for seconds in self.tried)
        return f"on a connection that had idled {times} s it did not fail either"


def idled(study: Study, draft: Draft) -> Asks:
    """After growing times, each beside a fresh connection; then the time that broke it until it was seen three times, and
    times between.
    """
    found, session = Idled(), 0
    client = next((c.name for c in study.case.clients if c.kind == RAW[0]), None)
    if client is None:
        return found
    for seconds in sorted({float(each) for each in study.case.params["idle"]}):
        session += 1
        if not (yield from _after(study, found, draft, client, seconds, session)):
            return found
        if found.dead is not None:
            break
    while found.dead is not None and len(found.broken) < _AGAIN and session < 3 * _AGAIN:
        session += 1
        if not (yield from _after(study, found, draft, client, found.dead, session)):
            return found
    for _ in range(_STEPS if found.dead is not None else 0):
        if found.dead is None or found.dead <= _WIDE * max(found.alive, 0.1):
            break
        session += 1
        middle = round((found.alive + found.dead) / 2, 1)
        if not (yield from _after(study, found, draft, client, middle, session)):
            break
    return found


def _after(
    study: Study, found: Idled, draft: Draft, client: str, seconds: float, number: int
) -> Generator[Sequence[Trial], list[Call], bool]:
    """Whether it was asked: a connection is opened, idles, and is asked again beside a fresh one."""
    asked = replace(draft, client=client)
    session = f"idle.{number}"
    opens = Question(f"idle/open/{number}", asked, session)
    reuse = Question(f"idle={seconds:g}/reused", asked, session, seconds)
    fresh = Question(f"idle={seconds:g}/fresh", asked, None, seconds)
    first = yield from study.ask(opens)
    if first.not_sent is not None:
        return False
    calls = yield [study.trial(reuse), study.trial(fresh)]
    for question, call in zip((reuse, fresh), calls, strict=True):
        study.heard(question, call)
    one, other = (call.last for call in calls)
    if one is None or other is None:
        return False
    if seconds not in found.tried:
        found.tried.append(seconds)
    if became(one) in BROKEN and other.status is not None:
        found.dead = seconds if found.dead is None else min(found.dead, seconds)
        found.broken.append(calls[0])
        found.fresh.append(calls[1])
    elif became(one) is Became.ALIVE and found.dead is not None and seconds >= found.dead:
        found.outlived += 1
    elif became(one) is Became.ALIVE:
        found.alive = max(found.alive, seconds)
    return True


def stale(study: Study, found: Idled) -> Finding:
    """It is the connection: the request passes on a fresh one."""
    assert found.dead is not None
    dead, fresh = found.broken[0].last, found.fresh[0].last
    assert dead is not None
    assert fresh is not None
    k, n = len(found.broken), len(found.broken) + found.outlived
    sure = k >= _AGAIN and not found.outlived
    limit = f"below {found.alive:g} s" if found.alive else "shorter than the peer does, or not at all"
    advice = f"Customer: keep idle connections in the client's pool for {limit}, and repeat a request once that met a reset on a reused connection before any byte. Operator: let the idle timer of each hop be longer than that of the hop before it."
    rows = (
        (OUTCOME, f"{REPRODUCED} {k} of {n} on connections that had idled {found.dead:g} s or longer"),
        ("seen", f"on it {shown(dead)}; on a fresh one beside it {shown(fresh)}"),
        ("because", f"the connection alone: it breaks {between(found.alive or None, found.dead)} of idling, and no client can see that beforehand"),
        *known_timers(found.alive, found.dead),
        ("so", "no outage: clients whose pools keep connections for longer meet it now and then"),
        ("rule", rule(None, Factor.CONNECTION, "connection.stale", None, {})),
        ("customer", paragraph(dead, "connection.stale", Layer.NETWORK)),
    )  # fmt: skip
    return conclude(
        study.case, "connection.stale", dead, verdict=Verdict.FAIL, layer=Layer.UNKNOWN, product=None, detail=rows,
        title=f"Reproduced: a connection that idled {found.dead:g} s is dead when it is used again",
        factor=Factor.CONNECTION if sure else None, observed=Observed(k, n), control=fresh.id, variant=dead.id,
        confidence=Confidence.HIGH if sure else Confidence.LOW, reason=None if sure else Reason.TOO_FEW,
        advice=advice, evidence=evidence(study),
        next_test="the same straight to the origin (a route of its own), which tells whose timer it is",
    )  # fmt: skip
