"""Does it fail on a connection that idled, though it passes on a fresh one?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude
from probes.kinds.keepalive.reuse import BROKEN, Became, became, between, known_timers
from probes.kinds.reproduction.evidence import Evidence, Tally
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

_AT_ONCE = 3
"""Connections that idle beside each other for the same time, and how often the breaking is seen."""
_TURNS = 3
"""Of asking after one time, until that was so."""
_STEPS = 3
"""Times that narrow the limit down."""
_WIDE = 1.3
_LUCK = 0.01
"""Chance of connections to have borne a time after which they break now and then."""


@dataclass
class Idled:
    """`evidence`: by the seconds of idling, whether the connection broke. `survivors`: sessions whose connection can be
    asked again. `flawed`: fresh connections got no answer either.
    """

    evidence: Evidence = field(default_factory=Evidence)
    broken: list[Call] = field(default_factory=list)
    fresh: list[Call] = field(default_factory=list)
    tried: list[float] = field(default_factory=list)
    survivors: list[str] = field(default_factory=list)
    opened: int = 0
    flawed: bool = False

    @property
    def dead(self) -> float | None:
        """The shortest idle after which a connection was broken."""
        return min((seconds for seconds in self.tried if self.evidence.of(seconds).k), default=None)

    @property
    def seen(self) -> Tally:
        """Broken of those that idled so long or longer."""
        longer = [self.evidence.of(each) for each in self.tried if each >= (self.dead or 0.0)]
        return Tally(sum(each.k for each in longer), sum(each.n for each in longer))

    @property
    def alive(self) -> float:
        """The longest idle that connections bore so often that chance explains it no longer; what bore more, bore it too."""
        enough, passes = self.evidence.enough(_LUCK), 0
        for seconds in sorted(self.tried, reverse=True):
            if self.dead is None or seconds < self.dead:
                passes += self.evidence.of(seconds).n
                if passes >= enough:
                    return seconds
        return 0.0

    @property
    def said(self) -> str | None:
        if not self.tried:
            return None
        times = ", ".join(f"{seconds:g}" for seconds in self.tried)
        return f"on a connection that had idled {times} s it did not fail either"


def idled(study: Study, draft: Draft) -> Asks:
    """After growing times, on some connections at once beside a fresh one; then the time that broke them until it was
    seen three times, and times between.
    """
    found = Idled()
    client = next((c.name for c in study.case.clients if c.kind == RAW[0]), None)
    if client is None:
        return found
    asked = replace(draft, client=client)
    for seconds in sorted({float(each) for each in study.case.params["idle"]}):
        if not (yield from _after(study, found, asked, seconds)):
            return found
        if found.dead is not None:
            break
    for _ in range(_TURNS - 1):
        if found.dead is not None and found.seen.k < _AT_ONCE:
            yield from _after(study, found, asked, found.dead)
    for _ in range(_STEPS):
        dead = found.dead or 0.0
        shorter = max((each for each in found.tried if each < dead), default=0.0)
        if dead <= _WIDE * max(shorter, 0.1):
            break
        if not (yield from _after(study, found, asked, round((shorter + dead) / 2, 1))):
            break
    return found


def _after(
    study: Study, found: Idled, asked: Draft, seconds: float
) -> Generator[Sequence[Trial], list[Call], bool]:
    """Whether it was asked: connections are opened, idle, and are asked again beside a fresh one."""
    names = [f"idle.{found.opened + number}" for number in range(1, _AT_ONCE - len(found.survivors) + 1)]
    found.opened += len(names)
    first = yield from _all(study, [Question(f"idle/open/{name}", asked, name) for name in names])
    if any(call.last is None for call in first):
        return False
    sessions = [*found.survivors, *names]
    reused = [Question(f"idle={seconds:g}/reused/{name}", asked, name, seconds) for name in sessions]
    *calls, beside = yield from _all(
        study, [*reused, Question(f"idle={seconds:g}/fresh", asked, None, seconds)]
    )
    if beside.last is None or any(call.last is None for call in calls):
        return False
    if seconds not in found.tried:
        found.tried.append(seconds)
    found.flawed = found.flawed or any(
        call.last is not None and call.last.status is None for call in (*first, beside)
    )
    found.survivors = []
    for session, call in zip(sessions, calls, strict=True):
        assert call.last is not None
        what = became(call.last)
        if what in BROKEN and beside.last.status is not None:
            found.evidence.note(seconds, failed=True)
            found.broken.append(call)
            found.fresh.append(beside)
        elif what is Became.ALIVE:
            found.evidence.note(seconds, failed=False)
        if call.last.status is not None:
            found.survivors.append(session)
    if found.dead is not None:
        found.evidence.implied.update(each for each in found.tried if each > found.dead)
    return True


def _all(study: Study, questions: list[Question]) -> Generator[Sequence[Trial], list[Call], list[Call]]:
    calls = (yield [study.trial(question) for question in questions]) if questions else []
    for question, call in zip(questions, calls, strict=True):
        study.heard(question, call)
    return calls


def stale(study: Study, found: Idled) -> Finding:
    """It is the connection: the request passes on a fresh one."""
    assert found.dead is not None
    dead, fresh = found.broken[0].last, found.fresh[0].last
    assert dead is not None
    assert fresh is not None
    k, n = found.seen.k, found.seen.n
    sure = k >= _AT_ONCE and not found.flawed
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
        confidence=Confidence.LOW if not sure else Confidence.HIGH if k == n else Confidence.MEDIUM, reason=None if sure else Reason.TOO_FEW,
        advice=advice, evidence=evidence(study),
        next_test="the same straight to the origin (a route of its own), which tells whose timer it is",
    )  # fmt: skip
