"""What is said of long pairs whose two sides were ended at one age?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probes.kinds.conclude import conclude
from probes.kinds.length import where
from probes.kinds.length.cliff import Speed, advice
from probes.kinds.length.clock import code_of, known_timers, matches, proven, spoken
from probes.kinds.length.cutoff import MORE, NOBODY, Cutoff, how, of_a_clock, on_the_way, shows
from probes.kinds.length.pair import evidence
from probes.kinds.words import shown
from probes.model import Confidence, Observed
from probes.timers import match
from probes.twins import REPEATS

if TYPE_CHECKING:
    from probes.kinds.length.cutoff import Cut
    from probes.kinds.length.pace import Pace
    from probes.kinds.length.pair import Pair
    from probes.kinds.length.side import Ending
    from probes.model import Case, Finding


def both_cut(case: Case, cuts: list[Cut], pace: Pace) -> Finding:
    """Before the first token by a clock that streaming does not escape, after it by a limit on the whole."""
    pair, ending = cuts[-1]
    ages = [each.at if ending.spoke else _of_plain(p).at for p, each in cuts]
    cutoff = Cutoff.of(ages, [each.plain for each, _ in cuts])
    told = _of_whole(pair, cutoff, pace) if ending.spoke else _of_silence(pair, cutoff, pace)
    sides = f"not streamed {how(pair.plain.sent)}; streamed {shown(pair.stream.sent)}"
    return conclude(
        case,
        told.pop("code"),
        pair.plain.sent,
        **(of_a_clock(case, pair.plain) | told.pop("who", {})),
        observed=Observed(2 * len(cuts), 2 * len(cuts)),
        detail=(
            ("seen", f"both sides ended after {cutoff.seconds:.1f} ± {cutoff.off:.1f} s: {sides}"),
            ("because", told.pop("because")),
            told.pop("matches"),
            *where.way(pair),
            *spoken(pair.plain.sent, cutoff.seconds, cutoff.off),
            *where.waits(pair),
        ),
        figures=cutoff.figures() | where.figures(pair),
        confidence=Confidence.MEDIUM,
        next_test=MORE if len(cuts) < REPEATS else "the same pair straight to the origin",
        evidence=evidence([pair for pair, _ in cuts]),
        **told,
    )


def _of_whole(pair: Pair, cutoff: Cutoff, pace: Pace) -> dict[str, Any]:
    """Who answered the plain side is to blame only where it has such a limit: a read timer ends no stream that flows."""
    middle, maker = cutoff.seconds, proven(pair.plain.sent)
    own = tuple(t for t in match(middle, "total", maker, cutoff.sure) if t.product == maker)
    suspects = own or known_timers(middle, "timeout.total", pair.stream.sent, cutoff.sure)
    tokens = Speed.of(pair.stream, pace).longest(middle - cutoff.off)
    return {
        "code": "timeout.total",
        "who": {} if own else NOBODY,
        "title": f"Answers are cut after {middle:.1f} s, streamed or not",
        "because": "both sides were ended at the same age while tokens were flowing, so it is a limit on the whole answer",
        "matches": matches(suspects, middle, on_the_way(pair, pace)),
        "advice": advice(suspects, shows(pair.plain) if own else (), tokens, "none"),
    }


def _of_silence(pair: Pair, cutoff: Cutoff, pace: Pace) -> dict[str, Any]:
    plain, middle = pair.plain, cutoff.seconds
    code = code_of(plain, _of_plain(pair))
    timers = known_timers(middle, code, plain.sent, cutoff.sure)
    tokens = Speed.of(pair.stream, pace).longest(middle)
    return {
        "code": code,
        "title": f"What has no first token within {middle:.1f} s is cut, streamed or not",
        "because": "the stream was silent before its first token and was ended at the same age: streaming is no way out",
        "matches": matches(timers, middle, on_the_way(pair, pace), proven(plain.sent)),
        "advice": advice(timers, shows(plain), tokens, "early bytes"),
    }


def _of_plain(pair: Pair) -> Ending:
    ending = pair.plain.ending
    assert ending is not None
    return ending
