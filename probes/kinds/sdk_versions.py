"""From which version of an SDK on is something wrong, or up to which?

What `completion` and `streaming` find of each version, and beside it one table of all of them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from probes.kinds import completion, streaming
from probes.kinds.by_us import by_us
from probes.kinds.conclude import conclude, is_good, outcome_code
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.streaming import parsers
from probes.kinds.words import listed
from probes.model import Confidence, Layer, Observed, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from probes.model import Call, Case, Client, Finding, Flow, Trial

_ASKED = {"completion": completion.SPEC, "streaming": streaming.SPEC}
_WORST = (Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.ERROR, Verdict.FAIL)
_NOT_THE_VERSION = "It is not the version: the other findings of this case say what keeps all of them."
GOOD, MIXED = "ok", "now and then"
OURS = "not whole within the probe's own limit"
_UNKNOWN = {completion.NOT_ASKED, OURS}
"""What says nothing of a version."""


def sdk_versions(case: Case) -> Flow:
    calls: dict[str, list[Call]] = {}
    found: list[Finding] = []
    for kind, spec in _ASKED.items():
        asked = replace(case, kind=kind, params={**spec.defaults, **case.params})
        calls[kind] = []
        found += yield from _heard(asked, spec.flow(asked), calls[kind])
    rows = {client: _row(client, calls) for client in _in_order(case.clients)}
    return [replace(each, kind=case.kind) for each in [*_compared(case, rows, calls, found), *found]]


def _heard(case: Case, flow: Flow, kept: list[Call]) -> Generator[Sequence[Trial], list[Call], list[Finding]]:
    """The flow's findings; an answer that is good and that the SDK could not read counts as the SDK's failure."""
    try:
        step = next(flow)
        while True:
            came = [parsers.as_read(case, call) for call in (yield step)]
            kept += came
            step = flow.send(came)
    except StopIteration as done:
        found: list[Finding] = done.value
        return found


def _in_order(clients: Sequence[Client]) -> list[Client]:
    return sorted(clients, key=lambda c: (c.kind, c.package or "", numbers(c.version)))


def numbers(version: str | None) -> list[int]:
    """For comparing; `1.*` stands behind what it begins with."""
    parts = (version or "").split(".")
    return [int(part) if part.isdigit() else 1 << 30 for part in parts]


def _row(client: Client, calls: dict[str, list[Call]]) -> dict[str, str]:
    """Kind of question → what came of it, in a word."""
    return {
        kind: _outcome([c for c in some if c.trial.client == client.name]) for kind, some in calls.items()
    }


def _outcome(calls: Sequence[Call]) -> str:
    sent = [call for call in calls if call.not_sent is None]
    if not sent:
        return completion.NOT_ASKED
    bad = [_code(call) for call in sent if not is_good(call)]
    if not bad:
        return GOOD
    if all(call.last is not None and by_us(call.last) for call in sent if not is_good(call)):
        return OURS
    return bad[-1] if len(bad) == len(sent) else f"{bad[-1]} {MIXED}, {len(bad)} of {len(sent)}"


def _code(call: Call) -> str:
    if call.last is None:
        return "client.guard"
    status = f" {call.last.status}" if call.last.status not in {None, 200} else ""
    return f"{outcome_code(call.last)}{status}"


def _compared(
    case: Case,
    rows: dict[Client, dict[str, str]],
    calls: dict[str, list[Call]],
    found: Sequence[Finding],
) -> list[Finding]:
    """One finding with the table; none where nothing was asked."""
    told = {client: _told(row) for client, row in rows.items()}
    good = [client for client, said in told.items() if said == GOOD]
    bad = [client for client, said in told.items() if said not in {GOOD, *_UNKNOWN}]
    every = [call for some in calls.values() for call in some if call.last is not None]
    if not good and not bad:
        return []
    lines = [(_name(client), _line(client, row)) for client, row in rows.items()]
    more: dict[str, Any] = {
        "layer": Layer.UNKNOWN,
        "evidence": tuple(call.last.id for call in every if call.last is not None),
        "observed": Observed(len(bad), len(good) + len(bad)),
    }
    if not bad:
        left = [client.name for client, said in told.items() if said in _UNKNOWN]
        title = f"{len(good)} versions get what they ask for; not measured: {listed(left)}" if left else None
        title = title or f"all {len(good)} versions get what they ask for"
        return [conclude(case, "ok", title=title, detail=tuple(lines), **more)]
    if not good:
        more["advice"] = _NOT_THE_VERSION
    bounds = [said for group in _groups(told) if (said := _bound(group, told))]
    title = "; ".join(bounds) or _unbound(good, bad)
    mixed = any(MIXED in said for said in told.values())
    return [
        conclude(
            case,
            "client.versions",
            title=title,
            detail=tuple(lines),
            verdict=_verdict(found),
            confidence=Confidence.LOW if mixed else Confidence.MEDIUM,
            **more,
        )
    ]


def _told(row: dict[str, str]) -> str:
    """Of all that was asked of a version: the first that is bad, else the first that is not known to be good."""
    bad = [said for said in row.values() if said not in {GOOD, *_UNKNOWN}]
    return next(iter([*bad, *(said for said in row.values() if said != GOOD)]), GOOD)


def _line(client: Client, row: dict[str, str]) -> str:
    said = ", ".join(f"{kind} {outcome}" for kind, outcome in row.items())
    return f"{client.version}: {said}" if client.version else said


def _groups(told: dict[Client, str]) -> list[list[Client]]:
    """The versions of each package, the oldest first."""
    found: dict[tuple[str, str | None], list[Client]] = defaultdict(list)
    for client, said in told.items():
        if said not in _UNKNOWN:
            found[client.kind, client.package].append(client)
    return list(found.values())


def _bound(group: Sequence[Client], told: dict[Client, str]) -> str | None:
    """Where along its versions a package goes from one outcome to another, if it does so once."""
    if any(MIXED in told[client] for client in group):
        return None
    sides = [told[client] == GOOD for client in group]
    turns = [at for at in range(1, len(sides)) if sides[at] != sides[at - 1]]
    if len(turns) != 1:
        return None
    before, after = group[turns[0] - 1], group[turns[0]]
    name = _name(after)
    if sides[turns[0]]:
        return f"{name}: last bad {before.version}, first good {after.version}"
    return f"{name}: first bad {after.version}, last good {before.version}"


def _name(client: Client) -> str:
    """Of its package, without a version."""
    named = client.package or client.name
    return f"npm:{named}" if client.kind == "node_sdk" and named != "fetch" else named


def _unbound(good: Sequence[Client], bad: Sequence[Client]) -> str:
    names = listed([client.name for client in bad])
    if not good:
        return f"no version gets what it asks for: {names}"
    return f"{names} {'does' if len(bad) == 1 else 'do'} not get what {listed([c.name for c in good])} get"


def _verdict(found: Sequence[Finding]) -> Verdict:
    """The worst of what was found of them."""
    return max(
        (each.verdict for each in found if each.verdict in _WORST), key=_WORST.index, default=Verdict.WARN
    )


def bound(case: Case) -> Bound:
    each = [
        spec.bound(replace(case, kind=kind, params={**spec.defaults, **case.params}))
        for kind, spec in _ASKED.items()
    ]
    seconds = _EACH * len(case.clients)
    return Bound(sum(b.requests for b in each), sum(b.tokens for b in each), seconds)


_EACH = 4.0
"""Seconds of a plan for a version: two processes that import an SDK."""

SPEC = KindSpec(
    flow=sdk_versions,
    about="completions and streams through versions of SDKs, and from which on something is wrong",
    bound=bound,
    defaults={"cap": 16, "patience": 60.0},
    limits={"cap": (1, 100_000), "patience": (0.1, 3600)},
)
