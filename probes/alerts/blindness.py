"""Is anything seen at all, and if not, why?"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from probes.alerts.text import Words
from probes.canary import Missed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.canary import Turn
    from probes.model import Finding

_NAMED = 4
_PLANNED = frozenset({Missed.SAMPLED, Missed.DRAINED})
"""Not run on purpose: neither seen nor unseen."""
_DO: dict[str, str] = {
    Missed.OVERLAP: "give the entry a longer interval, or let it ask less: it takes longer than that",
    Missed.BUDGET: "raise the day's budget of the target, or ask less often",
    Missed.PAUSED: "ask for a higher limit of the probe's own key, or ask less often; customers' keys have their own. "
    "`edgeprobe store resume {target}` ends the pause at once",
    Missed.LATE: "see why the canary did not run at that time: the machine slept, or its clock was set",
    Missed.ERROR: "run `edgeprobe validate --env` on the canary's machine",
}

_READ = "read the run's report: it says why nothing is proven"


def is_blind(turn: Turn) -> bool | None:
    """Whether a turn that was to look saw nothing; `None` where it was not to look."""
    if turn.missed in _PLANNED:
        return None
    return not turn.conclusive


def counted(before: str | None, turn: Turn) -> str:
    """The reasons so far, this turn's first."""
    counts = Counter(json.loads(before) if before else {})
    now = {turn.why: counts.pop(turn.why, 0) + 1}
    return json.dumps(now | dict(counts.most_common(49)))  # as many as anybody reads, however long it lasts


def kinds(counts: str | None) -> list[str]:
    """Of what kind the reasons are that were counted, what it is now first: their words may differ at each turn."""
    words = (why.split(maxsplit=1)[0].rstrip(":") for why in json.loads(counts or "{}"))
    return list(dict.fromkeys(word if word in set(Missed) else "not conclusive" for word in words))


def cause(finding: Finding) -> str:
    """The reason of a turn that proved nothing for the sake of this."""
    return f"{finding.code}: {finding.title}"


def words(counts: str, turn: Turn, findings: Sequence[Finding] = ()) -> Words:
    """The reasons that were counted: what it is now, and then the most frequent first. `findings`: of the turn's run,
    where the one that is its reason knows what to do.
    """
    reasons = list(json.loads(counts).items())
    named = [f"{n} x {why}" for why, n in reasons[:_NAMED]]
    more = sum(n for _, n in reasons[_NAMED:])
    told = next((f for f in findings if turn.missed is None and cause(f) == turn.reason and f.advice), None)
    do = told.advice if told else _DO.get(kinds(counts)[0], _READ).format(target=turn.target)
    who = (told.who_acts if told else None) or "operator"
    return Words(
        "what customers see is unknown",
        (
            ("seen", "nothing conclusive, neither an outage nor its absence"),
            ("because", "; ".join([*named, *([f"{more} x other"] if more else [])])),
        ),
        f"{who}: {do}",
    )
