"""Did streams that were open die at one moment, as by a restart, or at one age, as by a limit?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.deaths import TOLERANCE, Pattern, judge
from probes.during.plan import STREAMS
from probes.during.timed import lived_on, when
from probes.kinds.conclude import conclude, outcome_code
from probes.kinds.length.side import Side
from probes.kinds.lifetimes import at_once, life, limit, no_limit, off_by, was_cut
from probes.kinds.words import listed
from probes.model import Confidence, Figure, Observed, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.deaths import Life, Together
    from probes.during.timed import Command
    from probes.model import Call, Case, Finding

_TOGETHER = 2


def cuts(case: Case, calls: Sequence[Call], command: Command) -> list[Finding]:
    """A finding for each moment at which several died, then one for those that died otherwise."""
    sent = [Side(call) for call in calls if call.case.endswith(STREAMS) and call.last is not None]
    sides = [side for side in sent if was_cut(side) or lived_on(side)]
    if not any(map(was_cut, sides)):
        return []
    lives = list(map(life, sides))
    off = max(map(off_by, sides))
    found: list[Finding] = []
    left = [n for n, each in enumerate(lives) if each.died]
    for members in _moments(lives, left, max(TOLERANCE, off)):
        together = judge(_alone(lives, members), off)
        if together.pattern is Pattern.MOMENT:
            found.append(_moment(case, sides, lives, members, together, off, command))
            left = [n for n in left if n not in members]
    if left:
        found.append(_otherwise(case, sides, lives, left, off, command))
    return found


def _moments(lives: Sequence[Life], dead: Sequence[int], tolerance: float) -> list[list[int]]:
    """Those whose ends lie together, two or more of them."""
    groups: list[list[int]] = []
    for n in sorted(dead, key=lambda n: lives[n].ended):
        if groups and lives[n].ended - lives[groups[-1][0]].ended <= tolerance:
            groups[-1].append(n)
        else:
            groups.append([n])
    return [group for group in groups if len(group) >= _TOGETHER]


def _alone(lives: Sequence[Life], members: Sequence[int]) -> list[Life]:
    """As if only these had died: one that died later was open, too, and went on then."""
    return [each if n in members else each._replace(died=False) for n, each in enumerate(lives)]


def _moment(
    case: Case,
    sides: Sequence[Side],
    lives: Sequence[Life],
    members: Sequence[int],
    together: Together,
    off: float,
    command: Command,
) -> Finding:
    at = together.at or 0.0
    at = max(at, command.began) if at >= command.began - off else at  # no better than it is known
    there = [
        side for side, each in zip(sides, lives, strict=True) if each.began < at <= each.ended + TOLERANCE
    ]
    found = at_once(case, there, [sides[n] for n in members], together)
    who = f"All {together.died}" if together.died == together.of else f"{together.died} of {together.of}"
    return _of_the_command(
        replace(
            found,
            title=f"{who} open streams died at one moment, {when(at, command)}: a restart or a reload",
            figures={
                "apart": found.figures["apart"],
                "after": Figure(at - command.began, "s", together.died),
            },
        ),
        [at],
        command,
    )


def _otherwise(
    case: Case,
    sides: Sequence[Side],
    lives: Sequence[Life],
    left: Sequence[int],
    off: float,
    command: Command,
) -> Finding:
    """At one age, which is a limit; else at moments of their own."""
    died, ended = [sides[n] for n in left], [lives[n].ended for n in left]
    older = _older(lives, left, command)
    told = [each for n, each in enumerate(_alone(lives, left)) if n not in older]
    together = judge(told, off)
    if together.pattern is Pattern.AGE and no_limit(died, together) is None:
        return _limit(case, died, together, [lives[n] for n in older], ended, command)
    one = len(left) == 1
    moments = listed([f"{at - command.began:+.1f} s" for at in ended])
    said = (
        "one alone: a restart and a limit can't be told apart"
        if one
        else "neither at one moment nor at one age"
    )
    found = conclude(
        case, outcome_code(died[-1].sent), died[-1].sent, client=died[-1].client,
        title=f"{len(left)} of {len(sides)} long streams {'was' if one else 'were'} cut, {when(ended[0], command)}"
        + ("" if one else " and later"),
        observed=Observed(len(left), len(sides)),
        detail=(("seen", f"cut at {moments}, counted from where the command began"), ("pattern", said)),
        confidence=Confidence.LOW if one else Confidence.MEDIUM,
        evidence=tuple(side.sent.id for side in died),
    )  # fmt: skip
    return _of_the_command(found, ended, command)


def _older(lives: Sequence[Life], dead: Sequence[int], command: Command) -> set[int]:
    """Streams that say nothing against a limit which the command set: they were over by then, or had begun by then where
    none of the dead had, as on the old workers of a server that was reloaded.
    """
    fresh = all(lives[n].began >= command.began for n in dead)
    return {
        n
        for n, each in enumerate(lives)
        if not each.died and (each.ended <= command.began or (fresh and each.began < command.began))
    }


def _limit(
    case: Case,
    died: Sequence[Side],
    together: Together,
    older: Sequence[Life],
    ended: Sequence[float],
    command: Command,
) -> Finding:
    age = together.at or 0.0
    if any(each.age > age + TOLERANCE for each in older):
        so = "streams lived longer that knew nothing of it, so the command may have set this limit"
    else:
        so = f"no stream had come to that age before the command began, so it may be older: --before {age + TOLERANCE:.0f} tells"
    found = limit(case, died, together)
    if min(ended) < command.began:
        so = "it was met before the command began, so it is not the command's doing"
    return _of_the_command(replace(found, detail=(*found.detail, ("since", so))), ended, command)


def _of_the_command(found: Finding, ended: Sequence[float], command: Command) -> Finding:
    """What was so before the command began says nothing of it."""
    if min(ended) >= command.began:
        return found if found.verdict is not Verdict.INCONCLUSIVE else replace(found, verdict=Verdict.FAIL)
    return replace(found, verdict=Verdict.INCONCLUSIVE, reason=Reason.MIXED)
