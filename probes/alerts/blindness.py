"""Is anything seen at all, and if not, why?"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from probes.alerts.text import Words
from probes.canary import Missed

if TYPE_CHECKING:
    from probes.canary import Turn

_NAMED = 4
_PLANNED = frozenset({Missed.SAMPLED, Missed.DRAINED})
"""Not run on purpose: neither seen nor unseen."""
_DO = {
    Missed.OVERLAP: "give the entry a longer interval, or let it ask less: it takes longer than that",
    Missed.BUDGET: "raise the day's budget of the target, or ask less often",
    Missed.PAUSED: "ask for a higher limit of the probe's own key, or ask less often; customers' keys have their own",
    Missed.LATE: "see why the canary did not run at that time: the machine slept, or its clock was set",
    Missed.ERROR: "run `edgeprobe validate --env` on the canary's machine",
}


def is_blind(turn: Turn) -> bool | None:
    """Whether a turn that was to look saw nothing; `None` where it was not to look."""
    if turn.missed in _PLANNED:
        return None
    return not turn.conclusive


def counted(before: str | None, turn: Turn) -> str:
    """The reasons so far, with this turn's."""
    counts = Counter(json.loads(before) if before else {})
    counts[_why(turn)] += 1
    return json.dumps(dict(counts.most_common(50)))  # as many as anybody reads, however long it lasts


def _why(turn: Turn) -> str:
    word = turn.missed.value if turn.missed is not None else str(turn.verdict or "inconclusive")
    return f"{word}: {turn.reason}" if turn.reason else word


def words(counts: str) -> Words:
    """The reasons that were counted, the most frequent first."""
    reasons = Counter(json.loads(counts)).most_common()
    named = [f"{n} x {why}" for why, n in reasons[:_NAMED]]
    more = sum(n for _, n in reasons[_NAMED:])
    kinds = [Missed(word) for why, _ in reasons if (word := why.partition(":")[0]) in set(Missed)]
    do = (
        _DO[kinds[0]] if kinds and kinds[0] in _DO else "read the run's report: it says why nothing is proven"
    )
    return Words(
        "what customers see is unknown",
        (
            ("seen", "nothing conclusive, neither an outage nor its absence"),
            ("because", "; ".join([*named, *([f"{more} x other"] if more else [])])),
        ),
        f"operator: {do}",
    )
