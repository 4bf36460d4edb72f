"""How is what the prompt cache does put into a finding?"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude
from probes.kinds.prompt_cache import ages
from probes.kinds.prompt_cache.evidence import WAYS, rate, told
from probes.kinds.prompt_cache.judge import ORIGIN, counted, displaced
from probes.kinds.prompt_cache.trials import KEEPS
from probes.kinds.words import duration
from probes.model import Factor, Figure, Layer, Observed, Reason, Verdict, WhoActs
from probes.twins import confounders, wilson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from probes.kinds.prompt_cache.ages import Aged
    from probes.kinds.prompt_cache.evidence import Tried
    from probes.kinds.prompt_cache.judge import Evidence, Judged
    from probes.kinds.prompt_cache.trials import Asked
    from probes.model import Case, Finding

_ON = {"new": "on a new connection", "kept": "on that of the write", "key": "with a prompt_cache_key"}
_TITLES = {
    "ok": "The prompt cache hits: {hits}",
    "cache.partial": "The prompt cache hits only sometimes: {hits}",
    "not_measured": "Whether the prompt cache hits is not known",
}
_BY_FACTOR: dict[tuple[str, Factor | None], str] = {
    ("cache.unreported", Factor.STREAM): (
        "Have the stream's usage tell what other answers tell: a gateway that translates streams has to forward the usage of "
        "the model server, from its first event as from its last one."
    ),
    ("cache.unreported", Factor.ROUTE): (
        "Have what stands on this route forward the usage of the model server unchanged: straight to it the counts are there."
    ),
    ("cache.off", Factor.ROUTE): (
        "Compare the request as it is sent with what the model server gets: straight to it the same bytes hit."
    ),
    ("cache.partial", Factor.CONNECTION): (
        "Choose the replica by the front of the prompt or by session: it is chosen by connection, and customers open new ones."
    ),
}
_KEEP = (
    "Ask again with a client that keeps its connections (--client httpx): a replica that is chosen by connection has a cache "
    "that new ones miss. Where none hits there either, turn prefix caching on."
)
_ON_THE_WAY = (
    "Compare the prompt as it is sent with what the model server gets: a gateway that adds a date, a counter or a request id "
    "at the front, or reorders messages, costs every hit. Let it add such text at the end, or not at all."
)
_DO = {
    Reason.TOO_FEW: "Ask for longer prompts, whose prefill shows (--set prompt_tokens=20000), or more often (--set repeats=10).",
    Reason.DRIFT: "Ask again when the server is less busy, or more often (--set repeats=10).",
    Reason.MIXED: "Run it without --seed; where it says the same, find out what the server counts as cached.",
}
_MEND = "Have the usage mended first, or forwarded as the model server sends it; then run this again."
_SILENT = {"absent", "wrong", "answers"}
"""Usage by which no read is known to hit or not."""
_KEPT_ANSWERS = "A cache on the way gives the answers again, the model is not asked"
_ANSWERS = (
    "Turn caching of answers off for the API path, or see that it keeps those of each key apart; what the prompt cache does is "
    "known where the model answers each request: run this straight to the origin."
)
LONGER = "Ask a model that takes longer prompts, or more often (--set repeats=10)."
_SIDES = {
    Factor.ROUTE: (
        (f"{ORIGIN}/warm", f"{ORIGIN}/moved"),
        ("fronted", "moved"),
        ("host", "peer", "connection", "proxy"),
    ),
    Factor.STREAM: (("whole/warm",), ("warm",), ("accept",)),
    Factor.CONNECTION: (("kept/warm",), ("warm",), ("connection",)),
}
"""Factor → arms that hit, arms that did not, and what the factor itself makes differ."""
_CHANGED = "Something on this route changes the front of the prompt"
_WHOLE = "The prompt cache hits whole prompts alone: a line that changes at the end costs every hit"
_PREFIXES = (
    "See that nothing on the way puts the end of a prompt first, as a gateway does that moves a reminder into the system "
    "message, and that the model server caches by prefix: what prompts have in common at their front is then paid once."
)
_APART = 0.1
STRAIGHT = "the same straight to the origin (a route of its own)"


def finding(
    case: Case, seen: Evidence, judged: Judged, aged: Mapping[float, Sequence[Aged]], warm_up: int
) -> Finding:
    tried, timed = seen.tried, seen.timed
    reads = tried.reads()
    hits = sum(bool(each.hit) for each in reads)
    last = reads[-1].call.last if reads else None
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
            "confounders": _beside(tried, judged.factor),
            "observed": None if judged.code == "not_measured" else Observed(len(reads) - hits, len(reads)),
            "confidence": judged.confidence,
            "reason": judged.reason,
            "next_test": None,
            "detail": rows(seen, judged, aged, warm_up),
            "figures": {**rates(seen), **timed.figures, **ages.figures(aged), **_settle(seen)},
            "conditions": conditions(seen),
            "evidence": tuple(each.call.last.id for each in reads if each.call.last is not None),
            **_worded(case, seen, judged),
        },
    )


def _worded(case: Case, seen: Evidence, judged: Judged) -> dict[str, Any]:
    """What is said otherwise than the vocabulary has it."""
    tried = seen.tried
    reads = tried.reads()
    hits = sum(bool(each.hit) for each in reads)
    fields: dict[str, Any] = {}
    if (title := _TITLES.get(judged.code)) is not None:
        fields["title"] = title.format(hits=f"{hits} of {len(reads)} reads")
    if (advice := _BY_FACTOR.get((judged.code, judged.factor))) is not None:
        fields["advice"] = advice
    if judged.code == "cache.off" and tried.unkept:
        fields["title"] = _off_on_new(reads)
        fields |= {"advice": _KEEP} if judged.factor is None and not _keeps(case, reads) else {}
    if judged.code == "cached.private":
        again = Observed(len(tried.repeated), len(reads))
        fields |= {"title": _KEPT_ANSWERS, "verdict": Verdict.WARN, "advice": _ANSWERS, "observed": again}
    if judged.code == "cache.unstable_prefix":
        fields |= {"title": _CHANGED, "advice": _ON_THE_WAY, "who_acts": WhoActs.OPERATOR}
    if whole := judged.code == "cache.partial" and displaced(tried):
        fields |= {"title": _WHOLE, "advice": _PREFIXES}
    if judged.reason is not None:
        fields["advice"] = _mended(seen, judged) or _DO[judged.reason]
    straight = tried.of(f"{ORIGIN}/warm", f"{ORIGIN}/moved")
    if (whole or judged.code in {"cache.off", "cache.unreported"}) and case.route != ORIGIN and not straight:
        fields["next_test"] = STRAIGHT
    return fields


def _mended(seen: Evidence, judged: Judged) -> str | None:
    """What has to be so before anything is known of a cache."""
    if seen.answered or seen.tried.usage == "wrong":
        return _ANSWERS if seen.answered else _MEND
    return LONGER if judged.reason is Reason.TOO_FEW and seen.place.refused else None


def _keeps(case: Case, reads: Sequence[Asked]) -> bool:
    """Whether it is the server that closes."""
    return any(case.client(each.call.trial.client).kind == KEEPS for each in reads)


def _off_on_new(reads: Sequence[Asked]) -> str:
    low, high = wilson(0, len(reads))
    return f"The prompt cache was not seen to hit on new connections: 0 of {len(reads)} reads ({low:.0%} to {high:.0%})"


def _beside(tried: Tried, factor: Factor | None) -> tuple[str, ...]:
    """What else differed between a read that hit and one that did not, but for their texts, which are their own."""
    if factor not in _SIDES:
        return ()
    control, variant, meant = _SIDES[factor]
    sides = [[e.call.last for e in tried.of(*arms) if e.call.last is not None] for arms in (control, variant)]
    if not all(sides):
        return ()
    hit, missed = (side[-1] for side in sides)
    return tuple(what for what in confounders(hit, missed, meant) if what != "the bodies differ")


def rows(
    seen: Evidence, judged: Judged, aged: Mapping[float, Sequence[Aged]], warm_up: int
) -> tuple[tuple[str, str], ...]:
    tried = seen.tried
    rows = [("seen", _by_usage(seen)), ("because", judged.because)]
    each = [f"{_ON[way]} {found}" for way in WAYS if (found := _hits(tried.reads(way)))]
    each = each if tried.usage not in _SILENT and not seen.answered else []
    if tried.unkept:
        each.append(f"{_ON['kept']} not measured, each stream got a new connection")
    rows += [("reads", "; ".join(each))] if each else []
    rows += seen.timed.rows
    if seen.place.refused:
        rows.append(("not asked", f"prompts of about {seen.place.refused:,} tokens, which the API refuses"))
    rows += _lines(tried)
    if (counts := counted(tried)) is not None and judged.code != "cache.unstable_prefix":
        rows.append(
            ("counted", f"the same bytes are {counts[0]:,} tokens here and {counts[1]:,} at the origin")
        )
    if (apart := _counted_apart(tried)) is not None:
        rows.append(("counted", apart))
    rows += ages.rows(aged)
    warmed = len(tried.of("warm_up"))
    left = f"; {seen.timed.left_out} left out, taken under other conditions or while the probe itself was late" if seen.timed.left_out else ""  # fmt: skip
    measured = (
        f"one request at a time, round after round: writes, then reads, then lines, each in shuffled order; before that {warmed} to "
        f"warm up and {warm_up - warmed} to find the length; times on new connections{ages.at_once(aged)}{left}"
    )
    rows.append(("measured", measured))
    return tuple(rows)


def _lines(tried: Tried) -> list[tuple[str, str]]:
    words = {"broken": "behind a line that changes", "moved": "before that line"}
    said = [f"{word} {found}" for arm, word in words.items() if (found := _hits(tried.of(arm)))]
    if not said or told(tried.reads()) not in {"hits", "mixed"}:
        return []
    if told(tried.of("moved")) == "hits" and not any(each.hit for each in tried.of("broken")):
        said.append(
            "prompts that begin with a date, a counter or a nonce never hit, which no endpoint can mend"
        )
    return [("line", "; ".join(said))]


def _counted_apart(tried: Tried) -> str | None:
    """Of prompts of one length in streams and in other answers: one of the counts is not the model's."""
    streams, others = (
        [each.tokens for each in tried.of(arm) if each.tokens] for arm in ("warm", "whole/warm")
    )
    if not streams or not others or abs(median(streams) / median(others) - 1) < _APART:
        return None
    return (
        f"streams count {median(streams):,.0f} tokens of a prompt for which other answers count {median(others):,.0f}: somebody "
        "on the way counts anew"
    )


def _by_usage(seen: Evidence) -> str:
    found = rate(seen.tried.reads())
    prompts = f"prompts of {seen.tokens:,} tokens, sent again {duration(seen.place.settle)} later"
    if wrong := seen.tried.wrong:
        return f"{prompts}: usage counts what can't be so, {', '.join(wrong[-1].wrong)}"
    if seen.tried.usage == "answers":
        return f"{prompts}: answered from a cache of answers"
    if found is None or told(seen.tried.reads()) == "absent":
        return f"{prompts}: the streams' usage says nothing of a cache, which is not zero"
    return f"{prompts}: by usage {found} came from the cache"


def _hits(these: Sequence[Asked]) -> str:
    return f"{sum(bool(each.hit) for each in these)} of {len(these)} hit" if these else ""


def rates(seen: Evidence) -> dict[str, Figure]:
    """One for each way of asking, since their conditions differ."""
    tried = seen.tried
    if tried.usage in _SILENT or seen.answered:
        return {}
    found = {way: rate(these) for way in WAYS if (these := tried.reads(way))}
    return {f"cached_{name}": each.figure for name, each in found.items() if each is not None}


def _settle(seen: Evidence) -> dict[str, Figure]:
    return {"settle": Figure(seen.place.settle, "s", 1)} if seen.place.read else {}


def conditions(seen: Evidence) -> dict[str, Any]:
    """Of the times; the cache is each arm's own, which the name of its figure says."""
    timed = [each.ttft for each in seen.tried.of("warm") if each.ttft is not None]
    connection = timed[-1].conditions.connection if timed else None
    said: dict[str, Any] = {
        "connection": connection, "client": "cold", "cache": "by arm", "concurrency": 1, "order": "shuffled in each part",
        "warm_up": len(seen.tried.of("warm_up")),
    }  # fmt: skip
    if seen.timed.drift is not None:
        said["drift"] = round(seen.timed.drift, 3)
    if seen.timed.left_out:
        said["left_out"] = seen.timed.left_out
    return said
