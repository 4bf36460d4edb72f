"""Is a stream that flows as SDKs ask for it, over HTTP/1.1, held back over HTTP/2?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes.kinds.buffering import findings as say
from probes.kinds.buffering import versions
from probes.kinds.buffering.findings import TO_THE_ORIGIN
from probes.kinds.buffering.trials import Looked, held
from probes.kinds.conclude import not_sent
from probes.model import Confidence, Factor, Layer, Observed, Reason
from probes.twins import REPEATS, Twin, cells, confounders, one

if TYPE_CHECKING:
    from probes.model import Case, Finding, Flow, Trial


def second(case: Case, base: Trial, first: Looked, looked: Looked) -> Flow:
    """Once, and three times beside HTTP/1.1 where it is."""
    fine = say.fine(case, first if first.as_made else looked, looked if looked.as_made else None)
    pair = versions.both(case, base)
    if pair is None:
        return [versions.without(fine, versions.why_not(case) or "")]
    by_1, by_2 = pair
    came = Looked((yield from one(by_2)))
    if came.call.not_sent is not None:
        return [fine, not_sent(case, came.call.not_sent, "asking over HTTP/2", [came.call])]
    if not came.looks_held or versions.not_agreed(came.call) is not None:
        why = versions.not_agreed(came.call) or came.arrivals.why or "it did not come whole"
        return [
            fine if came.as_made and versions.not_agreed(came.call) is None else versions.without(fine, why)
        ]
    control, variant = yield from cells((by_1, by_2), held, REPEATS)
    twin = Twin(control, variant)
    if twin.unsent is not None:
        return [fine, not_sent(case, twin.unsent, "repeating what HTTP/2 holds back")]
    return [_told(case, came, twin)]


def _told(case: Case, looked: Looked, twin: Twin) -> Finding:
    control, variant = twin.control.calls[-1].last, twin.variant.calls[-1].last
    if not twin.claimed or control is None or variant is None:
        return say.unclear(
            case, looked, "The stream flows over HTTP/1.1, and whether HTTP/2 holds it back can't be told",
            f"{twin.variant.k} of {twin.variant.n} held over HTTP/2, {twin.control.k} of {twin.control.n} over HTTP/1.1",
            reason=Reason.MIXED,
        )  # fmt: skip
    because = f"the same stream flows over HTTP/1.1, {twin.control.n - twin.control.k} of {twin.control.n}"
    return say.held_back(
        case, looked, (("because", because),), when="over HTTP/2 alone", layer=Layer.UNKNOWN,
        factor=Factor.HTTP_VERSION, control=control.id, variant=variant.id,
        confounders=confounders(control, variant, say.meant(Factor.HTTP_VERSION)),
        observed=Observed(twin.variant.k, twin.variant.n), confidence=Confidence.HIGH,
        next_test=TO_THE_ORIGIN,
    )  # fmt: skip
