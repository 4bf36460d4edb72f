"""Does a streamed answer come back whole, with its end marker, through each client, and how fast?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.budget import PROMPT_TOKENS
from probes.config import conversation
from probes.kinds.completion import (
    AGAIN,
    ANSWER_PATIENCE,
    MOST_REPEATS,
    NOT_ASKED,
    asked_for,
    judged_or_astray,
)
from probes.kinds.completion import bound as bound_of_one
from probes.kinds.conclude import by_outcome, conclude, is_good
from probes.kinds.promised import missed
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.streaming import ends, parsers, seen, silences, usage
from probes.kinds.streaming.baseline import CAP, PROOFS, learn
from probes.kinds.streaming.by_route import by_route, pairs
from probes.kinds.streaming.clocks import timed
from probes.model import Ask, Reason, Verdict
from probes.samples import stalled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.model import Call, Case, Finding, Flow

RECIPES = ("hello", "count", "script", "tool")
_WHAT = {
    "hello": "a stream",
    "count": "a stream",
    "script": "a stream of many scripts",
    "tool": "a streamed tool call",
}


def streaming(case: Case) -> Flow:
    recipe = str(case.params["recipe"])
    ask = Ask(conversation(case.target), recipe=recipe, stream=True, cap=int(case.params["cap"]))  # type: ignore[arg-type]
    calls = yield from asked_for(case, ask, None if recipe == "hello" else f"{case.kind}/{recipe}")
    if recipe == "tool" and (declined := _declined(case, calls)) is not None:
        return [declined]
    calls, proof = yield from learn(case, calls)
    calls = as_read(case, calls)
    found = yield from judged_or_astray(case, calls, _WHAT[recipe])
    found = yield from by_route(case, calls, told(case, calls, found, _WHAT[recipe], proof))
    return found + _promised(case, calls)


def as_read(case: Case, calls: Sequence[Call]) -> list[Call]:
    """With the good streams that their own SDK could not read told as its failure."""
    return [parsers.as_read(case, call) for call in calls]


def told(
    case: Case, calls: Sequence[Call], found: Sequence[Finding], what: str, proof: str | None = None
) -> list[Finding]:
    """What was found of streams by their outcome, with all that there is to say beside it, and of it. A stream that came
    whole and is told of for something else is not told as good.
    """
    marred = [
        *usage.uncounted(case, calls),
        *usage.counted_twice(case, calls),
        *usage.implausible(case, calls),
    ]
    marred += silences.stood(case, calls)
    kept, left = _but(case, calls, found, marred, what)
    whole = [_told(case, finding, _own(finding, calls), proof) for finding in kept]
    return _with(left, [*whole, *parsers.unsafe(case, calls), *_clocked(calls, marred, proof)])


def _own(finding: Finding, calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.last is not None and call.last.id in finding.evidence]


def _but(
    case: Case, calls: Sequence[Call], found: Sequence[Finding], marred: Sequence[Finding], what: str
) -> tuple[list[Finding], list[tuple[str, str]]]:
    """Without the good streams that `marred` tells of, and the rows on who was not asked that went with them."""
    odd = {name for finding in marred for name in finding.evidence}
    kept: list[Finding] = []
    left: list[tuple[str, str]] = []
    for finding in found:
        own = _own(finding, calls)
        clean = [call for call in own if call.last is not None and call.last.id not in odd]
        if finding.verdict is not Verdict.PASS or len(clean) == len(own):
            kept.append(finding)
        else:
            kept += by_outcome(case, clean, what)
            left += [row for row in finding.detail if row[0] == NOT_ASKED]
    return kept, left


def _with(rows: Sequence[tuple[str, str]], found: list[Finding]) -> list[Finding]:
    return [replace(found[0], detail=(*found[0].detail, *rows)), *found[1:]] if rows and found else found


def _clocked(calls: Sequence[Call], marred: Sequence[Finding], proof: str | None) -> list[Finding]:
    """With the clocks of their streams, each at its first."""
    told: set[str] = set()
    found = []
    for finding in marred:
        own = [call for call in _own(finding, calls) if call.id not in told]
        told |= {call.id for call in own}
        found.append(_timed(finding, own, proof) if own else finding)
    return found


def _told(case: Case, finding: Finding, own: Sequence[Call], proof: str | None) -> Finding:
    """With the clocks of what is good, and with what else there is to say of the end and the bytes."""
    found = replace(finding, figures={**finding.figures, **ends.figures(finding, own)})
    if finding.verdict is Verdict.PASS or finding.code == "stream.no_end":
        found = _timed(found, own, proof)
    rows = seen.rows(finding, own, parsers.sdk_clients(case))
    found = replace(found, **seen.otherwise(finding, own), detail=(*found.detail, *rows))
    return parsers.told(found, own)


def _timed(finding: Finding, own: Sequence[Call], proof: str | None) -> Finding:
    exchanges = [call.last for call in own if call.last is not None]
    measured = timed(own)
    rows = [*measured.rows, *usage.parts(exchanges), *(usage.rows(exchanges[-1]) if exchanges else ())]
    rows += [("no reason", f"no finish reason comes, as always from this endpoint: {proof}")] if proof else []
    return replace(
        finding,
        detail=(*finding.detail, *rows),
        figures={**measured.figures, **finding.figures},
        conditions={**finding.conditions, **measured.conditions},
    )


def _promised(case: Case, calls: Sequence[Call]) -> list[Finding]:
    """Of streams whose clock we can trust; where none is left, that is said."""
    good = [call for call in calls if is_good(call)]
    clean = [call for call in good if not _late(call)]
    slo = case.target.slo
    if good and not clean and (slo.ttft is not None or slo.tpot is not None):
        return [
            conclude(
                case,
                "probe.tainted",
                reason=Reason.TAINTED,
                title="What was promised was not measured: this process itself ran late",
                evidence=tuple(call.last.id for call in good if call.last is not None),
            )
        ]
    return missed(case, clean)


def _late(call: Call) -> bool:
    marks = () if call.last is None else (call.last.timeline.upload_start, call.last.timeline.first_token)
    return any(at is not None and call.last is not None and stalled(call.last, at) for at in marks)


def _declined(case: Case, calls: Sequence[Call]) -> Finding | None:
    """An API that takes no tools and says so itself is in order."""
    refusals = [call.last for call in calls if call.last is not None and _refuses(call)]
    if not calls or len(refusals) < len(calls):
        return None
    return conclude(
        case,
        "ok",
        refusals[-1],
        title="a request with tools is declined in the API's own words",
        detail=(
            ("seen", f"status {refusals[-1].status} for a request with a tool: tool calls were not tested"),
        ),
        evidence=tuple(exchange.id for exchange in refusals),
    )


def _refuses(call: Call) -> bool:
    made = call.last.attribution if call.last is not None else None
    return made is not None and made.code == "request.rejected"


def bound(case: Case) -> Bound:
    once = bound_of_one(case)
    proofs, twins = 1 + PROOFS, 2 * pairs(case)
    each = PROMPT_TOKENS + int(case.params["cap"])
    tokens = once.tokens + proofs * CAP * (1 + AGAIN) + twins * each
    return Bound(once.requests + proofs + twins, tokens, once.seconds)


SPEC = KindSpec(
    flow=streaming,
    about="a streamed completion, proven by its end marker, with its clocks",
    bound=bound,
    defaults={"cap": 32, "patience": ANSWER_PATIENCE, "recipe": "hello", "deadline": None, "repeats": 1},
    limits={
        "cap": (1, 100_000),
        "patience": (0.1, 3600),
        "recipe": RECIPES,
        "deadline": (0.1, 3600),
        "repeats": (1, MOST_REPEATS),
    },
)
