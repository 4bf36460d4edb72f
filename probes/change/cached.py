"""Does less of the prompts come from the cache than before?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from probes.change.answers import plain, question, worded
from probes.change.part import Part, finding, times
from probes.change.statistics import FAMILY, gap, weighted
from probes.comparison import Row
from probes.kinds.conclude import is_good
from probes.model import Ask, Figure, Reason, Verdict
from probes.samples import cached_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from probes.change.answers import Where
    from probes.change.statistics import Share
    from probes.model import Call, Finding, Run

_MATTERS = 0.1
"""Of all tokens of the prompts: a smaller loss may go unnoticed."""
_REASONS = {Verdict.INCONCLUSIVE: Reason.TOO_FEW}
_CODES = {Verdict.FAIL: "regression.cache", Verdict.INCONCLUSIVE: "not_measured"}


def compare(before: Sequence[Run], after: Sequence[Run]) -> Part:
    """By the tokens that the usage counts. An answer whose usage tells of no cache is left out: that is not zero. Where
    nothing came from it on either side, nothing can be lost.
    """
    old, new = _counted(before), _counted(after)
    told = [where for where in old if old[where] and new.get(where)]
    both = [where for where in told if any(cached for cached, _ in (*old[where], *new[where]))]
    rows: list[Row] = []
    findings: list[Finding] = []
    for where in both:
        then, now = weighted(old[where]), weighted(new[where])
        row = _row(where, then, now, (len(old[where]), len(new[where])), FAMILY / len(both))
        rows.append(row)
        if row.verdict is not Verdict.PASS:
            findings.append(_finding(where, row, then, now))
    if rows and not findings:
        title = f"As much of the prompts comes from the cache: {times(len(rows), 'share')} compared"
        detail = [(row.where, f"{row.before} → {row.after}") for row in rows if row.before != row.after]
        findings.append(finding("ok", Verdict.PASS, title=title, detail=tuple(detail)))
    once = [where for where in old if where in new and bool(old[where]) is not bool(new[where])]
    left = [
        f"cached share, told {'before' if old[where] else 'after'} only: {worded(where)}" for where in once
    ]
    return Part(tuple(rows), tuple(findings), tuple(left))


def _counted(runs: Sequence[Run]) -> dict[Where, list[tuple[int, int]]]:
    """(cached, all) tokens of each prompt of good answers that tells of them, by client."""
    found: dict[Where, list[tuple[int, int]]] = {}
    for run in runs:
        for call in run.calls:
            if call.last is None or not plain(call) or not is_good(call) or _no_read(call):
                continue
            mine = found.setdefault((question(call.case), call.trial.client, call.trial.route), [])
            tokens = cached_share(call.last.facts.get("usage") or {})
            if tokens is not None and tokens[1]:
                mine.append(tokens)
    return found


def _no_read(call: Call) -> bool:
    """Asked so as to miss: how many of them there are is the experiment's choice."""
    ask = call.trial.request
    return isinstance(ask, Ask) and ask.arm not in {None, "primed"}


def _row(where: Where, then: Share, now: Share, n: tuple[int, int], level: float) -> Row:
    row = Row(
        "cached share", worded(where), _in_words(then, n[0]), _in_words(now, n[1]), Verdict.PASS, "as before",
    )  # fmt: skip
    low, high = gap(then, now, level)
    if high < 0 and now.value < then.value:
        return _with(row, Verdict.FAIL, "less, by more than chance explains")
    if low > 0:
        return replace(_with(row, Verdict.PASS, "more"), better=True)
    if low > -_MATTERS:
        return row
    said = f"{now.value - then.value:+.0%} ({low:+.0%} to {high:+.0%}): too few prompts to tell"
    return _with(row, Verdict.INCONCLUSIVE, said)


def _with(row: Row, verdict: Verdict, why: str) -> Row:
    return Row(row.what, row.where, row.before, row.after, verdict, why)


def _in_words(share: Share, n: int) -> str:
    low, high = share.interval()
    return f"{share.value:.0%} ({low:.0%} to {high:.0%}) of {times(n, 'prompt')}"


def _finding(where: Where, row: Row, then: Share, now: Share) -> Finding:
    worse = row.verdict is Verdict.FAIL
    return finding(
        _CODES[row.verdict],
        row.verdict,
        client=where[1],
        route=where[2],
        title=f"{'Less' if worse else 'Whether less'} of the prompts of {row.where} comes from the cache"
        + ("" if worse else " can't be told"),
        detail=(("before", row.before), ("after", row.after), ("because", row.why)),
        figures={"before": _figure(then), "after": _figure(now)},
        conditions={"case": where[0], "cache": "primed, or as customers ask", "connection": "any"},
        reason=_REASONS.get(row.verdict),
        **({} if worse else {"advice": "Ask more often, with the prompts that are to be cached."}),
    )


def _figure(share: Share) -> Figure:
    low, high = share.interval()
    return Figure(share.value, "share", round(share.worth), low, high)
