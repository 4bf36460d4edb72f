"""What do usage and times tell of the arms?"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

from probes.kinds.conclude import is_good
from probes.kinds.words import duration, median_of
from probes.model import Figure
from probes.sampling import REPEATS, SURE, above, agreeing, drift, figure, sooner
from probes.twins import P, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from probes.kinds.prompt_cache.trials import Asked
    from probes.sampling import Sample

_ARMS = ("control", "cold", "warm", "broken", "moved")
MATTERS = 0.8
"""Middle TTFT by that of the slower side, from which on a difference is worth a name."""
_TRIPS = 4
"""Round trips in which TCP's slow start brings the longest prompt of ours (RFC 6928: ten segments, doubled each time)."""
READS = ("warm", "kept/warm", "key/warm")
WAYS = ("new", "kept", "key")
"""Of asking again: on a new connection, on that of the write, with a key."""
Usage = Literal["hits", "mixed", "zero", "absent", "impossible", "wrong", "answers"]
Time = Literal["sooner", "as slow", "untold", "drift"]


class Tried:
    """The calls of an experiment, by their arm."""

    def __init__(self, asked: Iterable[Asked]) -> None:
        self.asked = tuple(asked)

    def of(self, *arms: str) -> list[Asked]:
        """Good ones of these arms."""
        return [each for each in self.asked if _arm(each) in arms and is_good(each.call)]

    def reads(self, *ways: str) -> list[Asked]:
        """By how they came to the server: a connection that was to be kept and was not is a new one."""
        return [each for each in self.of(*READS) if _way(each) in (ways or WAYS)]

    @property
    def unkept(self) -> bool:
        """No read came on the connection of its write, though that was asked for."""
        return bool(self.of("kept/warm")) and not self.reads("kept")

    @property
    def repeated(self) -> list[Asked]:
        """Reads whose answer has the id of an earlier one to the same bytes. An id that other prompts got, too, is a constant."""
        salts: dict[str, set[str]] = {}
        first: dict[str, int] = {}
        for each in self.asked:
            if each.answer is not None:
                salts.setdefault(each.answer, set()).add(each.call.trial.salt)
                first.setdefault(each.answer, each.position)
        return [
            each
            for each in self.reads()
            if each.answer and len(salts[each.answer]) == 1 and first[each.answer] < each.position
        ]

    @property
    def marked(self) -> list[Asked]:
        """Reads that a shared cache says it answered."""
        return [each for each in self.reads() if each.mark is not None]

    @property
    def wrong(self) -> list[Asked]:
        """Long prompts of whose usage a count can't be so."""
        return [each for each in self.of("cold", *READS) if each.wrong]

    @property
    def usage(self) -> Usage:
        """What the streams' usage says of the reads."""
        if any(each.hit for each in self.of("cold", "kept/cold", "key/cold")):
            return "impossible"
        if self.wrong:
            return "wrong"
        if self.repeated or self.marked:
            return "answers"
        return told(self.reads())


def told(reads: Sequence[Asked]) -> Usage:
    """An answer that says nothing, beside others that say hit, is a miss of a server that leaves out its zeros."""
    reads = [each for each in reads if each.tokens is not None] or reads
    hits = sum(bool(each.hit) for each in reads)
    if hits:
        return "hits" if hits == len(reads) else "mixed"
    return "zero" if any(each.share is not None for each in reads) else "absent"


@dataclass(frozen=True, slots=True)
class Rate:
    """By tokens: `value` of all tokens of `n` prompts came from the cache; `k` of them were hits. The interval is that of so
    many prompts, since the tokens of one are cached together.
    """

    k: int
    n: int
    value: float
    low: float
    high: float

    @property
    def figure(self) -> Figure:
        return Figure(self.value, "of prompt tokens", self.n, self.low, self.high)

    def __str__(self) -> str:
        return f"{self.k} of {self.n}, {self.value:.0%} of the tokens ({self.low:.0%} to {self.high:.0%})"


def rate(reads: Sequence[Asked]) -> Rate | None:
    """`None` where no usage tells of any token of a prompt."""
    shares = [each.share or (0, each.tokens or 0) for each in reads]
    cached, tokens = (sum(share[side] for share in shares) for side in (0, 1))
    if not tokens:
        return None
    n = len(shares)
    return Rate(sum(bool(each.hit) for each in reads), n, cached / tokens, *wilson(cached / tokens * n, n))


@dataclass(frozen=True, slots=True)
class Timed:
    """TTFT on new connections. `missing`: samples of an arm, for any order of them to mean something. `left_out`: samples under other conditions, or that our own lag may have spoilt."""

    time: Time
    because: str
    figures: dict[str, Figure]
    rows: tuple[tuple[str, str], ...]
    left_out: int
    drift: float | None
    missing: int
    below: bool
    """Reads came sooner than the short control, too, for which a model has to do no more."""


def timed(tried: Tried) -> Timed:
    """A read is as slow only where a hit would have shown: the long prompt must take longer than the short control."""
    all_of = {arm: tried.of(arm) for arm in _ARMS}
    taken = {arm: [s for each in calls if (s := each.ttft)] for arm, calls in all_of.items()}
    sides, mixed = agreeing(taken)
    left_out = mixed + sum(map(len, all_of.values())) - sum(map(len, taken.values()))
    figures = {f"ttft_{arm}": figure(samples) for arm, samples in sides.items() if samples}
    moved = drift(sides["control"])
    trip = max((each.trip for calls in all_of.values() for each in calls), default=0.0)
    time, because = _compared(sides["control"], sides["cold"], sides["warm"], _TRIPS * trip)
    if moved is not None and moved.sure:
        time, because = "drift", f"the short control itself came to take {moved}"
    elif moved is not None and moved.open:
        time, because = "untold", f"the short control itself may have come to take {moved}"
    missing = max(0, REPEATS - min(len(sides[arm]) for arm in ("control", "cold", "warm")))
    rows = tuple(("ttft", said) for said in [_said(sides)] if said)
    below = _sooner(sides["warm"], sides["control"])
    later = moved.times if moved is not None and moved.sure else None
    return Timed(time, because, figures, rows, left_out, later, missing, below)


def _sooner(these: Sequence[Sample], others: Sequence[Sample]) -> bool:
    """By more than chance explains, and by so much that it matters."""
    low, high = (median(s.value for s in side) if side else 0.0 for side in (these, others))
    return sooner(these, others) <= SURE and low <= MATTERS * high


def _compared(
    control: Sequence[Sample], cold: Sequence[Sample], warm: Sequence[Sample], upload: float
) -> tuple[Time, str]:
    """`upload`: seconds that a long prompt may take longer only to arrive."""
    if not (control and cold and warm):
        return "untold", "no time to the first token could be taken of all arms"
    short, long, again = (median(s.value for s in side) for side in (control, cold, warm))
    if _sooner(warm, cold):
        return "sooner", f"the first token came after {duration(again)} instead of {duration(long)}"
    prefill = long - short - upload
    if not (sooner(control, cold) <= SURE and prefill >= (1 - MATTERS) * long):
        return "untold", "the long prompt took no longer than the short control by more than chance explains"
    if above(warm, long - prefill / 2) <= P:
        return (
            "as slow",
            f"the first token came after {duration(again)}, without a hit after {duration(long)}",
        )
    return "untold", "the times of the reads scatter too much"


def _said(sides: dict[str, list[Sample]]) -> str:
    """The median of each arm."""
    words = {"control": "short control", "cold": "cold", "warm": "the same bytes again",
             "broken": "behind a line that changes", "moved": "before that line"}  # fmt: skip
    said = [f"{words[arm]} {median_of(figure(samples))}" for arm, samples in sides.items() if samples]
    return "; ".join(said)


def _way(each: Asked) -> str:
    arm = _arm(each)
    return "key" if arm == "key/warm" else "kept" if arm == "kept/warm" and each.reused else "new"


def _arm(each: Asked) -> str:
    return each.call.trial.label.split("/", 2)[-1]
