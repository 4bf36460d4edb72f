"""What worked before and fails now, or the other way round?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from probes.change.answers import worded
from probes.change.part import Part, finding, times
from probes.change.statistics import FAMILY, Share, gap, more
from probes.change.tally import tallies
from probes.comparison import Row
from probes.kinds.words import listed
from probes.model import Observed, Reason, Verdict
from probes.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from probes.change.answers import Where
    from probes.change.tally import Tally, What
    from probes.model import Finding, Run

ENOUGH = 3
"""Of a side that always fails, or always passes, to be believed; as for a twin."""
_MATTERS = 0.05
"""Of all requests: as many more failures may be chance, and go unnoticed."""
_NAMED = 12
_SHOWN = 6
"""Exchanges that a finding names."""


class _Flip(NamedTuple):
    """A row, and of which code the finding is that it is worth."""

    row: Row
    code: str | None
    where: Where
    then: Tally
    now: Tally

    @property
    def cause(self) -> object:
        return self.now.what, self.where[2]


def compare(before: Sequence[Run], after: Sequence[Run]) -> Part:
    """A row for each client of each case of which both sides say something."""
    old, new = tallies(before), tallies(after)
    both = {
        where: (old[where], new[where]) for where in old if where in new and old[where].n and new[where].n
    }
    tested = sum(1 for a, b in both.values() if a.k or b.k)
    made = [
        _Flip(*_row(where, then, now, FAMILY / max(tested, 1)), where, then, now)
        for where, (then, now) in both.items()
    ]
    made = _proven_together(made)
    flips: dict[object, list[_Flip]] = {}
    for flip in made:
        if flip.code is not None:
            cause = flip.cause if flip.code == "regression.outcome" else flip.where
            flips.setdefault((flip.code, cause), []).append(flip)
    findings = [
        _finding(flip) if not others else _together([flip, *others]) for flip, *others in flips.values()
    ]
    rows = tuple(flip.row for flip in made)
    findings += _summary(rows, findings)
    return Part(rows, tuple(findings), tuple(_left_out(old, new)))


def _proven_together(made: Sequence[_Flip]) -> list[_Flip]:
    """Where everything is dead each case is given up after a request or two: what is too little of each is enough of
    all that meet the same on the same route, none of which failed before.
    """
    alike: dict[object, list[_Flip]] = {}
    for flip in made:
        if flip.then.never and flip.now.always:
            alike.setdefault(flip.cause, []).append(flip)
    proven = {
        cause: flips
        for cause, flips in alike.items()
        if len(flips) > 1 and min(sum(f.now.n for f in flips), sum(f.then.n for f in flips)) >= ENOUGH
    }
    return [
        _as_proven(flip, len(proven[flip.cause]))
        if flip.code == "not_measured" and flip in proven.get(flip.cause, ())
        else flip
        for flip in made
    ]


def _as_proven(flip: _Flip, n: int) -> _Flip:
    why = (
        f"good each time before, failed each time now, as in {n - 1} other {'place' if n == 2 else 'places'}"
    )
    return flip._replace(row=replace(flip.row, verdict=Verdict.FAIL, why=why), code="regression.outcome")


def _row(where: Where, then: Tally, now: Tally, level: float) -> tuple[Row, str | None]:
    """With the code of the finding that it is worth, if it is."""
    row = Row("outcome", worded(where), str(then), str(now), Verdict.PASS)
    worse = now.k * then.n > then.k * now.n
    if worse and (p := _proof(then, now, level)) is not None:
        return replace(row, verdict=Verdict.FAIL, why=_said(p, "good", "failed")), "regression.outcome"
    if worse and not _harmless(then, now, level):
        return replace(row, verdict=Verdict.INCONCLUSIVE, why=_unproven(then, now)), "not_measured"
    if not now.k and now.untold - then.untold > _MATTERS:
        why = f"{now.unsaid} more requests are of a case that did not conclude: {now.silent}"
        return replace(row, verdict=Verdict.INCONCLUSIVE, why=why), "not_measured"
    return _no_worse(row, then, now, level)


def _no_worse(row: Row, then: Tally, now: Tally, level: float) -> tuple[Row, str | None]:
    fewer = then.k * now.n > now.k * then.n
    if fewer and (p := _proof(now, then, level)) is not None:
        return replace(row, why=f"mended: {_said(p, 'failed', 'good')}", better=True), "ok"
    if then.always and now.never:
        return replace(row, why="better: failed before, good now", better=True), None
    if now.always and then.always:
        same = then.what == now.what
        why = "fails as before" if same else "fails otherwise than before"
        return replace(row, verdict=Verdict.WARN, why=why), None
    news = [str(what) for what in now.warned if what not in then.warned and not then.k]
    if news and not now.k:
        return replace(row, verdict=Verdict.WARN, why=f"now warned of: {listed(sorted(news))}"), None
    why = "fewer failures, which may be chance" if fewer else "no more than chance"
    return replace(row, why=why if then.k or now.k else "as before"), None


def _proof(good: Tally, bad: Tally, level: float) -> float | None:
    """P of it by chance, 0 for a pure flip; `None` where it may be chance."""
    enough = 1 if bad.by_rule else ENOUGH
    if good.never and bad.always and bad.n >= ENOUGH and good.n >= enough:
        return 0.0
    p = more(good.k, good.n, bad.k, bad.n)
    return p if p <= level else None


def _said(p: float, before: str, now: str) -> str:
    return f"by chance {_rarely(p)}" if p else f"{before} each time before, {now} each time now"


def _rarely(p: float) -> str:
    return f"in one of {1 / p:,.0f}" if p > 1e-6 else "in less than one of a million"


def _harmless(then: Tally, now: Tally, level: float) -> bool:
    high = gap(Share(then.k / then.n, then.n), Share(now.k / now.n, now.n), level)[1]
    return high < _MATTERS


def _unproven(then: Tally, now: Tally) -> str:
    if now.always:
        few = [f"{now.n} now" if now.n < ENOUGH else "", f"{then.n} before" if then.n < ENOUGH else ""]
        return f"too few to prove it: {' and '.join(part for part in few if part) or 'failed before, too'}"
    return f"{now.k} of {now.n} against {then.k} of {then.n} may be chance"


# --- what is told -----------------------------------------------------------------------------------------


def _finding(flip: _Flip) -> Finding:
    row, code, where, then, now = flip
    assert code is not None
    what = now.what if code != "ok" else then.what
    title = {
        "regression.outcome": f"{row.where} worked before and fails now",
        "not_measured": f"{row.where} failed: whether more often than before is not proven"
        if now.k
        else f"Whether {row.where} is as before can't be told: {row.why}",
        "ok": f"mended: {row.where}, {what}",
    }[code]
    few = now.always
    return finding(
        code,
        row.verdict,
        client=where[1],
        route=where[2],
        title=title,
        observed=Observed(now.k, now.n),
        detail=(("before", row.before), ("after", row.after), ("because", row.why)),
        evidence=tuple(now.evidence[:_SHOWN]),
        **_made(what),
        **({"advice": _do(now)} if code == "regression.outcome" else {}),
        **(_ASK_MORE | {"reason": Reason.TOO_FEW if few else Reason.MIXED} if code == "not_measured" else {}),
    )


def _together(flips: Sequence[_Flip]) -> Finding:
    """Several clients and cases that meet the same now: one cause, told once."""
    first = flips[0]
    clients = list(dict.fromkeys(flip.where[1] for flip in flips))
    who = listed(clients) if len(clients) <= _NAMED else f"{len(clients)} clients"
    fails = "fails" if len(clients) == 1 else "fail"
    alike = {flip.row.why for flip in flips} == {flips[0].row.why}
    met: dict[tuple[str, str, str], list[str]] = {}
    for flip in flips:
        case, client, route = flip.where
        said = f"{flip.row.before} before, {flip.now.k} of {flip.now.n} failed now"
        met.setdefault((case, route, said if alike else f"{said}, {flip.row.why}"), []).append(client)
    rows = [
        ("in", f"{worded((case, ', '.join(names), route))}: {said}")
        for (case, route, said), names in met.items()
    ]
    because = [("because", first.row.why)] if alike else []
    more_ = [("and", f"{len(rows) - _NAMED} more of the kind")] if len(rows) > _NAMED else []
    return finding(
        "regression.outcome",
        Verdict.FAIL,
        client=clients[0] if len(clients) == 1 else None,
        route=first.where[2],
        title=f"{who} worked before and {fails} now",
        observed=Observed(sum(flip.now.k for flip in flips), sum(flip.now.n for flip in flips)),
        detail=(("now", str(first.now.what)), *rows[:_NAMED], *more_, *because),
        evidence=tuple(name for flip in flips for name in flip.now.evidence)[:_SHOWN],
        **_made(first.now.what),
        advice=_do(first.now),
    )


def _made(what: What | None) -> dict[str, Any]:
    return {"layer": what.layer, "product": what.product, "vendor_code": what.vendor_code} if what else {}


def _do(now: Tally) -> str:
    """First what helps customers whatever was changed, then what would mend what they meet."""
    return " ".join(filter(None, [vocabulary()["regression.outcome"].advice, now.advice]))


_ASK_MORE = {"advice": "Run the same suite again: more requests a side tell a change from chance."}


def _summary(rows: Sequence[Row], told: Sequence[Finding]) -> Iterator[Finding]:
    """One line for all that stayed as it was; what fails on both sides is no pass of anything."""
    if any(one.verdict is not Verdict.PASS for one in told) or all(
        row.verdict is not Verdict.PASS for row in rows
    ):
        return
    warned = [row for row in rows if row.verdict is Verdict.WARN]
    named = [*warned, *(row for row in rows if row.better)]
    detail = [("of these", f"{row.where}: {row.why}: {row.after}") for row in named[:_NAMED]]
    detail += [("and", f"{len(named) - _NAMED} more of the kind")] if len(named) > _NAMED else []
    yield finding(
        "ok",
        Verdict.PASS,
        title=f"Nothing fails that worked before: {times(len(rows), 'outcome')} compared",
        detail=tuple(detail),
    )


def _left_out(old: Mapping[Where, Tally], new: Mapping[Where, Tally]) -> Iterator[str]:
    """On one side only, or without a conclusion on one; alike in one line."""
    groups: dict[str, list[str]] = {}
    for where in dict.fromkeys([*old, *new]):
        then, now = old.get(where), new.get(where)
        if then is None or now is None:
            groups.setdefault(f"asked {'after' if then is None else 'before'} only", []).append(worded(where))
        elif not (then.n and now.n):
            side, silent = ("before", then.silent) if not then.n else ("after", now.silent)
            groups.setdefault(f"not concluded {side} ({silent})", []).append(worded(where))
    for why, wheres in groups.items():
        more_ = f" and {len(wheres) - _NAMED} more" if len(wheres) > _NAMED else ""
        yield f"outcome, {why}: {', '.join(wheres[:_NAMED])}{more_}"
