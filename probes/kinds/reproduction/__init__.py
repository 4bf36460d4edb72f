"""Does the request that a customer told fail here, too?"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from probes.complaint import Told
from probes.kinds.asking import HTTPX
from probes.kinds.conclude import conclude, is_good, not_sent, outcome_code
from probes.kinds.reproduction.outcome import CANNOT, NOT_REPRODUCED, OUTCOME, REPRODUCED
from probes.kinds.spec import Bound, KindSpec
from probes.kinds.words import shown
from probes.model import Layer, NotSent, Observed, Raw, Reason, Trial, Verdict
from probes.twins import cells, unsent

if TYPE_CHECKING:
    from probes.model import Call, Case, Finding, Flow

REPEATS = 3
_PLAIN = frozenset({"authorization", "x-api-key", "api-key", "content-type", "anthropic-version"})


def reproduction(case: Case) -> Flow:
    told = case.params["told"]
    if not isinstance(told, Told):
        return [_cannot(case, "no request was told")]
    sender = next(c.name for c in case.clients if c.kind in {"curl", "raw_httpx"})
    path = _path(told)
    as_told = Raw(told.method, path, told.headers, told.body, rooted=True, secrets=told.secrets)
    kept = tuple(header for header in told.headers if header[0].lower() in _PLAIN)
    plain = (("user-agent", "curl/8.5.0"), ("accept", "*/*"), *kept)
    control = Raw(told.method, path, plain, told.body, rooted=True, secrets=told.secrets)
    asks = (
        Trial("control", sender, case.route, control),
        Trial("as_told", sender, case.route, as_told),
    )
    control_side, told_side = yield from cells(asks, lambda call: not is_good(call), REPEATS)
    calls = [*told_side.calls, *control_side.calls]
    if (why := unsent(calls)) is not None:
        return [_unfinished(case, why, calls)]
    answered = [call for call in told_side.calls if call.last is not None]
    if not answered:
        return [_cannot(case, "nothing was sent")]
    return [_told(case, answered, told_side.k, control_side.k)]


def _path(told: Told) -> str:
    parts = urlsplit(told.url)
    return f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"


def _told(case: Case, calls: list[Call], k: int, control_k: int) -> Finding:
    failed = next((call for call in calls if not is_good(call)), None)
    last = (failed or calls[-1]).last
    assert last is not None
    word = f"{REPRODUCED} {k} of {len(calls)}" if k else f"{NOT_REPRODUCED} in {len(calls)}"
    rows = (
        (OUTCOME, word),
        ("seen", shown(last)),
        ("beside", f"asked plainly, {control_k} of {REPEATS} failed"),
    )
    code = outcome_code(last) if k else "ok"
    verdict = Verdict.FAIL if k else Verdict.PASS
    return conclude(case, code, last, verdict=verdict, detail=rows, observed=Observed(k, len(calls)))


def _unfinished(case: Case, why: NotSent, calls: list[Call]) -> Finding:
    return not_sent(case, why, "asking as it was told", calls)


def _cannot(case: Case, said: str) -> Finding:
    rows = ((OUTCOME, f"{CANNOT}: {said}"),)
    return conclude(case, "not_measured", layer=Layer.PROBE, reason=Reason.TOO_FEW, detail=rows)


def _unfit(case: Case) -> str | None:
    told = isinstance(case.params.get("told"), Told)
    return None if told else "edgeprobe repro asks it, of the request that somebody told"


SPEC = KindSpec(
    flow=reproduction,
    about="whether a request that somebody told fails here, too, and what of it makes the difference",
    bound=lambda case: Bound(int(case.params["budget"]), 0, 60.0),
    defaults={"told": None, "budget": 60, "repeats": 5},
    limits={"budget": (1, 1000), "repeats": (1, 100)},
    unfit=_unfit,
    keyed=False,
    converses=False,
    brings=(HTTPX,),
)
