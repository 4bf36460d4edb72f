"""How is what the prompt cache does put into a finding?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude
from probes.kinds.prompt_cache import ages
from probes.kinds.prompt_cache.evidence import WAYS, rate, told
from probes.kinds.prompt_cache.judge import ORIGIN, counted
from probes.kinds.words import duration
from probes.model import Figure, Layer, Observed, Reason, WhoActs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from probes.kinds.prompt_cache.evidence import Tried
    from probes.kinds.prompt_cache.judge import Evidence, Judged
    from probes.kinds.prompt_cache.trials import Asked
    from probes.model import Case, Finding

_ON = {"new": "on a new connection", "kept": "on that of the write", "key": "with a prompt_cache_key"}
_TITLES = {
    "ok": "The prompt cache hits: {hits}",
    "not_measured": "Whether the prompt cache hits is not known",
}
_ON_THE_WAY = (
    "Compare the prompt as it is sent with what the model server gets: a gateway that adds a date, a counter or a request id "
    "at the front, or reorders messages, costs every hit. Let it add such text at the end, or not at all."
)
_DO = {
    Reason.TOO_FEW: "Ask for longer prompts, whose prefill shows (--set prompt_tokens=20000), or more often (--set repeats=10).",
    Reason.DRIFT: "Ask again when the server is less busy, or more often (--set repeats=10).",
    Reason.MIXED: "Run it without --seed; where it says the same, find out what the server counts as cached.",
}
_STRAIGHT = "the same straight to the origin (a route of its own)"


def finding(
    case: Case, seen: Evidence, judged: Judged, aged: Mapping[float, Sequence[Asked]], warm_up: int
) -> Finding:
    tried, timed = seen.tried, seen.timed
    reads = tried.reads()
    hits = sum(bool(each.hit) for each in reads)
    last = reads[-1].call.last if reads else None
    fields: dict[str, Any] = {}
    if (title := _TITLES.get(judged.code)) is not None:
        fields["title"] = title.format(hits=f"{hits} of {len(reads)} reads")
    if judged.code == "cache.unstable_prefix":
        fields |= {"advice": _ON_THE_WAY, "who_acts": WhoActs.OPERATOR}
    if judged.reason is not None:
        fields["advice"] = _DO[judged.reason]
    silent = judged.code in {"cache.off", "cache.unreported"}
    if silent and case.route != ORIGIN and not tried.of(f"{ORIGIN}/warm"):
        fields["next_test"] = _STRAIGHT
    client = reads[-1].call.trial.client if reads else None
    return conclude(
        case,
        judged.code,
        last,
        **{
            "layer": Layer.PROBE if judged.code == "not_measured" else Layer.UNKNOWN,
            "product": None,
            "client": client,
            "factor": judged.factor,
            "observed": None if judged.code == "not_measured" else Observed(len(reads) - hits, len(reads)),
            "confidence": judged.confidence,
            "reason": judged.reason,
            "next_test": None,
            "detail": _rows(seen, judged, aged, warm_up),
            "figures": {**_rates(tried), **timed.figures, **ages.figures(aged), **_settle(seen)},
            "conditions": _conditions(seen, warm_up),
            "evidence": tuple(each.call.last.id for each in reads if each.call.last is not None),
            **fields,
        },
    )


def _rows(
    seen: Evidence, judged: Judged, aged: Mapping[float, Sequence[Asked]], warm_up: int
) -> tuple[tuple[str, str], ...]:
    tried = seen.tried
    rows = [("seen", _by_usage(seen)), ("because", judged.because)]
    each = [f"{_ON[way]} {found}" for way in WAYS if (found := _hits(tried.reads(way)))]
    rows += [("reads", "; ".join(each))] if each and tried.usage != "absent" else []
    rows += seen.timed.rows
    lines = [f"{word} {found}" for arm, word in (("broken", "behind a line that changes"), ("moved", "before that line")) if (found := _hits(tried.of(arm)))]  # fmt: skip
    rows += [("line", "; ".join(lines))] if lines and told(tried.reads()) in {"hits", "mixed"} else []
    if (counts := counted(tried)) is not None and judged.code != "cache.unstable_prefix":
        rows.append(
            ("counted", f"the same bytes are {counts[0]:,} tokens here and {counts[1]:,} at the origin")
        )
    rows += ages.rows(aged)
    left = f"; {seen.timed.left_out} left out, taken under other conditions or while the probe itself was late" if seen.timed.left_out else ""  # fmt: skip
    rows.append(
        (
            "measured",
            f"one request at a time in shuffled order, {warm_up} before it as a warm-up; times on new connections{left}",
        )
    )
    return tuple(rows)


def _by_usage(seen: Evidence) -> str:
    found = rate(seen.tried.reads())
    prompts = f"prompts of {seen.tokens:,} tokens, sent again {duration(seen.place.settle)} later"
    if found is None or told(seen.tried.reads()) == "absent":
        return f"{prompts}: the streams' usage says nothing of a cache, which is not zero"
    return f"{prompts}: by usage {found} came from the cache"


def _hits(these: Sequence[Asked]) -> str:
    return f"{sum(bool(each.hit) for each in these)} of {len(these)} hit" if these else ""


def _rates(tried: Tried) -> dict[str, Figure]:
    """One for each way of asking, since their conditions differ."""
    if tried.usage == "absent":
        return {}
    found = {way: rate(these) for way in WAYS if (these := tried.reads(way))}
    return {f"cached_{name}": each.figure for name, each in found.items() if each is not None}


def _settle(seen: Evidence) -> dict[str, Figure]:
    return {"settle": Figure(seen.place.settle, "s", 1)} if seen.place.read else {}


def _conditions(seen: Evidence, warm_up: int) -> dict[str, Any]:
    """Of the times; the cache is each arm's own, which the name of its figure says."""
    timed = [each.ttft for each in seen.tried.of("warm") if each.ttft is not None]
    connection = timed[-1].conditions.connection if timed else None
    said: dict[str, Any] = {
        "connection": connection, "client": "cold", "cache": "by arm", "concurrency": 1, "order": "shuffled",
        "warm_up": warm_up,
    }  # fmt: skip
    if seen.timed.drift is not None:
        said["drift"] = round(seen.timed.drift, 3)
    if seen.timed.left_out:
        said["left_out"] = seen.timed.left_out
    return said
