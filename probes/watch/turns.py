"""What comes of an entry that is due?

Asked or left out, judged, asked again where it looks bad, and told to memory, alerts and metrics.
"""

from __future__ import annotations

import hashlib
import traceback
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from probes.alerts.news import News
from probes.alerts.text import words_of_look
from probes.canary import About, AlertKey, Missed, Turn
from probes.conduct import plan
from probes.config import load_target
from probes.errors import UsageError
from probes.log import log
from probes.model import Spend, Verdict
from probes.runner import worst
from probes.watch.asking import Asking
from probes.watch.daily import Days, left, used_up
from probes.watch.judging import conclusive, why_not
from probes.watch.patience import holds_long, patience
from probes.watch.pauses import Paces
from probes.watch.scheduled import order_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from probes.model import Case, Run, Target
    from probes.pace import Pace
    from probes.stop import Stop
    from probes.watch.asking import Around, Judged
    from probes.watch.looks import Look
    from probes.watch.needs import Canary, Daily, Entry

_OFTEN = timedelta(days=1)
"""A look that comes and goes is told once in this time."""
_GOOD = frozenset({Verdict.PASS, Verdict.WARN})


@dataclass(frozen=True, slots=True)
class _Files:
    """What the files say, replaced as a whole while turns are under way."""

    control: str | None
    budgets: Mapping[str, Daily]
    targets: Mapping[str, Target]
    long: Mapping[str, bool]
    patience: Mapping[str, timedelta]


class Turns:
    """Takes the turns of a canary, several at once from lanes; pauses and days' budgets outlive `reload`.

    Raises UsageError where an entry cannot be carried out as the files say it, so that a canary never begins with one.
    """

    def __init__(
        self, canary: Canary, around: Around, targets: Callable[[str], Target] = load_target
    ) -> None:
        self._around = around
        self._load = targets
        self._paces = Paces(around.memory, around.clock, around.wall)
        self._days = Days(around.memory)
        self.reload(canary)

    def reload(self, canary: Canary) -> None:
        """From the next turn on; raises UsageError, and nothing is changed then."""
        targets = {name: self._load(name) for name in dict.fromkeys(entry.target for entry in canary.entries)}
        planned = {entry.name: self._planned(entry, targets[entry.target]) for entry in canary.entries}
        long = {name: any(map(holds_long, cases)) for name, cases in planned.items()}
        clock = self._around.clock
        waits = {entry.name: patience(entry, planned[entry.name], clock) for entry in canary.entries}
        for target in targets.values():
            self._paces.of(target).limits = target.limits
        self._files = _Files(canary.control, canary.budgets, targets, long, waits)

    def is_long(self, entry: Entry) -> bool:
        """Whether its requests are held for long, so that it needs a lane of its own."""
        return self._files.long.get(entry.name, False)

    def _planned(self, entry: Entry, target: Target) -> Sequence[Case]:
        return plan(order_of(entry, target, self._around.clock), self._around.secrets).cases

    # --- one turn ------------------------------------------------------------------------------------------

    def take(self, entry: Entry, due: datetime, stop: Stop) -> Turn:
        """Never raises: a mistake of configuration, or a bug of ours, is what came of the turn."""
        turn = Turn(entry.name, entry.target, due, began=self._around.wall.now())
        try:
            return self._taken(entry, turn, stop)
        except UsageError as fault:
            return self._left(entry, turn, Missed.ERROR, str(fault))
        except Exception as bug:  # noqa: BLE001 - handed on: told as what came of the turn, and to whoever reads stderr
            log(f"{entry.name}: {traceback.format_exc().rstrip()}")
            return self._left(entry, turn, Missed.ERROR, f"a bug of edgeprobe's: {type(bug).__name__}")

    def missed(
        self,
        entry: Entry,
        due: datetime,
        why: Missed,
        reason: str | None = None,
        since: datetime | None = None,
    ) -> Turn:
        """One that is not taken at all, for a reason of whoever says what is due. `since`: when the turn was due that
        is still under way.
        """
        turn = replace(
            Turn(entry.name, entry.target, due), ended=self._around.wall.now(), missed=why, reason=reason
        )
        if since is None or due - since > self._files.patience.get(entry.name, timedelta()):
            return self._told(entry, turn, None)
        return self._kept(entry, turn)  # one that is in time will say what it saw

    def _taken(self, entry: Entry, turn: Turn, stop: Stop) -> Turn:
        files = self._files
        # One that was due as the files changed may be in none of them any more.
        target = files.targets.get(entry.target) or self._load(entry.target)
        pace = self._paces.of(target)
        daily = files.budgets.get(entry.target)
        if (left_out := self._left_out(entry, target, pace, daily, turn, stop)) is not None:
            return self._left(entry, turn, *left_out)
        assert turn.began is not None
        self._around.metrics.lag(max((turn.began - turn.due).total_seconds(), 0.0))
        order, long = order_of(entry, target, self._around.clock), files.long.get(entry.name, False)
        judged = Asking(self._around, files.control, order, pace, stop, entry, long=long).turn()
        run, findings = judged.first.run, judged.first.findings
        clear = conclusive(run, findings)
        reason = None if clear else judged.excuse or ("interrupted" if stop.reason else why_not(findings))
        turn = replace(
            turn,
            ended=self._around.wall.now(),
            run=run.id,
            verdict=worst(findings),
            conclusive=clear,
            reason=reason,
            spend=total(judged.spent),
        )
        self._note_budget(target, pace)
        return self._told(entry, turn, judged)

    def _left_out(
        self, entry: Entry, target: Target, pace: Pace, daily: Daily | None, turn: Turn, stop: Stop
    ) -> tuple[Missed, str | None] | None:
        assert turn.began is not None
        if stop.reason is not None:
            return Missed.DRAINED, stop.reason
        if entry.tier == "expensive" and share(entry.name, turn.due) >= entry.sample:
            return Missed.SAMPLED, f"{entry.sample:.0%} of its times are taken"
        if (held := self._paces.held(target)) is not None:
            return Missed.PAUSED, held
        with pace.lock:
            pace.day = self._days.ledger(target, daily, turn.began)
            spent = None if pace.day is None else used_up(entry.target, pace.day, turn.began)
        self._note_budget(target, pace)
        return None if spent is None else (Missed.BUDGET, spent)

    # --- who is told ---------------------------------------------------------------------------------------

    def _left(self, entry: Entry, turn: Turn, why: Missed, reason: str | None) -> Turn:
        return self._told(
            entry, replace(turn, ended=self._around.wall.now(), missed=why, reason=reason), None
        )

    def _kept(self, entry: Entry, turn: Turn) -> Turn:
        around = self._around
        around.memory.turn(turn)
        around.metrics.turn(turn)
        if turn.conclusive and turn.verdict in _GOOD and turn.ended is not None:
            around.metrics.last_success(entry.name, turn.ended)
        return turn

    def _told(self, entry: Entry, turn: Turn, judged: Judged | None) -> Turn:
        around = self._around
        self._kept(entry, turn)
        if judged is None:
            around.alerting.observe(turn, entry=entry)
        else:
            first = judged.first
            hurting = [finding for finding in first.findings if finding not in judged.look.findings]
            around.alerting.observe(turn, replace(first, findings=hurting), entry=entry, again=judged.again)
            self._note(entry, first.run, judged.look)
        return turn

    def _note(self, entry: Entry, run: Run, look: Look) -> None:
        """A look that changed unmarked."""
        for found in look.findings:
            if found.verdict is not Verdict.PASS and not found.accepted and look.since is not None:
                key = AlertKey(entry.target, About.CHANGE, found.layer, found.product, found.code)
                names = tuple(f"{found.layer}\n{name}" for name in look.changes)
                unless = look.since - _OFTEN
                words = words_of_look(found)
                news = News(key, names, words, look.since, unless, (entry.name,), run.id, seen=look.seen)
                self._around.alerting.note(news)

    def _note_budget(self, target: Target, pace: Pace) -> None:
        with pace.lock:
            rests = {} if pace.day is None else left(pace.day)
        for kind, rest in rests.items():
            self._around.metrics.budget(target.name, kind, rest)


def share(entry: str, due: datetime) -> float:
    """The same in every process, from 0 up to 1: which times a sample takes is no matter of when it is started."""
    digest = hashlib.sha256(f"{entry}\0{due.isoformat()}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64


def total(spends: Sequence[Spend]) -> Spend:
    """Of several runs; money only where each of them could count it."""
    dollars = [spend.usd for spend in spends if spend.usd is not None]
    return Spend(
        sum(spend.requests for spend in spends),
        sum(spend.input_tokens for spend in spends),
        sum(spend.output_tokens for spend in spends),
        round(sum(dollars), 9) if len(dollars) == len(spends) else None,
    )
