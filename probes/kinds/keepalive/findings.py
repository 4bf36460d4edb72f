"""What is concluded of connections that idled?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.by_us import by_us
from probes.kinds.conclude import conclude, not_sent, outcome_code
from probes.kinds.keepalive.reuse import Became, between, known_timers, why_not_kept
from probes.kinds.words import listed, shown
from probes.model import Confidence, Factor, Figure, Layer, Observed, Reason, Verdict
from probes.twins import REPEATS, Side, Twin, confounders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.keepalive.reuse import Life
    from probes.model import Call, Case, Exchange, Finding

_WORDS = {"closed": "closed it", "reset": "reset it", "data": "sent a last word on it"}
_LIVES = "Keep idle connections in a client's pool for less time than the peer does"


def judged(case: Case, lives: Sequence[Life], unsent: Sequence[Call]) -> list[Finding]:
    """One finding for each client; a connection that broke stays broken, whatever was not sent after it."""
    missing = {call.trial.client: call.not_sent for call in unsent}
    found: list[Finding] = []
    for life in lives:
        why = missing.get(life.client)
        if life.idled and life.last.stale:
            found.append(_stale(case, life))
        elif why is None:
            found.append(_unbroken(case, life))
        if why is not None:
            found.append(not_sent(case, why, f"letting a connection of {life.client} idle"))
    return found


def _stale(case: Case, life: Life) -> Finding:
    said = [step for step in life.samples if step.answered_fresh]
    bad = [step for step in said if step.stale]
    dead, fresh = bad[0].reuse.last, bad[0].fresh.last
    assert dead is not None
    assert fresh is not None
    reuse = Side(len(bad), len(said), tuple(step.reuse for step in said))
    twin = Twin(Side(0, len(said), tuple(step.fresh for step in said)), reuse)
    after, silent = f"{life.last.seconds:g} s", bad[0].became is Became.SILENT
    because = (
        "something on the way forgot the idle connection without a word, so a client waits until its own limit"
        if silent
        else "nothing had ended the connection when the request was written on it, so no client can see it beforehand"
    )
    survived = life.survived or 0.0
    return conclude(
        case, "connection.stale", dead,
        layer=Layer.UNKNOWN,
        product=None,
        client=life.client,
        factor=Factor.CONNECTION if twin.claimed else None,
        observed=Observed(len(bad), len(said)),
        control=twin.control.evidence,
        variant=twin.variant.evidence,
        confounders=tuple(c for c in confounders(fresh, dead) if c != "connection differs"),
        title=f"A connection that idled {after} is dead when it is used again",
        detail=(
            ("seen", f"on it {shown(dead)}, {len(bad)} of {len(said)}; on a fresh one beside it {shown(fresh)}"),
            ("because", because),
            *known_timers(survived, life.dead_after),
            ("cliff", _cliff(life)),
        ),
        figures=_figures(life, "cliff"),
        conditions={**dead.conditions, "client": "warm", "cache": "unknown", "concurrency": 2},
        confidence=_confidence(len(said), claimed=twin.claimed, silent=silent),
        reason=None if len(bad) == len(said) else Reason.MIXED,
        next_test="the same straight to the origin (a route of its own), which tells whose timer it is",
        advice=f"{_LIVES}: below {survived:g} s. The operator: let the idle timer of each hop be longer than that of "
        "the hop before it, and end an idle connection by a close." if survived else f"{_LIVES}, or don't reuse them.",
        evidence=life.evidence,
    )  # fmt: skip


def _confidence(n: int, *, claimed: bool, silent: bool) -> Confidence:
    """A silence is ended by our own limit, which is nobody's timer."""
    if not claimed or n < REPEATS:
        return Confidence.LOW
    return Confidence.MEDIUM if silent else Confidence.HIGH


def _cliff(life: Life) -> str:
    if life.survived is None:
        return f"dead after {life.dead_after:g} s already"
    good = "used again at once" if life.survived == 0 else f"good after {life.survived:g} s"
    return f"{good}, dead after {life.dead_after:g} s"


def _unbroken(case: Case, life: Life) -> Finding:
    """No connection took a request and was dead; how far that goes is said."""
    if not life.idled:
        return conclude(case, "not_measured", layer=Layer.PROBE, client=life.client, reason=Reason.TOO_FEW)
    last, survived = life.last, life.survived
    exchange = last.reuse.last
    if last.became in {Became.OTHER, Became.CUT, Became.SILENT} or exchange is None:
        return _other(case, life)
    if survived is None:
        return _never_kept(case, life, exchange)
    if last.became is Became.ALIVE:
        return _good(
            case,
            life,
            exchange,
            f"A connection that idled {survived:g} s is still good; not tested beyond",
            (),
        )
    if last.became is Became.CLOSED:
        did = _WORDS.get(str(exchange.conditions.get("idle_end")), "closed it")
        bracket = between(survived, last.seconds)
        seen = f"after {last.seconds:g} s the peer had {did}; {life.client} saw that and opened another"
        rows = (("seen", seen), *known_timers(survived, last.seconds),
                ("so", f"pools that keep idle connections for less than {survived:g} s never meet it")
                if survived else ("so", "hardly any connection is used twice"))  # fmt: skip
        return _good(case, life, exchange, f"Idle connections are closed in the open, {bracket}", rows)
    return _dropped(case, life, exchange, survived)


def _dropped(case: Case, life: Life, exchange: Exchange, survived: float) -> Finding:
    """The client's own pool gave the connection up first, so this client can meet nothing older."""
    why = f"after {life.last.seconds:g} s {life.client} opened another: its own pool gave the old one up, or hides its close"
    if survived == 0:
        return conclude(
            case, "not_measured", layer=Layer.CLIENT, client=life.client, reason=Reason.TOO_FEW,
            title=f"{life.client} did not use an idle connection again", detail=(("seen", why),),
            advice="Ask for shorter idle times (--set idle=1,4), or with httpx, whose pool keeps them.",
            evidence=life.evidence,
        )  # fmt: skip
    title = f"{life.client} uses idle connections again up to {survived:g} s, and they are good"
    return _good(case, life, exchange, title, (("seen", why),))


def _good(
    case: Case, life: Life, exchange: Exchange, title: str, rows: tuple[tuple[str, str], ...]
) -> Finding:
    """Whatever was answered, such as a made-up key refused, the connection carried it."""
    detail = rows or (("seen", f"on the idle connection: {shown(exchange)}"),)
    return conclude(
        case, "ok", exchange,
        client=life.client,
        observed=Observed(0, len(life.idled)),
        title=title,
        detail=detail,
        figures=_figures(life, "closed" if life.last.became is Became.CLOSED else None),
        conditions={**exchange.conditions, "client": "warm", "cache": "unknown", "concurrency": 2},
        confidence=Confidence.LOW if len(life.samples) < REPEATS else Confidence.MEDIUM,
        next_test=None,
        evidence=life.evidence,
    )  # fmt: skip


def _figures(life: Life, end: str | None) -> dict[str, Figure]:
    """`survived`: the longest idle that was borne; `end`: the shortest that was not, with the one before as its low."""
    survived, found = life.survived, {}
    if survived is not None:
        found["survived"] = Figure(survived, "s", 1)
    if end is not None:
        samples = len(life.samples) if life.dead_after == life.last.seconds else 1
        found[end] = Figure(life.dead_after, "s", samples, survived or 0.0, life.dead_after)
    return found


def _never_kept(case: Case, life: Life, exchange: Exchange) -> Finding:
    return conclude(
        case, "not_measured", layer=Layer.UNKNOWN, client=life.client, reason=Reason.TOO_FEW,
        title=f"No connection of {life.client} is used twice, so none can be found dead",
        detail=(("seen", f"a second request right after the first came on a new connection: {why_not_kept(exchange)}"),),
        advice="Let the server keep connections open, or take a client that does; a handshake for each request costs customers time.",
        conditions=dict(exchange.conditions),
        evidence=life.evidence,
    )  # fmt: skip


def _other(case: Case, life: Life) -> Finding:
    """Not the idling: the fresh connection failed as well, or what failed was not the connection that idled."""
    last = life.last
    both = [("idle", last.reuse), ("fresh", last.fresh)]
    failed: list[Any] = [call.last for _, call in both if call.last is not None and call.last.status is None]
    seen = "; ".join(f"{name}: {shown(call.last) if call.last else _raised(call)}" for name, call in both)
    if not failed:
        return conclude(
            case, "client.guard", layer=Layer.CLIENT, client=life.client, detail=(("seen", seen),),
            title=f"{listed([life.client])} refused to send", evidence=life.evidence,
        )  # fmt: skip
    ours = {"verdict": Verdict.INCONCLUSIVE, "reason": Reason.UNAVAILABLE} if by_us(failed[-1]) else {}
    return conclude(
        case, outcome_code(failed[-1]), failed[-1],
        client=life.client,
        title=f"After {last.seconds:g} s more failed than the idle connection",
        detail=(("seen", seen),),
        confidence=Confidence.LOW,
        evidence=life.evidence,
        **ours,
    )  # fmt: skip


def _raised(call: Call) -> str:
    return f"{call.raised.type}: {call.raised.text}" if call.raised else "nothing"
