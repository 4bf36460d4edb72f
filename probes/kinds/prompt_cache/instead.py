"""What is told where nothing can be said of a cache, or besides it?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.kinds.conclude import conclude
from probes.kinds.prompt_cache.ahead import bound
from probes.kinds.prompt_cache.evidence import READS
from probes.kinds.prompt_cache.findings import LONGER, STRAIGHT, conditions, rates, rows
from probes.kinds.prompt_cache.judge import judge
from probes.kinds.words import shown
from probes.model import Confidence, Layer, Observed, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.prompt_cache.evidence import Tried
    from probes.kinds.prompt_cache.judge import Evidence
    from probes.kinds.prompt_cache.search import Place
    from probes.model import Call, Case, Finding

_FEWEST = 500


def so_far(case: Case, unsent: Finding, bad: Sequence[Call], seen: Evidence, warm_up: int) -> Finding:
    """Not measured to its end, with what was measured and the budget that suffices for all."""
    budget, most = case.target.budget.tokens, bound(case).tokens
    told = any(call.conditions.get("because") or call.conditions.get("overran") for call in bad)
    if unsent.reason is Reason.BUDGET and not told and budget is not None and budget < most:
        unsent = replace(unsent, advice=f"Give this suite alone --max-tokens-total {most}, which is enough.")
    if not seen.tried.reads():
        return unsent
    measured = [(name, text) for name, text in rows(seen, judge(seen), {}, warm_up) if name != "because"]
    return replace(
        unsent,
        detail=(*unsent.detail, *(("so far" if name == "seen" else name, text) for name, text in measured)),
        figures={**rates(seen), **seen.timed.figures},
        conditions=conditions(seen),
    )


def wrong_usage(case: Case, tried: Tried) -> list[Finding]:
    """Whoever bills by it bills wrong, whatever the cache does."""
    if not tried.wrong:
        return []
    last, among = tried.wrong[-1], tried.of("cold", *READS)
    return [
        conclude(
            case, "stream.usage_wrong", last.call.last, layer=Layer.UNKNOWN, product=None, client=last.call.trial.client,
            confidence=Confidence.HIGH, observed=Observed(len(tried.wrong), len(among)), next_test=STRAIGHT,
            detail=(("seen", f"usage counts {', '.join(last.wrong)}"),),
            evidence=tuple(each.call.last.id for each in tried.wrong if each.call.last is not None),
        )
    ]  # fmt: skip


def too_long(case: Case, place: Place, call: Call) -> Finding:
    """Of the shortest prompt that is worth asking: its length is the probe's choice."""
    fewer = max(_FEWEST, place.refused // 2)
    return conclude(
        case, "not_measured", call.last, layer=Layer.PROBE, product=None, client=call.trial.client, reason=Reason.STOPPED_EARLY,
        title=f"The API takes no prompt of about {place.refused:,} tokens, so its prompt cache is not known",
        advice=LONGER if place.refused <= _FEWEST else f"Ask for shorter prompts: --set prompt_tokens={fewer}.",
        detail=(("seen", shown(call.last)),) if call.last is not None else (), next_test=None,
    )  # fmt: skip
