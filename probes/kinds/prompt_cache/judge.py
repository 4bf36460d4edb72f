"""What follows from usage and time together?

Neither is believed alone where the other can speak: usage may count what is not so, or leave it out, and a time may be short
or long for reasons of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from probes.kinds.prompt_cache.evidence import Tried, told
from probes.kinds.prompt_cache.trials import LEAST_KNOWN
from probes.model import Confidence, Factor, Reason
from probes.twins import Side, Twin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.kinds.prompt_cache.evidence import Timed
    from probes.kinds.prompt_cache.search import Place
    from probes.kinds.prompt_cache.trials import Asked

MORE = 2
"""Rounds, where times alone are to tell and do not yet."""
ENOUGH = 20
"""Reads for a rate."""
ORIGIN = "origin"
_HIGH, _MEDIUM, _LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW


class Judged(NamedTuple):
    code: str
    confidence: Confidence
    because: str
    factor: Factor | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    tried: Tried
    timed: Timed
    place: Place

    @property
    def tokens(self) -> int:
        """Of the long prompt, as counted by usage, else as asked for."""
        return max((each.tokens or 0 for each in self.tried.reads()), default=0) or self.place.tokens

    @property
    def answered(self) -> bool:
        """A cache of answers stands in between, or may."""
        by_time = self.timed.time == "sooner" and self.timed.below
        return self.tried.usage == "answers" or (by_time and self.tried.usage in {"zero", "absent"})


def further(seen: Evidence, repeats: int) -> int:
    """How many rounds more may tell more."""
    usage, timed = seen.tried.usage, seen.timed
    if usage == "mixed":
        return repeats
    if timed.time != "untold" or usage in {"impossible", "wrong", "answers"}:
        return 0
    return timed.missing or (MORE if usage == "absent" else 0)


def judge(seen: Evidence) -> Judged:
    judged = _judged(seen)
    if judged.code == "cache.off" and seen.tried.unkept:
        why = f"{judged.because}; only new connections were tried"
        sure = _MEDIUM if judged.confidence is _HIGH else judged.confidence
        return judged._replace(confidence=sure, because=why)
    return judged


def _judged(seen: Evidence) -> Judged:
    usage = seen.tried.usage
    if usage == "impossible":
        why = "usage counts tokens from a cache of prompts that were never sent before: it counts something else, or a run with the same --seed sent them"
        return Judged("not_measured", _HIGH, why, reason=Reason.MIXED)
    if usage == "wrong":
        why = "by counts that can't be so nobody knows what came from a cache"
        return Judged("not_measured", _HIGH, why, reason=Reason.MIXED)
    if seen.answered:
        return _kept_answers(seen)
    if usage == "hits":
        return _hits(seen)
    if usage == "mixed":
        return _mixed(seen)
    return _by_route(seen) or _silent(seen)


def _kept_answers(seen: Evidence) -> Judged:
    """The model was not asked again, so nothing is known of its cache. A mark is told of every case."""
    tried = seen.tried
    same, marked, reads = tried.repeated, tried.marked, len(tried.reads())
    if same and not marked:
        why = f"{len(same)} of {reads} reads got the answer to the write itself, with its id {same[-1].answer}: a cache of answers gave it, and not the model"
        return Judged("cached.private", _HIGH, why)
    why = f"{seen.timed.because}, which is sooner than that of the short control, too: a cache of answers may have given it"
    if marked:
        why = f"{len(marked)} of {reads} reads bear {marked[-1].mark}: a cache of answers gave them, and not the model"
    return Judged("not_measured", _HIGH, why, reason=Reason.MIXED)


def _hits(seen: Evidence) -> Judged:
    if displaced(seen.tried):
        return _displaced(seen.tried)
    time, because = seen.timed.time, seen.timed.because
    if time == "drift":
        return Judged("not_measured", _HIGH, f"usage tells of hits, and {because}", reason=Reason.DRIFT)
    if time == "as slow":
        return Judged("cache.slow_hit", _HIGH, f"usage tells of hits, and {because}")
    if time == "sooner":
        return Judged("ok", _HIGH, f"usage tells of hits, and {because}")
    return Judged("ok", _MEDIUM, f"usage tells of hits; what they save is not seen: {because}")


def displaced(tried: Tried) -> bool:
    """Whether a prompt that is the same but for its last line never hits, where the same bytes do."""
    moved = _misses(tried.of("moved"))
    return moved.failed and Twin(_misses(tried.reads("new")), moved).claimed


def _displaced(tried: Tried) -> Judged:
    """Somebody on the way puts the last line first, or the cache knows no prefixes."""
    why = "the same bytes hit, and with a line that changes at their end they do not, as if it stood in front"
    direct, here = _misses(tried.of(f"{ORIGIN}/moved")), _misses(tried.of("moved"))
    if direct.passed and Twin(direct, here).claimed:
        why += ": straight to the origin they hit with it, too, so that something on the way puts it there"
        return Judged("cache.unstable_prefix", _HIGH, why, factor=Factor.ROUTE)
    if direct.failed:
        why = "the same bytes hit, and with a line that changes at their end they do not, straight to the origin neither: it keeps whole prompts and not what they have in common"
        return Judged("cache.partial", _MEDIUM, why)
    return Judged(
        "cache.partial",
        _MEDIUM,
        f"{why}: something on the way puts it there, or the cache keeps whole prompts and not what they have in common",
    )


def _misses(reads: Sequence[Asked]) -> Side:
    return Side(sum(not each.hit for each in reads), len(reads))


def _mixed(seen: Evidence) -> Judged:
    reads = len(seen.tried.reads())
    if reads < ENOUGH:
        why = f"some reads hit and some did not; {reads} are too few for a rate"
        return Judged("not_measured", _HIGH, why, reason=Reason.TOO_FEW)
    if _always(seen.tried, "key"):
        why = "with a prompt_cache_key every read hit: replicas have a cache each, and the key chooses among them"
        return Judged("cache.partial", _MEDIUM, why)
    if _always(seen.tried, "kept"):
        why = "on the connection of the write every read hit: replicas have a cache each, and are chosen by connection"
        return Judged("cache.partial", _MEDIUM, why, factor=Factor.CONNECTION)
    ways = (
        "on new connections, the only way that was tried," if seen.tried.unkept else "on every way of asking"
    )
    why = f"{ways} some hit and some did not, as where replicas have a cache each and any of them is asked, or where the cache holds few prompts"
    return Judged("cache.partial", _MEDIUM, why)


def _always(tried: Tried, way: str) -> bool:
    """Whether every read on that way hit, and on new connections so many did not that it is no chance."""
    these, new = _misses(tried.reads(way)), _misses(tried.reads("new"))
    return Twin(these, new).claimed and these.passed


def undecided(tried: Tried) -> bool:
    """Whether every read on a way hit, and on new connections too few did not for that to be no chance."""
    return tried.usage == "mixed" and any(
        _misses(tried.reads(way)).passed and not _always(tried, way) for way in ("key", "kept")
    )


def _silent(seen: Evidence) -> Judged:
    """The streams' usage tells of no hit."""
    zero, time, because = seen.tried.usage == "zero", seen.timed.time, seen.timed.because
    says = "usage counts none" if zero else "usage does not speak of a cache"
    if told(seen.tried.of("whole/warm")) == "hits":
        why = "answers that are no stream tell of the hits, streams of the same prompts do not"
        return Judged("cache.unreported", _HIGH, why, factor=Factor.STREAM)
    if time == "sooner":
        return Judged("cache.unreported", _HIGH, f"{says}, and {because}")
    if time == "drift":
        return Judged("not_measured", _HIGH, f"{says}, and {because}", reason=Reason.DRIFT)
    if seen.place.at_once and seen.place.read:
        why = f"asked for again at once a prompt came from the cache, and after the few other prompts of the experiment it did not; {says}"
        return Judged("cache.partial", _LOW, why)
    return _missing(seen, says)


def _missing(seen: Evidence, says: str) -> Judged:
    """Neither usage nor time shows a hit."""
    zero, time, because = seen.tried.usage == "zero", seen.timed.time, seen.timed.because
    if seen.tokens < LEAST_KNOWN:
        why = f"{says}; prompts of {seen.tokens:,} tokens were asked for, and some providers cache none below {LEAST_KNOWN:,}"
        return Judged("not_measured", _HIGH, why, reason=Reason.TOO_FEW)
    if time == "as slow":
        return Judged("cache.off", _HIGH if zero else _MEDIUM, f"{says}, and {because}")
    if zero:
        return Judged("cache.off", _MEDIUM, f"by the usage alone, which counts none: {because}")
    return Judged("not_measured", _HIGH, f"{says}, and {because}", reason=Reason.TOO_FEW)


def _by_route(seen: Evidence) -> Judged | None:
    """What the origin route tells of hits that this one does not show."""
    if told(seen.tried.of(f"{ORIGIN}/warm")) != "hits" or seen.timed.time == "drift":
        return None
    if seen.timed.time == "sooner":
        why = f"straight to the origin usage tells of the hits; here {seen.timed.because}, and it does not"
        return Judged("cache.unreported", _HIGH, why, factor=Factor.ROUTE)
    if (counts := counted(seen.tried)) is not None:
        why = (
            f"straight to the origin the same bytes hit, and count {counts[1]:,} tokens; on this route they count "
            f"{counts[0]:,} and do not hit: something on the way changes the prompt, or counts it anew"
        )
        return Judged("cache.unstable_prefix", _MEDIUM, why, factor=Factor.ROUTE)
    if seen.tried.usage == "zero":
        why = "straight to the origin the same bytes hit, on this route they do not"
        return Judged("cache.off", _MEDIUM, why, factor=Factor.ROUTE)
    return None


def counted(tried: Tried) -> tuple[int, int] | None:
    """Tokens of the same bytes on this route and at the origin, where they differ each time."""
    here = {each.call.trial.salt: each.tokens for each in tried.of("fronted")}
    pairs = [(here.get(each.call.trial.salt), each.tokens) for each in tried.of(f"{ORIGIN}/cold")]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    return both[0] if both and all(a != b for a, b in both) else None
